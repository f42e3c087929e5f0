"""The command `e2e`: clusters to look at and work with by hand, and the run of all scenarios."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from support import cache
from support.shell import Failure, Log
from testbench import cluster as clusters
from testbench import cluster_shell, detached, programs, scenario, stacks, state
from testbench.cluster import KUBECTL_NAMESPACES, NO_PROXY, Cluster, kubectl_environment
from testbench.control_plane import NAME as CONTROL_PLANE
from testbench.detached import FAILED, OK
from testbench.machine import Machine, enter
from testbench.scenario_bench import WrongUse

NAME = "e2e"
SHELL_NAME = "partita"
NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}

EXAMPLES = """\
examples:
  e2e up                                two nodes, a DGX A100 and a mixed one; Ctrl-C ends them
  e2e up --detach --node a=hgx-h200     one H200 node, kept in the background
  e2e kubectl get nodes -o wide
  e2e shell a -- nvidia-smi -L          a command on the node; without one, a shell
  e2e down                              ends it and removes all of it
  e2e run --only pod                    the scenarios with "pod" in their name

exit status: 0 done, 1 a scenario or a command failed, 2 wrong usage, 3 the set-up cannot be made
"""


def main(arguments: list[str]) -> int:
    options = parser().parse_args(with_separator(arguments))
    try:
        return detached.exit_status(lambda: options.act(options))
    except KeyboardInterrupt:
        return detached.complain("interrupted", FAILED)


def with_separator(arguments: list[str]) -> list[str]:
    """Options before kubectl's verb are kubectl's; argparse would take them for ours."""
    if arguments[:1] != ["kubectl"] or arguments[1:] in (["-h"], ["--help"]):
        return arguments
    first = arguments[1] if len(arguments) > 1 else ""
    own = 3 if first == "--name" else 2 if first.startswith("--name=") else 1
    return [*arguments[:own], "--", *arguments[own:]]


# ---- what can be asked for ----


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="e2e", description="A real Kubernetes on this machine, with simulated GPU nodes.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_up(commands)
    add_cluster(commands)
    named(add(commands, "down", down, "stop a cluster that runs in the background or another terminal"))
    add(commands, "clean", clean, "remove what clusters whose process was killed left behind")
    add(commands, "list", list_clusters, "list the clusters of this machine")
    kubectl_parser = named(add(commands, "kubectl", kubectl, "run kubectl as the cluster's administrator"))
    kubectl_parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what kubectl is to do")
    shell_parser = named(add(commands, "shell", shell, "run a shell, or a command, on a node"))
    shell_parser.add_argument("node", help="a node, or control-plane")
    shell_parser.add_argument("command", nargs=argparse.REMAINDER, help="instead of a shell: -- COMMAND…")
    build_parser = add(commands, "build", build, "build the programs of others, once, into the cache")
    build_parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help="only these; without any, what every scenario may use"
    )
    add_run(commands)
    return top


def add(commands: Any, name: str, act: Callable[[Any], int], words: str) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
    added.set_defaults(act=act)
    return added


def named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("--name", default="", metavar="CLUSTER", help="which one, where there are several")
    return command


def add_up(commands: Any) -> None:
    up_parser = add(commands, "up", up, "start a cluster and keep it until Ctrl-C")
    up_parser.add_argument("--name", default=NAME, metavar="CLUSTER", help=f"its name (default: {NAME})")
    with_nodes(up_parser)
    up_parser.add_argument("--detach", action="store_true", help="return when it is ready; it runs until `e2e down`")
    with_build(up_parser)


def add_cluster(commands: Any) -> None:
    words = "start a cluster that partita serves, with a shell in it; the shell's end is its end"
    cluster_parser = add(commands, "cluster", cluster_with_shell, words)
    cluster_parser.add_argument("--name", default=SHELL_NAME, metavar="CLUSTER", help=f"default: {SHELL_NAME}")
    with_nodes(cluster_parser)
    cluster_parser.add_argument("--command", default="", help="run this in the shell's place")
    with_build(cluster_parser)


def with_nodes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--node", action="append", type=node_and_profile, metavar="NAME=PROFILE", default=[],
        help="a node and its simulated machine (`partita-sim profiles` lists them); repeatable. "
        "Default: " + " ".join(f"{name}={profile}" for name, profile in NODES.items()),
    )


def add_run(commands: Any) -> None:
    run_parser = add(commands, "run", run, "run the scenarios")
    run_parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders; all without any")
    run_parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="those with TEXT in their name")
    run_parser.add_argument("--stack", default=stacks.DEFAULT, metavar="STACK", help=stack_words())
    run_parser.add_argument("--limit", type=float, default=0, metavar="SECONDS", help="of all of it; none without")
    run_parser.add_argument("--fail-fast", action="store_true", help="after a failure, run nothing more")
    run_parser.add_argument(
        "--again", type=int, default=0, metavar="N", help="up to N that fail run once more, and are told as unsteady"
    )
    run_parser.add_argument(
        "--lanes", type=int, default=1, metavar="N", help="so many clusters side by side, each with the next scenario"
    )
    run_parser.add_argument("--keep", action="store_true", help="after a failure, keep the cluster until Ctrl-C")
    run_parser.add_argument("--times", action="store_true", help="say at the end how long what users wait for took")
    with_build(run_parser)


def stack_words() -> str:
    there = ", ".join(stacks.STACKS)
    return f"whose GPU software serves the nodes, by commas: {there} (default: {stacks.DEFAULT})"


def with_build(command: argparse.ArgumentParser) -> None:
    command.add_argument("--build", type=Path, default=None, help="build folder of partita (default: build/release)")


def node_and_profile(text: str) -> tuple[str, str]:
    name, equals, profile = text.partition("=")
    if not (name and equals and profile):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PROFILE")
    return name, profile


# ---- the commands ----


def up(options: argparse.Namespace) -> int:
    cluster = Cluster(options.name, nodes_of(options.node) or NODES, build=options.build, say=detached.say)
    clusters.check_machine()
    build_programs(clusters.PROGRAMS)
    if options.detach:
        return detached.keep_in_background(cluster)
    return detached.keep(cluster)


def cluster_with_shell(options: argparse.Namespace) -> int:
    clusters.check_machine()
    build_programs(clusters.PROGRAMS)
    images = stacks.PARTITA.images(options.build or clusters.default_build())
    made = Cluster(
        options.name, nodes_of(options.node) or NODES, build=options.build, images=images, say=detached.say
    )
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, detached.end_now)
    try:
        return cluster_shell.run(made, options.command)
    except detached.Ended:
        return FAILED


def down(options: argparse.Namespace) -> int:
    detached.end(choose(options.name))
    return OK


def clean(_: argparse.Namespace) -> int:
    for found in state.known():
        if not found.is_alive:
            print(f"removing what is left of cluster {found.cluster}")
            found.claim(clusters.default_build())
            found.release(clusters.default_build())
    return OK


def list_clusters(_: argparse.Namespace) -> int:
    for found in state.known():
        print("  ".join([found.cluster, *describe(found), str(found.folder)]))
    return OK


def describe(found: state.StateFolder) -> list[str]:
    if not found.is_alive:
        return ["its process was killed; `e2e clean` removes what is left"]
    nodes = [f"{node}={profile}" for node, profile in found.facts().get("nodes", {}).items()]
    keeper = found.keeper()
    return [*(nodes or ["starting"]), f"kept by process {keeper.process}" if keeper else "not yet kept"]


def kubectl(options: argparse.Namespace) -> int:
    chosen = choose(options.name)
    facts = facts_of(chosen)
    os.environ.update(kubectl_environment(chosen.folder, facts["kubeconfig"]))
    command = [facts["kubectl"], *without_separator(options.arguments)]
    return execute(enter(pid_of(facts, CONTROL_PLANE), command, KUBECTL_NAMESPACES))


def shell(options: argparse.Namespace) -> int:
    facts = facts_of(choose(options.name))
    os.environ.update(NO_PROXY)
    os.environ.update(facts["environments"].get(options.node, {}))
    command = without_separator(options.command) or ["/bin/bash"]
    return execute(enter(pid_of(facts, options.node), command))


def build(options: argparse.Namespace) -> int:
    unknown = [name for name in options.programs if name not in programs.names()]
    if unknown:
        raise WrongUse(f"no program {', '.join(unknown)}; there are: {', '.join(programs.names())}")
    build_programs(options.programs or programs.usual())
    return OK


def run(options: argparse.Namespace) -> int:
    if options.lanes < 1 or (options.lanes > 1 and options.keep):
        raise WrongUse(f"--lanes {options.lanes}: from 1, and 1 with --keep, which waits for one terminal")
    paths, only = options.paths or [scenario.SCENARIOS], tuple(options.only)
    needed = {name for found in scenario.find(paths, only) for name in found.programs}
    chosen = stacks.choose(options.stack)
    clusters.check_machine()
    build_programs([*programs.usual(), *needed])  # a quarter of an hour the first time: what else can be wrong comes first

    def images() -> list[Path]:
        return [image for stack in chosen for image in stack.images(options.build or clusters.default_build())]

    settings = scenario.Options(
        make_cluster=lambda name, nodes, say: Cluster(name, nodes, build=options.build, images=images(), say=say),
        build=options.build, only=only, stack=options.stack, limit=options.limit, fail_fast=options.fail_fast,
        again=options.again, keep=options.keep, times=options.times, lanes=options.lanes,
    )
    return scenario.run(paths, settings)


# ---- parts of them ----


def nodes_of(pairs: list[tuple[str, str]]) -> dict[str, str]:
    nodes: dict[str, str] = {}
    for name, profile in pairs:
        if name in nodes:
            raise WrongUse(f"--node {name}={profile}: there is a node {name} already, with profile {nodes[name]}")
        nodes[name] = profile
    return nodes


def choose(name: str) -> state.StateFolder:
    """The living cluster of that name, or the only one."""
    alive = {found.cluster: found for found in state.known() if found.is_alive}
    if name and name not in alive:
        raise Failure(f"no cluster {name!r} is running; there are: {', '.join(alive) or 'none'}")
    if not name and len(alive) != 1:
        there = "no cluster is running; start one: e2e up" if not alive else f"which one? --name {' or '.join(alive)}"
        raise Failure(there)
    return alive[name or next(iter(alive))]


def facts_of(chosen: state.StateFolder) -> dict[str, Any]:
    facts = chosen.facts()
    if not facts:
        raise Failure(f"cluster {chosen.cluster} is still starting; `e2e list` says when it is ready")
    return facts


def without_separator(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def pid_of(facts: dict[str, Any], machine: str) -> int:
    if machine not in facts["machines"]:
        raise Failure(f"no node {machine!r}; there are: {', '.join(facts['machines'])}")
    return int(Machine.pid_file(Path(facts["machines"][machine])).read_text(encoding="utf-8"))


def execute(command: list[str]) -> int:
    sys.stdout.flush()
    os.execvp(command[0], command)


def build_programs(names: Iterable[str]) -> None:
    """The log stays where a failure says that it is; of a success there is nothing to read."""
    log = Log(os.path.join(cache.cache_directory(), "e2e", f"build-{os.getpid()}.log"))
    programs.build(names, log, detached.say)
    log.close()
    os.unlink(log.path)
