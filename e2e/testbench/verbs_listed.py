"""Verbs for when kubelet had which list of devices, by its own log."""

import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator

from testbench import kubelet_log
from testbench.scenario_bench import Unexpected, current, where

KUBELET = "kubelet"
# As docs/health.md has them. What breaks tells of itself. That a cause is gone is proven by a look, of which there is one
# every two seconds; the device is held back three seconds from then; one more is for the programs and a busy machine.
OUT_SECONDS, BACK_SECONDS = 1, 2 + 3 + 1


@dataclasses.dataclass
class Lists:
    seconds: float = 0.0  # from the beginning of the block until kubelet had the last of them


@contextlib.contextmanager
def lists(resources: Iterable[str], on: str) -> Iterator[Lists]:
    """When kubelet gets the lists that it has at the end of the block: one for each resource, which may be of devices that
    are all gone."""
    log = current().cluster.node(on).machine.log_path(KUBELET)
    place, begin = log.stat().st_size, time.time()
    found = Lists()
    yield found
    for resource in resources:
        seen = kubelet_log.list_in_force(told_since(place, resource, on), begin)
        if seen is None:
            raise Unexpected(f"kubelet of node {on} gets another list of {resource}", "none in its log", where())
        found.seconds = max(found.seconds, seen.at - begin)


@contextlib.contextmanager
def measure_listed(words: str, resource: str, on: str, most: float) -> Iterator[None]:
    """How long after the beginning of the block kubelet got the list that it has at its end: noted for `e2e run
    --times`, and no more than `most` seconds, which is ours to keep. The programs that break or mend something have
    their part of it, so that nothing is told too short. When the API server hears of it is kubelet's own affair: with
    its node's next status."""
    with lists([resource], on) as found:
        yield
    current().times.append((f"{words}: kubelet has the list", found.seconds))
    expect_listed(words, found.seconds, most)


def expect_listed(words: str, seconds: float, most: float) -> None:
    if seconds > most:
        raise Unexpected(f"{words}: kubelet has the list within {most:g} s", f"{seconds:.2f} s", where())


def told_since(place: int, resource: str, on: str) -> list[kubelet_log.Event]:
    """What the log says after its first `place` bytes."""
    with open(current().cluster.node(on).machine.log_path(KUBELET), encoding="utf-8", errors="replace") as log:
        log.seek(place)
        return kubelet_log.events(log, resource, time.localtime().tm_year)
