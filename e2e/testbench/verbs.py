"""The words that scenarios are written in: what a user does to a cluster, and what the user sees.

A verb either comes true or fails with what was expected, what was seen, and the scenario's line. What a verb
changes outside of Kubernetes (a stopped API server, a partitioned GPU, a served resource) is put back when
the scenario ends. Verbs for the bench itself are in verbs_bench, what can be looked at is in verbs_observe.
"""

import re
import shlex
import subprocess
import time
from collections.abc import Callable
from typing import Any

from support.shell import Failure

from testbench import kinds, verbs_manifests
from testbench.api_client import Refused
from testbench.scenario_bench import Seen, Stage, Unexpected, current, error_of, finished, step, where
from testbench.verbs_bench import cluster_of, e2e, expect_no_residue, measure, start_harness
from testbench.verbs_gpus import (
    bind, dismiss, exchange_board, fault, given, given_ids, load_driver, nvml_in, partition, reload_driver, repartition,
    serve, set_persistence, withdraw, workload,
)
from testbench.verbs_kills import kill_server, note, noted, now, served_by, wait_for_return
from testbench.verbs_manifests import Manifest, claim, manifest, pod
from testbench.verbs_observe import (
    POLL_SECONDS, WAIT_SECONDS, Observation, allocatable, boot_id, capacity, field, label, labels, node_ready, phase,
    published, taints, wait_for,
)

__all__ = [
    "Seen", "allocatable", "apply", "attempt_in", "begin_delete", "bind", "boot_id", "capacity", "claim", "cluster_of",
    "cut_network", "delete", "dismiss", "e2e", "exchange_board", "exec_in", "expect", "expect_match", "expect_no_residue",
    "fault", "field", "given", "given_ids", "kill", "kill_server", "label", "labels", "load_driver", "logs",
    "manifest", "measure", "namespace", "node_ready", "note", "noted", "now", "nvml_in", "on_node", "open_in",
    "partition", "phase", "pod", "published", "reboot", "reload_driver", "repartition", "restart", "restore_network",
    "serve", "served_by", "start", "start_harness", "stop", "taints", "wait_for", "wait_for_return", "withdraw",
    "workload",
]

EXEC_SECONDS = 60
GONE = 404

# What the shell of a pod says when a file does not open -> the error that open(2) gave.
OPEN_ERRORS = {
    "No such device or address": "ENXIO",
    "Operation not permitted": "EPERM",
    "Permission denied": "EACCES",
    "No such file or directory": "ENOENT",
    "Device or resource busy": "EBUSY",
}


# ---- objects ----


def apply(*manifests: Manifest | str) -> None:
    """Creates or changes objects, in the scenario's namespace: dictionaries, or YAML text."""
    for part in manifests:
        words = "apply YAML" if isinstance(part, str) else f"apply {verbs_manifests.describe([part])}"
        with step(words):
            if isinstance(part, str):
                kubectl("apply", "-f", "-", input=part, words=words)
            else:
                asked(words, lambda: api().put_object(kinds.place_of(part, current().namespace), part))


def delete(kind: str, name: str, within: float = WAIT_SECONDS) -> None:
    """Deletes an object and waits until it is gone."""
    words = f"delete {kind} {name}"
    place = kinds.find(kind).place(current().namespace, name)
    deadline = time.monotonic() + within
    with step(words):
        begin_delete(kind, name)
        while (left := asked(words, lambda: api().get(place)))[0] != GONE:
            if time.monotonic() > deadline:
                raise Unexpected(f"{words} within {within:g} s", f"it stays: {left[1]}", where())
            time.sleep(POLL_SECONDS)


def begin_delete(kind: str, name: str) -> None:
    """Deletes an object that goes while the scenario goes on."""
    words = f"begin to delete {kind} {name}"
    with step(words):
        asked(words, lambda: api().delete(kinds.find(kind).place(current().namespace, name)))


def namespace() -> str:
    """The one in which the scenario's objects lie."""
    return current().namespace


def api() -> Any:
    return current().cluster.control_plane.api


def asked(words: str, call: Callable[[], Any]) -> Any:
    """What `call` at the API server returns; its no is a failed step."""
    try:
        return call()
    except (Refused, OSError) as error:
        raise Unexpected(words, str(error), where()) from error


def kubectl(*arguments: str, words: str, input: str | None = None) -> str:
    done = finished(words, lambda: run_kubectl(*arguments, input=input))
    if done.returncode != 0:
        raise Unexpected(words, error_of(done), where())
    return done.stdout


