"""What the verbs of a running scenario act on, and how its steps are told."""

import contextlib
import dataclasses
import enum
import linecache
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.shell import Failure, SetupError

from testbench import residue

PACKAGE = str(Path(__file__).resolve().parent)
LINE_LETTERS = 110


class WrongUse(SetupError):
    """Asks for something that there is not: the command line is to be changed, not the machine."""


class Unexpected(Failure):
    """A step that did not end as the scenario says: what was expected, what was seen, and where."""

    def __init__(self, expected: str, seen: str, where: str) -> None:
        super().__init__(expected, seen, where)
        self.expected, self.seen, self.where = expected, seen, where

    def __str__(self) -> str:
        return f"expected: {self.expected}\nseen:     {self.seen}\nat:       {self.where}"


class NotServed(Failure):
    """The stack does not do this, and never said that it would: no failure of the scenario."""


class TooLong(Failure):
    """A scenario has had its time."""


class Interrupted(BaseException):
    """A signal asks for the end: the run goes through every clean-up."""


class Seen(str):
    """A text together with where it comes from, for the words of expect()."""

    def __new__(cls, text: str, words: str) -> "Seen":
        seen = super().__new__(cls, text)
        seen.words = words
        return seen


class Progress:
    """One line for each outermost step; on a terminal also the step that still runs. What is said about
    the parts of a step shows when the step fails."""

    def __init__(self, out=None) -> None:
        self._out = out or sys.stdout
        self._depth = 0
        self._details: list[str] = []

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def detail(self, text: str) -> None:
        self._details.append(text)

    @contextlib.contextmanager
    def step(self, words: str) -> Iterator[None]:
        self._depth += 1
        try:
            if self._depth > 1:
                yield
            else:
                with self._shown(short(words)):
                    yield
        finally:
            self._depth -= 1

    @contextlib.contextmanager
    def _shown(self, words: str) -> Iterator[None]:
        start = time.monotonic()
        self._details.clear()
        if self._out.isatty():
            print(f"           {words} …", end="\r", file=self._out, flush=True)
        verdict = "FAILED: "
        try:
            yield
            verdict = ""
        finally:
            if verdict:
                for line in self._details:
                    self.say(f"           {line}")
            self.say(f"{time.monotonic() - start:8.1f} s {verdict}{words}")


def short(words: str) -> str:
    line, *more = words.splitlines() or [""]
    cut = line[:LINE_LETTERS]
    return f"{cut} …" if more or cut != line else line


class Stage(enum.Enum):
    """When what a step changed is put back: each needs those before it."""

    NETWORK = "first: nothing else can be put back while a node is cut off"
    API_SERVER = "next: whoever starts asks it"
    CONTAINERD = "a kubelet ends at once without it"
    KUBELET = "programs tell it what they serve"
    PROGRAM = "of a stack"
    NODE = "when the pods that use it are gone"
    MACHINE = "even where a failed cluster just ends: it is outside of it"


OUTAGES = (Stage.NETWORK, Stage.API_SERVER, Stage.CONTAINERD, Stage.KUBELET, Stage.PROGRAM)


@dataclasses.dataclass(frozen=True)
class Undo:
    words: str
    action: Callable[[], None]
    stage: Stage
    cluster: Any  # that it belongs to
    begin: Callable[[], None] | None = None  # what of it can begin before its stage, and goes on by itself


