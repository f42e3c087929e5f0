"""Finds scenarios, raises the clusters that they need, runs them, and tells how it went.

A scenario is a Python file: its docstring is its title, NODES names the machines ({"dgx": "dgx-a100-40"})
and scenario() is what a user does and sees, in the words of testbench.verbs. Scenarios share a cluster where
their NODES agree. One without NODES starts what it needs itself, and runs when no other cluster is up.
PROGRAMS names programs that only few scenarios need and that are built for those alone.
"""

import dataclasses
import importlib.util
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.shell import Failure, SetupError

from testbench import collect, residue, stacks
from testbench.scenario_bench import OUTAGES, Bench, Progress, Stage, WrongUse, new_mark, on
from testbench.state import StateFolder

E2E = Path(__file__).resolve().parent.parent
SCENARIOS = E2E / "scenarios"
FAILURES = E2E.parent / "build" / "e2e" / "failed"
STOP_SECONDS = 15
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PODS = "pods,resourceclaims,resourceclaimtemplates"
OFFERS = "resourceslices,deviceclasses"

OK, FAILED, USAGE = 0, 1, 2

MakeCluster = Callable[[str, dict[str, str], Callable[[str], None]], Any]


@dataclasses.dataclass(frozen=True)
class Options:
    make_cluster: MakeCluster  # (name, {node: profile}, say) -> a Cluster, not started
    build: Path | None = None  # of partita, for an `e2e up` of a scenario's own; the command's default
    only: tuple[str, ...] = ()
    stack: str = stacks.DEFAULT
    keep: bool = False
    times: bool = False
    failures: Path = FAILURES


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    nodes: dict[str, str]
    body: Callable[[], None]
    programs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    seconds: float
    problem: str = ""


class Interrupted(BaseException):
    """A signal asks for the end: the run goes through every clean-up."""


# ---- finding ----


def find(paths: list[Path], only: tuple[str, ...] = ()) -> list[Scenario]:
    """The scenarios of files and folders, in order; with `only`, those whose name has one of its texts."""
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    found = [load(file) for file in files]
    for text in only:
        if not any(text in scenario.name for scenario in found):
            names = ", ".join(scenario.name for scenario in found) or "none"
            raise WrongUse(f"no scenario has {text!r} in its name; there are: {names}")
    return [scenario for scenario in found if not only or any(text in scenario.name for text in only)]