def run_kubectl(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess:
    return current().cluster.kubectl(f"--namespace={current().namespace}", *arguments, input=input)


# ---- looking ----


def expect(seen: Any, wanted: Any, what: str = "") -> None:
    """The value, or what an Observation shows now, is the wanted one."""
    words = what or getattr(seen, "words", "value")
    with step(f"expect {words}: {wanted}"):
        value = seen.look() if isinstance(seen, Observation) else seen
        if isinstance(seen, Observation):
            wanted = str(wanted)
        if value != wanted:
            raise Unexpected(f"{words}: {wanted}", str(value) or "nothing", where())


def expect_match(seen: str, pattern: str, what: str = "") -> None:
    words = what or getattr(seen, "words", "text")
    with step(f"expect {words} to match {pattern}"):
        if not re.search(pattern, seen, re.M):
            raise Unexpected(f"{words} to match {pattern}", seen or "nothing", where())


# ---- inside pods and nodes ----


def exec_in(name: str, command: str | list[str]) -> Seen:
    """What a command in a pod writes; it must end with 0. A text is given to the pod's shell."""
    words = f"`{shown(command)}` in pod {name}"
    with step(words):
        done = run_in(name, command)
        if done.returncode != 0:
            raise Unexpected(f"{words} succeeds", error_of(done), where())
        return Seen(done.stdout.strip(), words)


def attempt_in(name: str, command: str | list[str]) -> Seen:
    """What a command in a pod writes to either stream, however it ends."""
    words = f"`{shown(command)}` in pod {name}"
    with step(words):
        done = run_in(name, command)
        return Seen((done.stdout + done.stderr).strip(), words)


def run_in(name: str, command: str | list[str]) -> subprocess.CompletedProcess:
    argv = ["sh", "-c", command] if isinstance(command, str) else command
    wait = f"--pod-running-timeout={EXEC_SECONDS}s"
    return finished(
        f"`{shown(command)}` in pod {name} ends", lambda: run_kubectl("exec", name, wait, "--", *argv)
    )


def shown(command: str | list[str]) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def open_in(name: str, path: str) -> Seen:
    """How open(2) of a file ends in a pod: "opened", or the name of the error."""
    words = f"opening {path} in pod {name}"
    with step(words):
        done = run_in(name, f"exec 3<{shlex.quote(path)}")
        text = done.stdout + done.stderr
        if done.returncode == 0:
            return Seen("opened", words)
        found = [error for phrase, error in OPEN_ERRORS.items() if phrase in text]
        return Seen(found[0] if found else text.strip(), words)


def logs(name: str) -> Seen:
    words = f"log of pod {name}"
    with step(words):
        return Seen(kubectl("logs", name, words=words).strip(), words)


def on_node(node: str, command: str | list[str]) -> Seen:
    """What a command writes that is run on a node itself; it must end with 0."""
    words = f"`{shown(command)}` on node {node}"
    argv = ["sh", "-c", command] if isinstance(command, str) else command
    with step(words):
        done = finished(f"{words} ends", lambda: current().cluster.node(node).run(argv))
        if done.returncode != 0:
            raise Unexpected(f"{words} succeeds", error_of(done), where())
        return Seen(done.stdout.strip(), words)


# ---- what breaks and comes back ----

API_SERVER = "API server"


def restart(what: str, on: str) -> None:
    """restart("kubelet", on="dgx") or restart("containerd", on="dgx")."""
    with step(f"restart {what} on node {on}"):
        node_action(on, "restart", what)()
        current().forget_undo(*ends(what, on))


def stop(what: str, on: str = "") -> None:
    """stop("API server"), or stop("kubelet", on="dgx"); it is started again at the end."""
    with step(ends(what, on)[0]):
        action(what, on, "stop")()
        current().undo_at_end(ends(what, on)[0], starter(what, on), stage_of(what))


def start(what: str, on: str = "") -> None:
    """What was stopped or killed. Returns when it does its work again."""
    with step(f"start {at(what, on)}"):
        starter(what, on)()
        current().forget_undo(*ends(what, on))


def kill(process: str, on: str) -> None:
    """SIGKILL to a program that the bench started on a node: containerd, kubelet, or one of a stack. It is
    started again at the end."""
    words = ends(process, on)[1]
    with step(words):
        current().cluster.node(on).kill(process)
        current().undo_at_end(words, starter(process, on), stage_of(process))


def stage_of(what: str) -> Stage:
    stages = {API_SERVER: Stage.API_SERVER, "containerd": Stage.CONTAINERD, "kubelet": Stage.KUBELET}
    return stages.get(what, Stage.PROGRAM)


def at(what: str, node: str) -> str:
    return f"{what} on node {node}" if node else what


def ends(what: str, node: str) -> list[str]:
    return [f"{verb} {at(what, node)}" for verb in ("stop", "kill")]


def starter(what: str, node: str) -> Callable[[], None]:
    """Starts a component, or a program of a stack, and waits for it as far as one can tell from outside."""
    if what == "kubelet":
        return lambda: start_kubelet(current().cluster.node(node))
    if what in (API_SERVER, "containerd"):
        return action(what, node, "start")
    return lambda: current().cluster.node(node).respawn(what)


def start_kubelet(node: Any) -> None:
    node.start_kubelet()
    node.wait_kubelet()


def action(what: str, node: str, verb: str) -> Callable[[], None]:
    if what == API_SERVER:
        return getattr(current().cluster.control_plane, f"{verb}_api_server")
    return node_action(node, verb, what)


def node_action(node: str, verb: str, what: str) -> Callable[[], None]:
    found = getattr(current().cluster.node(node), f"{verb}_{what}", None)
    if found is None:
        raise Failure(f"no verb to {verb} {what!r} on a node ({where()})")
    return found


def reboot(node: str) -> None:
    """The simulated machine reboots: everything on it dies and starts again, under a new boot id."""
    words = f"reboot node {node}"
    with step(words):
        current().cluster.node(node).reboot()
        current().forget_outages(at("", node))
        current().undo_at_end(words, lambda: set_persistence(node))


def cut_network(node: str) -> None:
    words = f"cut the network of node {node}"
    with step(words):
        current().cluster.node(node).cut_network()
        current().undo_at_end(words, current().cluster.node(node).restore_network, Stage.NETWORK)


def restore_network(node: str) -> None:
    with step(f"restore the network of node {node}"):
        current().cluster.node(node).restore_network()
        current().forget_undo(f"cut the network of node {node}")