@dataclasses.dataclass
class Bench:
    """One scenario's surroundings. Verbs find it through current()."""

    cluster: Any  # testbench.cluster.Cluster, or None for a scenario that starts its own
    stack: Any  # testbench.stacks.Stack
    progress: Progress
    before: residue.Snapshot  # the machine before any cluster
    namespace: str = "default"  # in which a scenario's objects lie
    served: bool = False  # by a stack: without that, which one it was does not matter
    marks: list[str] = dataclasses.field(default_factory=list)  # names of clusters started so far
    times: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    figures: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)  # of the scenario, by stack
    stacks: tuple[str, ...] = ()  # of this run, the first first
    red: frozenset[str] = frozenset()  # those with which this scenario has failed so far
    build: Path | None = None  # of partita; None: the default of the command
    start_cluster: Callable[[dict[str, str]], Any] | None = None
    examine: Callable[[Any, Exception], None] = lambda cluster, error: None  # a cluster of its own that failed
    examined: Exception | None = None  # told already, in such a cluster
    harnesses: list[str] = dataclasses.field(default_factory=list)  # clusters of processes of its own
    _undo: list[Undo] = dataclasses.field(default_factory=list)

    def undo_at_end(
        self, words: str, action: Callable[[], None], stage: Stage = Stage.NODE,
        begin: Callable[[], None] | None = None,
    ) -> None:
        """What a step changed is put back when the scenario ends; in a stage, the last change first."""
        self._undo.append(Undo(words, action, stage, self.cluster, begin))

    def forget_undo(self, *words: str) -> None:
        """The scenario has put it back itself."""
        self._undo = [undo for undo in self._undo if undo.words not in words]

    def forget_outages(self, ending: str) -> None:
        """Those whose words end so are over."""
        over = [undo.words for undo in self._undo if undo.stage in OUTAGES and undo.words.endswith(ending)]
        self.forget_undo(*over)

    def forget_cluster(self, cluster: Any) -> None:
        """It has ended: nothing of it needs to be put back."""
        self._undo = [undo for undo in self._undo if undo.cluster is not cluster or undo.stage is Stage.MACHINE]

    def begin_to_put_back(self) -> list[str]:
        """What goes on by itself while the scenario's pods go; returns what failed."""
        problems = []
        for undo in reversed(self._undo):
            try:
                if undo.begin is not None:
                    undo.begin()
            except Exception as error:  # its action says whether it was done all the same
                problems.append(f"{undo.words}: {error}")
        return problems

    def put_back(self, *stages: Stage) -> list[str]:
        """Undoes everything of these stages, one after the other, however much of it fails; returns what failed."""
        problems = []
        for undo in [undo for stage in stages for undo in reversed(self._undo) if undo.stage is stage]:
            self._undo.remove(undo)
            try:
                undo.action()
            except Exception as error:  # the rest must be put back all the same
                problems.append(f"{undo.words}: {error}")
        return problems


def new_mark(marks: list[str]) -> str:
    """The name of one more cluster, noted among `marks`: everything of a cluster bears its name."""
    marks.append(f"e2e-{os.getpid()}-{len(marks)}")
    return marks[-1]


_current: list[Bench] = []


def current() -> Bench:
    if not _current:
        raise Failure("no scenario runs: verbs work inside scenario() of a file given to `e2e run`")
    return _current[-1]


@contextlib.contextmanager
def on(bench: Bench) -> Iterator[Bench]:
    _current.append(bench)
    try:
        yield bench
    finally:
        _current.pop()


def step(words: str) -> contextlib.AbstractContextManager[None]:
    return current().progress.step(words)


def finished(words: str, call: Callable[[], subprocess.CompletedProcess]) -> subprocess.CompletedProcess:
    """What `call` returns; a program that was killed because it did not end is a failed step."""
    try:
        return call()
    except subprocess.TimeoutExpired as late:
        raise Unexpected(words, f"it has not ended within {late.timeout:g} s", where()) from late


def error_of(done: subprocess.CompletedProcess) -> str:
    text = (done.stderr + done.stdout).strip() or "no output"
    return f"exit status {done.returncode}: {text}"


def where() -> str:
    """The scenario's own line that is being carried out: the innermost frame outside the bench."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith("/") and not inside_bench(path):
            line = linecache.getline(path, frame.f_lineno).strip()
            return f"{os.path.relpath(path)}:{frame.f_lineno}: {line}"
        frame = frame.f_back
    return "(no scenario)"


def inside_bench(path: str) -> bool:
    """The bench's own modules and Python's; its tests stand for scenarios."""
    if path.endswith("_test.py"):
        return False
    return path.startswith((PACKAGE, os.path.dirname(contextlib.__file__)))