def load(path: Path) -> Scenario:
    if not path.is_file():
        raise WrongUse(f"{path}: no such scenario file; those of the bench lie in {SCENARIOS}")
    spec = importlib.util.spec_from_file_location(f"scenario_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SetupError(f"{path}: cannot be read as a scenario: {error!r}") from error
    title = (module.__doc__ or "").strip().splitlines()
    nodes, body = getattr(module, "NODES", {}), getattr(module, "scenario", None)
    if not title:
        raise SetupError(f"{path}: no docstring; its first line is the scenario's title")
    if not callable(body):
        raise SetupError(f"{path}: no function scenario(), which says what is done and seen")
    if not isinstance(nodes, dict) or not all(isinstance(v, str) for v in nodes.values()):
        raise SetupError(f"{path}: NODES is not of the form {{\"dgx\": \"dgx-a100-40\"}}: {nodes!r}")
    return Scenario(path.stem.replace("_", "-"), title[0], nodes, body, tuple(getattr(module, "PROGRAMS", ())))


def groups(scenarios: list[Scenario]) -> list[tuple[dict[str, str], list[Scenario]]]:
    """Scenarios that can share a cluster, with the nodes of that cluster; those without one come last."""
    found: list[tuple[dict[str, str], list[Scenario]]] = []
    for scenario in scenarios:
        if not scenario.nodes:
            continue
        for nodes, members in found:
            if all(nodes.get(name, profile) == profile for name, profile in scenario.nodes.items()):
                nodes.update(scenario.nodes)
                members.append(scenario)
                break
        else:
            found.append((dict(scenario.nodes), [scenario]))
    alone = [scenario for scenario in scenarios if not scenario.nodes]
    return [*found, *(({}, [scenario]) for scenario in alone)]


# ---- running ----


def run(paths: list[Path], options: Options) -> int:
    """Runs the scenarios; returns the exit status. A set-up that cannot be made raises SetupError."""
    try:
        scenarios, stack = find(paths, options.only), stacks.find(options.stack)
    except WrongUse as error:
        print(f"e2e: {error}", file=sys.stderr)
        return USAGE
    session = Session(options, stack)
    handlers = {number: signal.signal(number, interrupt) for number in ENDING}
    begin = time.monotonic()
    try:
        for nodes, members in groups(scenarios):
            session.run_group(nodes, members)
    except Interrupted as interrupted:
        print(f"ended by {interrupted}", flush=True)
        return FAILED
    finally:
        session.tell(time.monotonic() - begin)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return FAILED if any(result.problem for result in session.results) else OK


def interrupt(number: int, _: Any) -> None:
    """Another signal does not end the clean-up."""
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(signal.Signals(number).name)


class Session:
    """One `e2e run`: the clusters that it starts, and what became of each scenario."""

    def __init__(self, options: Options, stack: stacks.Stack, progress: Progress | None = None) -> None:
        self.results: list[Result] = []
        self._options = options
        self._stack = stack
        self._progress = progress or Progress()
        self._before = residue.take()
        self._marks: list[str] = []
        self._times: list[tuple[str, str, float]] = []

    def run_group(self, nodes: dict[str, str], members: list[Scenario]) -> None:
        """After a failure the rest of the group gets a fresh cluster: nothing fails by inheritance."""
        waiting = list(members)
        while waiting:
            cluster = self._cluster_for(nodes) if nodes else None
            try:
                while waiting and self._run_one(waiting.pop(0), cluster):
                    pass
            finally:
                if cluster is not None:
                    self._stop(cluster, nodes)

    def start_cluster(self, nodes: dict[str, str]) -> Any:
        name = new_mark(self._marks)
        cluster = self._options.make_cluster(name, nodes, self._progress.detail)
        cluster.start()
        return cluster

    def _cluster_for(self, nodes: dict[str, str]) -> Any:
        words = ", ".join(f"{name} ({profile})" for name, profile in nodes.items())
        self._progress.say(f"\ncluster of {words}")
        with self._progress.step("start it"):
            return self.start_cluster(nodes)

    def _run_one(self, scenario: Scenario, cluster: Any) -> bool:
        """False: it failed, or could not put everything back."""
        self._progress.say(f"\n{scenario.name}: {scenario.title}")
        bench = Bench(
            cluster, self._stack, self._progress, self._before, self._marks,
            build=self._options.build, start_cluster=self.start_cluster,
        )
        bench.examine = lambda own, error: self._examine(scenario, own, problem_of(error), bench.harnesses)
        begin = time.monotonic()
        problem = self._carry_out(scenario, bench)
        with on(bench):
            # A cluster in which something failed ends now; nothing of it needs to be put back.
            stuck = [] if problem else self._put_back(bench, cluster)
            stuck += bench.put_back(Stage.MACHINE)
        if stuck and not problem:
            problem = "\n".join(f"not put back: {words}" for words in stuck)
            self._progress.say(indent(problem))
        self.results.append(Result(scenario.name, time.monotonic() - begin, problem))
        self._times += [(scenario.name, words, seconds) for words, seconds in bench.times]
        self._progress.say(f"{'FAIL' if problem else 'ok'} {scenario.name}")
        return not problem

    def _carry_out(self, scenario: Scenario, bench: Bench) -> str:
        """What went wrong, or an empty text."""
        try:
            with on(bench):
                scenario.body()
        except Exception as error:  # a defect of one scenario must not hide the results of the others
            if bench.examined is not error:
                bench.examine(bench.cluster, error)
            return problem_of(error)
        except BaseException:  # Ctrl-C: a cluster of the run ends now, but what else was started does not
            bench.put_back(Stage.MACHINE)
            raise
        return ""

    def _put_back(self, bench: Bench, cluster: Any) -> list[str]:
        """A pod's claim can be given back only while its driver runs: pods go before what serves them."""
        problems = bench.put_back(*OUTAGES)
        if cluster is not None:
            problems += remove_objects(cluster, PODS)
        problems += bench.put_back(Stage.NODE)
        if cluster is not None:
            problems += remove_objects(cluster, OFFERS)
        return problems

    def _stop(self, cluster: Any, nodes: dict[str, str]) -> None:
        """Stopping is a test like any other: it leaves nothing."""
        begin = time.monotonic()
        self._progress.say("")
        problem = ""
        with self._progress.step(f"stop the cluster of {', '.join(nodes)}, and look for residue"):
            try:
                cluster.stop()
            except (Failure, SetupError) as failure:
                problem = str(failure)
            left = residue.settle(self._before, cluster.name, seconds=STOP_SECONDS)
        if left:
            problem += f"\nleft behind by cluster {cluster.name}:\n{residue.describe(left)}"
        if problem:
            self._progress.say(indent(problem.strip()))
        name = f"stop-{'-'.join(nodes)}"
        self.results.append(Result(name, time.monotonic() - begin, problem))
        self._progress.say(f"{'FAIL' if problem else 'ok'} {name}")

    def _examine(self, scenario: Scenario, cluster: Any, problem: str, harnesses: list[str]) -> None:
        """Says what failed, while what it failed in is still there to be looked at."""
        self._progress.say(indent(problem))
        if cluster is None and not harnesses:
            return
        folder = self._options.failures / f"{time.strftime('%Y%m%d-%H%M%S')}-{scenario.name}"
        if cluster is not None:
            collect.collect(cluster, folder)
        for name in harnesses:
            collect.collect_logs(StateFolder(name).folder, folder / name)
        self._progress.say(f"the state of everything: {folder}")
        if self._options.keep:
            self._keep(cluster.name if cluster is not None else ", ".join(harnesses))

    def _keep(self, names: str) -> None:
        self._progress.say(f"kept as it is: {names}; see `e2e/e2e list`, `e2e/e2e kubectl`. Ctrl-C ends it.")
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            signal.pause()
        except KeyboardInterrupt:
            self._progress.say("")
        finally:
            signal.signal(signal.SIGINT, handler)

    # ---- telling ----

    def tell(self, seconds: float) -> None:
        if not self.results:
            return
        width = max([len(result.name) for result in self.results], default=0)
        self._progress.say("")
        for result in self.results:
            verdict = "FAIL" if result.problem else "ok"
            self._progress.say(f"{verdict:4} {result.name:{width}} {result.seconds:7.1f} s")
        failed = sum(bool(result.problem) for result in self.results)
        self._progress.say(f"{len(self.results) - failed} passed, {failed} failed in {seconds:.0f} s")
        if self._options.times:
            self._tell_times()

    def _tell_times(self) -> None:
        self._progress.say(f"\ntimes with {self._stack.name}'s stack")
        for scenario, words, seconds in self._times:
            self._progress.say(f"{seconds:8.2f} s  {scenario}: {words}")


def problem_of(error: Exception) -> str:
    """A step that failed tells it itself; anything else is a defect, and where it is matters."""
    if isinstance(error, (Failure, SetupError)):
        return str(error)
    return "".join(traceback.format_exception(error))


def remove_objects(cluster: Any, kinds: str) -> list[str]:
    """What a scenario and its stack made in the cluster goes before the next one starts."""
    done = cluster.kubectl("delete", kinds, "--all", "--now", "--timeout=60s")
    return [] if done.returncode == 0 else [f"delete {kinds}: {done.stderr.strip()}"]


def indent(text: str) -> str:
    return re.sub(r"^(?=.)", "    ", text, flags=re.M)
