"""Verbs for the sudden death of what serves GPUs, and for its return."""

import dataclasses
import os
import time
from collections.abc import Iterable
from typing import Any

from testbench import kubelet_log
from testbench.scenario_bench import Unexpected, current, step, where
from testbench.verbs_listed import KUBELET, told_since
from testbench.verbs_observe import POLL_SECONDS, WAIT_SECONDS, allocatable

REJECTED = "UnexpectedAdmissionError"  # kubelet's word for a pod that no plugin answered for
# The end of a connection is nobody's answer, whether the kernel says it or kubelet itself; any other error is one. Unavailable
# is a plugin's own word too: only with those of grpc-go's transport (internal/transport/http2_client.go) nobody said it.
ENDED = (
    "Unavailable desc = connection error: ", "Unavailable desc = error reading from server: ",
    "Unavailable desc = closing transport due to: ", "Unavailable desc = transport(?:: | is closing)",
    "Unavailable desc = the connection is draining", "Canceled desc = grpc: the client connection is closing",
)
NOBODYS_ANSWER = rf"^(?!.*rpc error: code = (?!{'|'.join(ENDED)}))"


@dataclasses.dataclass(frozen=True)
class Kill:
    what: str
    node: str
    processes: list[int]
    kubelet: int  # that it served
    log: int  # where kubelet's begins to tell of it


@dataclasses.dataclass(frozen=True)
class Return:
    """Of what was killed. `seconds` are those until the node offers the right number, from the start of the process
    or from the end of whatever else was missing; `listed` those until kubelet had its list, from its start."""

    seconds: float
    listed: float
    raced: bool  # kubelet took it for the one that had died (kubelet_log.raced)


@dataclasses.dataclass(frozen=True)
class Allowed:
    """Seconds from the start of a process until what it serves is there, and where it lost kubelet's race."""

    usual: float
    raced: float

    def late(self, returns: Iterable[Return], told_later: float = 0) -> list[Return]:
        """Those whose list kubelet had too late, or that the node offered later still: kubelet tells the API server with
        its next status, up to `told_later` seconds after it has the list."""
        return [
            back for back in returns
            if back.listed > self.of(back) or back.seconds > self.of(back) + told_later
        ]

    def of(self, back: Return) -> float:
        return self.raced if back.raced else self.usual


def kill_server(what: str, on: str) -> Kill:
    """SIGKILL to what serves "gpus" on a node; whoever looks after it starts it again."""
    with step(f"kill -9 what serves {what} on node {on}"):
        node, part = current().cluster.node(on), current().stack.part(what)
        log = node.machine.log_path(KUBELET)
        killed = Kill(
            what, on, part.processes(node), node.machine.programs()[KUBELET]["pid"], log.stat().st_size
        )
        part.kill(node)
        return killed


def now() -> float:
    """An instant for wait_for_return."""
    return time.time()


def wait_for_return(
    of: Kill, resource: str, count: int, since: float = 0, within: float = WAIT_SECONDS
) -> Return:
    """Until another process serves, kubelet goes by its list and the node offers `count`. `since` is when the last
    outage was over that kept the node from telling."""
    with step(f"wait for {count} {resource} of node {of.node} from a new process"):
        deadline = time.monotonic() + within
        started = wait_for_process(of, deadline)
        seen = allocatable(resource, on=of.node)
        while True:
            told = told_since(of.log, resource, of.node)
            list_now = kubelet_log.list_in_force(told, started)
            if list_now is not None and list_now.devices == count and seen.look() == str(count):
                return Return(
                    max(0.0, now() - max(started, since)), list_now.at - started,
                    kubelet_log.raced(told, of.kubelet, started),
                )
            if time.monotonic() > deadline:
                listed = "no list" if list_now is None else f"a list of {list_now.devices}"
                raise Unexpected(
                    f"{seen.words}: {count} within {within:g} s", f"{seen.look()}; kubelet has {listed}", where()
                )
            time.sleep(POLL_SECONDS)


def wait_for_process(of: Kill, deadline: float) -> float:
    """When the one in the place of the killed was started."""
    node, part = current().cluster.node(of.node), current().stack.part(of.what)
    while True:
        for pid in set(part.processes(node)) - set(of.processes):
            stat = node.run(["cat", f"/proc/{pid}/stat"]).stdout
            if stat:
                return start_of(stat)
        if time.monotonic() > deadline:
            raise Unexpected(f"what serves {of.what} on node {of.node} is started again", "no process", where())
        time.sleep(POLL_SECONDS)


def start_of(stat: str) -> float:
    """The 22nd field of /proc/PID/stat counts from the machine's boot (proc(5)); the name may hold anything."""
    ticks = int(stat.rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


# ---- figures of a scenario, for those who read the run, and for the same scenario with another stack ----


def served_by() -> str:
    """The stack's name."""
    return current().stack.name


def note(words: str, value: Any) -> None:
    """A figure of this scenario with this stack: it is told at the end of the run."""
    current().figures.setdefault(served_by(), {})[words] = value


def why_not_noted(stack: str) -> str:
    """Why this run has no figures of the scenario with another stack. That it was not asked for them is a reason, and so
    is a failure of its own, which others may overlook; else they are owed."""
    bench = current()
    if stack not in bench.stacks:
        return "this run is without it"
    if stack in bench.red:
        return f"NO: WITH {stack.upper()} THE SCENARIO ITSELF FAILED"
    raise Unexpected(
        f"figures of the scenario with {stack}, which this run was asked for",
        f"none, and no failure of it; of --stack {','.join(bench.stacks)} the first comes first", where(),
    )


def noted(words: str, stack: str) -> Any:
    """What the scenario noted with another stack earlier in this run; None if it did not come so far."""
    return current().figures.get(stack, {}).get(words)
