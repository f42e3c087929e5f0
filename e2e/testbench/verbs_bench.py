"""Verbs for the bench itself: clusters of a scenario's own, harnesses, residue, times."""

import contextlib
import dataclasses
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.shell import Failure

from testbench import residue
from testbench.scenario_bench import Seen, Stage, Unexpected, current, error_of, finished, new_mark, step, where

E2E = Path(__file__).resolve().parent.parent / "e2e"
E2E_SECONDS = 120
END_SECONDS = 90


@contextlib.contextmanager
def cluster_of(nodes: dict[str, str]) -> Iterator[Any]:
    """A cluster of the scenario's own, which the verbs act on inside the block."""
    bench = current()
    outer, namespace = bench.cluster, bench.namespace
    with step(f"start a cluster of {', '.join(nodes)}"):
        bench.cluster, bench.namespace = bench.start_cluster(nodes), "default"  # nobody shares it
        bench.stack.prepare(bench.cluster)
    try:
        yield bench.cluster
    except Exception as error:
        bench.examine(bench.cluster, error)
        bench.examined = error
        raise
    finally:
        own, bench.cluster, bench.namespace = bench.cluster, outer, namespace
        bench.forget_cluster(own)
        with step("stop the cluster"):
            own.stop()


def expect_no_residue(*kinds: str, of: str = "") -> None:
    """Nothing (of these kinds) is left on the machine of the clusters that this run has started, or of what
    bears the text `of`."""
    bench = current()
    marks = [of] if of else bench.marks
    with step(f"expect no residue: {', '.join(kinds) or 'of any kind'}{f' of {of}' if of else ''}"):
        found = residue.settle(bench.before, *marks, kinds=kinds)
        if found:
            raise Unexpected(f"nothing left of {', '.join(marks)}", residue.describe(found), where())


@dataclasses.dataclass
class Harness:
    """An `e2e up` in a process of its own, with a cluster that is ready."""

    cluster: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        with step(f"kill -9 the harness of cluster {self.cluster}"), self.process:
            self.process.kill()

    def end(self) -> None:
        """As `e2e down` does: it takes its cluster with it. Nothing, where it was killed before."""
        with self.process:
            self.process.terminate()
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired as late:
                self.process.kill()
                raise Failure(
                    f"the harness of {self.cluster} has not ended within {END_SECONDS} s and was killed; "
                    "`e2e clean` removes what is left"
                ) from late


def start_harness(nodes: dict[str, str], name: str = "") -> Harness:
    """Starts a cluster as a user does, in another process, and returns when it is ready. `name` is that of an
    earlier one, to take its place."""
    bench = current()
    name = name or new_mark(bench.marks)
    wanted = [word for node, profile in nodes.items() for word in ("--node", f"{node}={profile}")]
    wanted += ["--build", str(bench.build)] if bench.build else []
    with step(f"`e2e up --name {name} {' '.join(wanted)}` in another process"):
        process = subprocess.Popen(
            [str(E2E), "up", "--name", name, *wanted], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        harness = Harness(name, process)
        bench.harnesses.append(name)
        bench.undo_at_end(f"end the harness of {name}", harness.end, Stage.MACHINE)
        said = []
        for line in process.stdout:
            said.append(line)
            if line.strip() == f"cluster {name} is ready":
                return harness
        raise Unexpected(f"cluster {name} is ready", "".join(said[-20:]), where())


def e2e(*arguments: str) -> Seen:
    """What the bench's own command writes; it must end with 0."""
    words = f"`e2e {shlex.join(arguments)}`"
    with step(words):
        done = finished(f"{words} ends", lambda: subprocess.run(
            [str(E2E), *arguments], capture_output=True, text=True, check=False, timeout=E2E_SECONDS
        ))
        if done.returncode != 0:
            raise Unexpected(f"{words} succeeds", error_of(done), where())
        return Seen(done.stdout.strip(), words)


@contextlib.contextmanager
def measure(words: str) -> Iterator[None]:
    """Notes how long the block takes, for `e2e run --times`."""
    begin = time.monotonic()
    yield
    current().times.append((words, time.monotonic() - begin))
