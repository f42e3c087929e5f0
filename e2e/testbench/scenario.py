"""Finds scenarios, raises the clusters that they need, runs them, and tells how it went.

A scenario is a Python file: its docstring is its title, NODES names the machines ({"dgx": "dgx-a100-40"})
and scenario() is what a user does and sees, in the words of testbench.verbs. Scenarios share a cluster where
their NODES agree. One without NODES starts what it needs itself, and runs when no other cluster is up.
PROGRAMS names programs that only few scenarios need and that are built for those alone, STACKS the stacks that
can do it at all (all of them, unless given), LIMIT the seconds that it may take.
Several lanes (testbench.lanes) run those with NODES side by side.
"""

import dataclasses
import importlib.util
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.shell import SetupError

from testbench import lanes, stacks
from testbench.scenario_bench import Interrupted, WrongUse
from testbench.scenario_session import FAILURES, MakeCluster, Scenario, Session

E2E = Path(__file__).resolve().parent.parent
SCENARIOS = E2E / "scenarios"
LIMIT_SECONDS = 180
ENDING = lanes.ENDING

OK, FAILED, USAGE = 0, 1, 2

@dataclasses.dataclass(frozen=True)
class Options:
    make_cluster: MakeCluster  # (name, {node: profile}, say) -> a Cluster, not started
    build: Path | None = None  # of partita, for an `e2e up` of a scenario's own; the command's default
    only: tuple[str, ...] = ()
    stack: str = stacks.DEFAULT  # or several, by commas
    limit: float = 0  # of all of it, in seconds; 0: none
    fail_fast: bool = False
    again: int = 0  # so many that are red run once more
    keep: bool = False
    times: bool = False
    lanes: int = 1  # clusters side by side
    failures: Path = FAILURES


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
    return Scenario(
        path.stem.replace("_", "-"), title[0], nodes, body, programs=tuple(getattr(module, "PROGRAMS", ())),
        stacks=tuple(getattr(module, "STACKS", ())), limit=float(getattr(module, "LIMIT", LIMIT_SECONDS)),
    )


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
        scenarios, chosen = find(paths, options.only), stacks.choose(options.stack)
    except WrongUse as error:
        print(f"e2e: {error}", file=sys.stderr)
        return USAGE
    session = Session(options, chosen)
    handlers = {number: signal.signal(number, interrupt) for number in ENDING}
    try:
        if options.lanes > 1:
            run_in_lanes(options, session, [scenario for scenario in scenarios if scenario.nodes])
            scenarios = [scenario for scenario in scenarios if not scenario.nodes]
        for nodes, members in groups(scenarios):
            session.run_group(nodes, members)
    except Interrupted as interrupted:
        print(f"ended by {interrupted}", flush=True)
        return FAILED
    finally:
        session.tell()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return OK if session.passed else FAILED


def run_in_lanes(options: Options, session: Session, scenarios: list[Scenario]) -> None:
    """Each lane is a copy of the session; what became of their scenarios is the session's."""

    def work(claims: lanes.Claims) -> dict[str, Any]:
        for number in ENDING:
            signal.signal(number, interrupt)
        mine = session.in_lane(claims)
        try:
            for nodes, members in groups(scenarios):
                mine.run_group(nodes, members)
        except Interrupted as interrupted:
            print(f"ended by {interrupted}", flush=True)
        return mine.report()

    with lanes.scratch() as folder:
        reports = lanes.run(options.lanes, work, folder, session.say)
    for report in reports:
        session.add(report)
    session.expect_all(scenarios, broken=options.lanes - len(reports))


def interrupt(number: int, _: Any) -> None:
    """Another signal does not end the clean-up."""
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(signal.Signals(number).name)
