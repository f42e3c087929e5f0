"""Verbs for when kubelet had which list of devices, by its own log."""

import contextlib
import time
from collections.abc import Iterator

from testbench import kubelet_log
from testbench.scenario_bench import Unexpected, current, where

KUBELET = "kubelet"


@contextlib.contextmanager
def measure_listed(words: str, resource: str, on: str) -> Iterator[None]:
    """Notes, for `e2e run --times`, how long after the beginning of the block kubelet got the list that it has at its
    end. When the API server hears of it is kubelet's own affair: with its node's next status."""
    log = current().cluster.node(on).machine.log_path(KUBELET)
    place, begin = log.stat().st_size, time.time()
    yield
    seen = kubelet_log.list_in_force(told_since(place, resource, on), begin)
    if seen is None:
        raise Unexpected(f"kubelet of node {on} gets another list of {resource}", "none in its log", where())
    current().times.append((f"{words}: kubelet has the list", seen.at - begin))


def told_since(place: int, resource: str, on: str) -> list[kubelet_log.Event]:
    """What the log says after its first `place` bytes."""
    with open(current().cluster.node(on).machine.log_path(KUBELET), encoding="utf-8", errors="replace") as log:
        log.seek(place)
        return kubelet_log.events(log, resource, time.localtime().tm_year)
