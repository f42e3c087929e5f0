"""One run of scenarios: the clusters that it starts, what each scenario leaves, and what became of it."""

import contextlib
import dataclasses
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.shell import Failure, SetupError

from testbench import collect, lanes, leftovers, namespaces, residue, stacks
from testbench.scenario_bench import (
    OUTAGES, Bench, NotServed, Progress, Stage, TooLong, new_mark, on, where,
)
from testbench.state import StateFolder

FAILURES = Path(__file__).resolve().parent.parent.parent / "build" / "e2e" / "failed"
STOP_SECONDS = 15
SETTLE_SECONDS = 15
POLL_SECONDS = 0.25

MakeCluster = Callable[[str, dict[str, str], Callable[[str], None]], Any]


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    nodes: dict[str, str]
    body: Callable[[], None]
    programs: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()  # that can do it; all of them, where none is named
    limit: float = 180


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    seconds: float = 0
    problem: str = ""
    not_served: str = ""  # why the stack does not do it
    not_run: str = ""
    unsteady: bool = False  # red before, and then green

    @property
    def verdict(self) -> str:
        return "FAIL" if self.problem else "-" if self.not_served or self.not_run else "ok"


class Session:
    """One `e2e run`. `options` are those of testbench.scenario."""

    def __init__(
        self, options: Any, chosen: list[stacks.Stack], progress: Progress | None = None,
        claims: lanes.Claims | None = None,
    ) -> None:
        self.results: list[Result] = []
        self._claims = claims or lanes.Claims()
        self._options = options
        self._stacks = chosen
        self._progress = progress or Progress()
        self._before = residue.take()
        self._begin = time.monotonic()
        self._marks: list[str] = []
        self._times: list[tuple[str, str, float]] = []
        self._figures: dict[str, dict[str, dict[str, Any]]] = {}  # of scenarios, by stack
        self._again: set[tuple[str, str]] = set()  # scenarios and stacks that were red and run once more
        self._red: set[tuple[str, str]] = set()  # and those that are red

    @property
    def passed(self) -> bool:
        return not any(result.problem or result.not_run for result in self.results)

    # ---- several lanes ----

    def in_lane(self, claims: lanes.Claims) -> "Session":
        """A session of another process, which begins now."""
        lane = Session(self._options, self._stacks, claims=claims)
        lane._begin = self._begin
        return lane

    def report(self) -> dict[str, Any]:
        return {"results": self.results, "times": self._times, "figures": self._figures}

    def add(self, report: dict[str, Any]) -> None:
        self.results += report["results"]
        self._times += report["times"]
        self._figures.update(report["figures"])

    def say(self, text: str) -> None:
        self._progress.say(text)

    def expect_all(self, scenarios: list[Scenario], broken: int) -> None:
        """A lane that broke off tells nothing of what it had taken."""
        if broken:
            words = f"{broken} lanes broke off; what they said is above"
            self.results.append(Result("lanes", problem=words))
        told = {result.name.partition(" (")[0] for result in self.results}
        for scenario in scenarios:
            if scenario.name not in told:
                self.results.append(Result(scenario.name, not_run="no lane told of it"))

    # ---- what is run, and what no longer ----

    def run_group(self, nodes: dict[str, str], members: list[Scenario]) -> None:
        """Every scenario with every stack. After a failure the rest of the group gets a fresh cluster: nothing
        fails by inheritance."""
        waiting = [(scenario, stack) for scenario in members for stack in self._stacks]
        while self._has_next(waiting) and not self._over():
            cluster = self._cluster_for(nodes) if nodes else None
            try:
                self._run_on(cluster, waiting)
            finally:
                if cluster is not None:
                    self._stop(cluster, nodes)
        while self._has_next(waiting):
            self.results.append(Result(self._name(*waiting.pop(0)), not_run=self._over()))

    def _has_next(self, waiting: list[tuple[Scenario, stacks.Stack]]) -> bool:
        """Leaves out what another lane has taken, and what a stack cannot do."""
        while waiting:
            scenario, stack = waiting[0]
            if not self._claims.take(scenario.name):
                waiting[:] = [pair for pair in waiting if pair[0] is not scenario]
            elif self._can(scenario, stack):
                return True
            else:
                waiting.pop(0)
        return False

    def _run_on(self, cluster: Any, waiting: list[tuple[Scenario, stacks.Stack]]) -> None:
        """Until the first failure."""
        found: leftovers.Traces = {}
        if cluster is not None:
            for stack in stacks.STACKS.values():  # a scenario may serve by another stack than the one that runs it
                stack.prepare(cluster)
            found = leftovers.take(cluster)
        while self._has_next(waiting) and not self._over():
            scenario, stack = waiting.pop(0)
            good, served = self._run_one(scenario, stack, cluster, found)
            if not good and self._runs_again(scenario, stack):
                waiting.append((scenario, stack))
                return
            if not served:  # with another stack it would do the same again
                waiting[:] = [pair for pair in waiting if pair[0] is not scenario]
            if not good:
                return
        if cluster is not None:
            self._expect_no_namespaces(cluster)

    def _runs_again(self, scenario: Scenario, stack: stacks.Stack) -> bool:
        """Of the last result, which is red: whether it is taken back for another try."""
        key = (scenario.name, stack.name)
        if key in self._again or not self._take_another_try():
            return False
        self._again.add(key)
        red = self.results.pop()
        self._progress.say(f"red, and run once more at the end: {red.name}")
        return True

    def _take_another_try(self) -> bool:
        """One of those that all lanes have together."""
        tries = [f"try {number}" for number in range(self._options.again)]
        return any(not self._claims.is_taken(name) and self._claims.take(name) for name in tries)

    def _expect_no_namespaces(self, cluster: Any) -> None:
        try:
            namespaces.settle(cluster.control_plane.api)
        except (Failure, OSError) as failure:
            self._progress.say(indent(str(failure)))
            self.results.append(Result("remove-namespaces", problem=str(failure)))

    def _can(self, scenario: Scenario, stack: stacks.Stack) -> bool:
        if not scenario.stacks or stack.name in scenario.stacks:
            return True
        why = f"it needs {' or '.join(scenario.stacks)}"
        self.results.append(Result(self._name(scenario, stack), not_served=why))
        return False

    def _name(self, scenario: Scenario, stack: stacks.Stack) -> str:
        return f"{scenario.name} ({stack.name})" if len(self._stacks) > 1 else scenario.name

    def _over(self) -> str:
        """Why nothing more is run, or an empty text."""
        if self._options.fail_fast:
            if any(result.problem for result in self.results):
                self._claims.take("a failure")
            if self._claims.is_taken("a failure"):
                return "another failed before it"
        if self._options.limit and self._left() <= 0:
            return f"the limit of {self._options.limit:g} s is over"
        return ""

    def _left(self) -> float:
        return self._options.limit - (time.monotonic() - self._begin)

    # ---- clusters ----

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

    # ---- one scenario ----

    def _run_one(
        self, scenario: Scenario, stack: stacks.Stack, cluster: Any, before: leftovers.Traces
    ) -> tuple[bool, bool]:
        """Whether the cluster can be used again, and whether it mattered which stack this was."""
        self._progress.say(f"\n{self._name(scenario, stack)}: {scenario.title}")
        bench = Bench(
            cluster, stack, self._progress, self._before, marks=self._marks,
            figures=self._figures.setdefault(scenario.name, {}), build=self._options.build,
            stacks=tuple(each.name for each in self._stacks),
            red=frozenset(name for of, name in self._red if of == scenario.name), start_cluster=self.start_cluster,
        )
        bench.examine = lambda own, error: self._examine(scenario, own, problem_of(error), bench.harnesses)
        begin = time.monotonic()
        problem, not_served = self._carry_out(scenario, bench)
        with on(bench):
            # A cluster in which something failed ends now; nothing of it needs to be put back.
            stuck = [] if problem else self._put_back(bench, cluster, before)
            stuck += bench.put_back(Stage.MACHINE)
        if stuck and not problem:
            problem = "\n".join(f"not put back: {words}" for words in stuck)
            self._progress.say(indent(problem))
        name = self._name(scenario, stack) if bench.served or not_served else scenario.name
        key = (scenario.name, stack.name)
        self._red = self._red | {key} if problem else self._red - {key}
        again = key in self._again
        result = Result(name, time.monotonic() - begin, problem, not_served, unsteady=again and not problem)
        self.results.append(result)
        self._times += [(name, words, seconds) for words, seconds in bench.times]
        self._progress.say(f"{result.verdict} {name}{f': not served: {not_served}' if not_served else ''}")
        return not problem, bench.served or bool(not_served)

    def _carry_out(self, scenario: Scenario, bench: Bench) -> tuple[str, str]:
        """What went wrong, and what the stack does not do, or empty texts."""
        try:
            with on(bench):
                if bench.cluster is not None:
                    bench.namespace = namespaces.make(bench.cluster.control_plane.api, scenario.name)
                with self._limited(scenario):
                    scenario.body()
        except NotServed as error:
            return "", str(error)
        except Exception as error:  # a defect of one scenario must not hide the results of the others
            if bench.examined is not error:
                bench.examine(bench.cluster, error)
            return problem_of(error), ""
        except BaseException:  # Ctrl-C: a cluster of the run ends now, but what else was started does not
            bench.put_back(Stage.MACHINE)
            raise
        return "", ""

    @contextlib.contextmanager
    def _limited(self, scenario: Scenario) -> Iterator[None]:
        seconds, whose = scenario.limit, "it may take"
        if self._options.limit and self._left() < seconds:
            seconds, whose = max(self._left(), 0.001), "are left of the limit for all"

        def ring(*_: Any) -> None:
            raise TooLong(
                f"expected: {scenario.name} ends within the {seconds:.0f} s that {whose}\n"
                f"seen:     it goes on\nat:       {where()}"
            )

        handler = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)

    def _put_back(self, bench: Bench, cluster: Any, before: leftovers.Traces) -> list[str]:
        """A pod's claim can be given back only while its driver runs: pods go before what serves them. What serves a
        device plugin's resources may go at the same time."""
        problems = bench.put_back(*OUTAGES) + bench.begin_to_put_back()
        if cluster is None:
            return problems + bench.put_back(Stage.NODE)
        with self._progress.step(f"remove namespace {bench.namespace}"):
            try:
                namespaces.remove(cluster.control_plane.api, bench.namespace)
            except (Failure, OSError) as failure:
                problems.append(str(failure))
        with self._progress.step("put back what the verbs did"):
            problems += bench.put_back(Stage.NODE)
        with self._progress.step("compare with the beginning"):
            return problems or differences(cluster, before)

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

    def tell(self) -> None:
        if not self.results:
            return
        width = max(len(result.name) for result in self.results)
        self._progress.say("")
        for result in self.results:
            why = f"  not served: {result.not_served}" if result.not_served else ""
            why += f"  not run: {result.not_run}" if result.not_run else ""
            why += "  UNSTEADY: red, and then green" if result.unsteady else ""
            self._progress.say(f"{result.verdict:4} {result.name:{width}} {result.seconds:7.1f} s{why}")
        self._progress.say(f"{self._counts()} in {time.monotonic() - self._begin:.0f} s")
        self._tell_figures()
        if self._options.times:
            self._tell_times()

    def _counts(self) -> str:
        verdicts = [result.verdict for result in self.results]
        told = [f"{verdicts.count('ok')} passed, {verdicts.count('FAIL')} failed"]
        for words, number in (
            ("not served by its stack", sum(bool(result.not_served) for result in self.results)),
            ("not run", sum(bool(result.not_run) for result in self.results)),
        ):
            told += [f"{number} {words}"] if number else []
        return ", ".join(told)

    def _tell_figures(self) -> None:
        for scenario, stack, figures in (
            (scenario, stack, found) for scenario, stacks in self._figures.items() for stack, found in stacks.items()
        ):
            told = "; ".join(f"{words}: {value}" for words, value in figures.items())
            self._progress.say(f"figures of {scenario} ({stack}): {told}")

    def _tell_times(self) -> None:
        self._progress.say(f"\ntimes with the stack of {', '.join(stack.name for stack in self._stacks)}")
        for scenario, words, seconds in self._times:
            self._progress.say(f"{seconds:8.2f} s  {scenario}: {words}")


def differences(cluster: Any, before: leftovers.Traces) -> list[str]:
    """What a scenario has left although every verb undid its work; kubelet tells of a change a moment later."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        left = leftovers.compare(before, leftovers.take(cluster))
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(POLL_SECONDS)


def problem_of(error: Exception) -> str:
    """A step that failed tells it itself; anything else is a defect, and where it is matters."""
    if isinstance(error, (Failure, SetupError)):
        return str(error)
    return "".join(traceback.format_exception(error))


def indent(text: str) -> str:
    return re.sub(r"^(?=.)", "    ", text, flags=re.M)
