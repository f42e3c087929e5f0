"""Scenarios in several processes side by side, each with clusters of its own.

A lane takes the next scenario that no other has, until none is left: with every stack, since figures of one are
compared with those of the other. What the lanes did is told as one run.
"""

import contextlib
import dataclasses
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LAST_WORDS_SECONDS = 5


class Claims:
    """What one lane has and no other: each is a file that exists once. Without a folder there is one lane."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._own: set[str] = set()

    def take(self, name: str) -> bool:
        """Whether it is ours, now or already."""
        if name in self._own:
            return True
        if self._folder is not None:
            try:
                (self._folder / name).touch(exist_ok=False)
            except FileExistsError:
                return False
        self._own.add(name)
        return True

    def is_taken(self, name: str) -> bool:
        """By whomever."""
        return name in self._own or (self._folder is not None and (self._folder / name).exists())


@dataclasses.dataclass
class Lane:
    process: int
    said: threading.Thread
    left: Path  # what it did


def run(number: int, work: Callable[[Claims], Any], folder: Path, say: Callable[[str], None]) -> list[Any]:
    """Runs `work` in so many processes; returns what each returned. A signal that asks for the end reaches all of them,
    and they are waited for. One that broke off is an error."""
    claims = folder / "claims"
    claims.mkdir()
    lanes: list[Lane] = []
    with ended_together(lanes):
        for index in range(number):
            lanes.append(begin(index, work, claims, folder / f"lane-{index + 1}", say))
        for lane in lanes:
            os.waitpid(lane.process, 0)
            lane.said.join(LAST_WORDS_SECONDS)  # programs that it left have its output, too
    return [pickle.loads(lane.left.read_bytes()) for lane in lanes if lane.left.exists()]


def begin(index: int, work: Callable[[Claims], Any], claims: Path, left: Path, say: Callable[[str], None]) -> Lane:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.close(reader)
            sys.stdout = sys.stderr = os.fdopen(writer, "w", buffering=1, encoding="utf-8")
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            unfinished = left.with_suffix(".new")
            unfinished.write_bytes(pickle.dumps(work(Claims(claims))))
            unfinished.rename(left)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            os._exit(status)
    os.close(writer)
    said = threading.Thread(target=pass_on, args=(reader, f"{index + 1}| ", say), daemon=True)
    said.start()
    return Lane(process, said, left)


def pass_on(reader: int, before: str, say: Callable[[str], None]) -> None:
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            say(f"{before}{line.rstrip()}".rstrip())


@contextlib.contextmanager
def ended_together(lanes: list[Lane]) -> Iterator[None]:
    """What ends us ends the lanes first, each of which cleans up."""
    try:
        yield
    except BaseException:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        for lane in lanes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(lane.process, signal.SIGTERM)
        for lane in lanes:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(lane.process, 0)
            lane.said.join(LAST_WORDS_SECONDS)
        raise


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="partita-e2e-lanes-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
