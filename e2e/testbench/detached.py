"""Keeps a cluster until it is told to end it, in the foreground or behind the caller's back."""

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from support.shell import Failure, SetupError
from testbench.cluster import Cluster
from testbench.scenario_bench import WrongUse
from testbench.state import StateFolder

OK, FAILED, USAGE, NO_SETUP = 0, 1, 2, 3
END_SECONDS = 90
POLL_SECONDS = 0.05
READY = b"ready"
ASK_FOR_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """Somebody asked for the end: Ctrl-C, or `e2e down`."""


def say(text: str) -> None:
    print(text, flush=True)


def keep(cluster: Cluster, announce: Callable[[], None] | None = None) -> int:
    """Starts the cluster and returns after its end, which a signal asks for: 0, or 1 when it was asked
    for before the cluster was ready."""
    ready = False
    end_when_asked()
    try:
        with cluster:
            tell(cluster)
            ready = True
            if announce:
                announce()
            while True:
                # Not pause(): a signal that comes just before it would be waited for in vain.
                time.sleep(POLL_SECONDS)
    except Ended:
        say(f"cluster {cluster.name} has ended, and nothing of it is left")
    return 0 if ready else 1


def end_when_asked() -> None:
    """Also where the caller ignores them, as shells do for what they start with `&`."""
    for number in ASK_FOR_END:
        signal.signal(number, end_now)


def end_now(*_: Any) -> None:
    for number in ASK_FOR_END:
        signal.signal(number, signal.SIG_IGN)
    raise Ended


def tell(cluster: Cluster) -> None:
    say(f"\ncluster {cluster.name} is ready")
    say(f"  e2e kubectl --name {cluster.name} get nodes")
    for node in cluster.nodes:
        say(f"  e2e shell --name {cluster.name} {node}")
    say(f"  logs: {cluster.folder}/*/logs, {cluster.folder}/nodes/*/logs")


def keep_in_background(cluster: Cluster) -> int:
    """Returns when the cluster is ready; a child of its own session keeps it."""
    reader, writer = os.pipe()
    end_when_asked()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ASK_FOR_END)  # until we know whom to tell
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        become_keeper(cluster, writer, before)
    os.close(writer)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with os.fdopen(reader, "rb") as pipe:
            if pipe.read(len(READY)) == READY:
                say(f"it runs in the background as process {child}; `e2e down --name {cluster.name}` ends it")
                return 0
    except Ended:  # the terminal does not tell another session
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else FAILED  # by a signal


def become_keeper(cluster: Cluster, writer: int, mask: set[signal.Signals]) -> None:
    """Never returns."""
    def announce() -> None:
        log = os.open(cluster.folder / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.write(writer, READY)
        os.close(writer)

    status = FAILED
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = exit_status(lambda: keep(cluster, announce))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def exit_status(act: Callable[[], int]) -> int:
    """What `act` returns; an error that says what to do is told in its words, as a status of its kind."""
    try:
        return act()
    except WrongUse as error:
        return complain(error, USAGE)
    except SetupError as error:
        return complain(error, NO_SETUP)
    except Failure as error:
        return complain(error, FAILED)


def complain(error: object, status: int) -> int:
    print(f"e2e: {error}", file=sys.stderr)
    return status


def end(state: StateFolder) -> None:
    """Asks the keeper of a cluster to end it, and waits until it has."""
    keeper = state.keeper()
    if keeper is None:
        raise Failure(f"cluster {state.cluster} has only just begun; try again")
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(keeper.process, signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS
    while state.is_alive:
        if time.monotonic() > deadline:
            raise Failure(
                f"cluster {state.cluster} has not ended within {END_SECONDS} s; "
                f"kill -9 {keeper.process} ends it at once, then `e2e clean`"
            )
        time.sleep(POLL_SECONDS)
    say(f"cluster {state.cluster} has ended")
