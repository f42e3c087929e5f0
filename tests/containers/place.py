"""Where a run has its files and cgroups, and who removes them: a process of its own session, which waits for the end
of the run however that comes. Processes and mounts end with the machine, whose init waits for the same."""

import os
import shutil
import signal
import tempfile
import time
import traceback
from pathlib import Path

from testbench import cgroups, residue
from testbench.residue import Snapshot, Trace

SECONDS = 20


def name_of(process: int) -> str:
    """Of all that a run makes: everything carries it somewhere."""
    return f"containers-{process}"


def residue_of(process: int, before: Snapshot) -> list[Trace]:
    """What is left of a run, when the kernel and the keeper are done."""
    deadline = time.monotonic() + SECONDS
    mark = name_of(process)
    while True:
        found = [trace for trace in residue.left(before, residue.take(), mark) if mark in trace.bears]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


class Place:
    def __init__(self) -> None:
        self.name = name_of(os.getpid())
        self._before = residue.take()
        self.folder = Path(tempfile.mkdtemp(prefix=f"partita-{self.name}."))
        reader, self._alive = os.pipe()
        self._keeper = os.fork()
        if self._keeper == 0:
            os.close(self._alive)
            self._keep(reader)
        os.close(reader)

    def _keep(self, reader: int) -> None:
        """Never returns."""
        status = 1
        try:
            os.setsid()
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            os.read(reader, 1)  # nobody writes: it is the end
            cgroups.remove(cgroups.cluster_path(self.name))
            shutil.rmtree(self.folder)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def remove(self) -> list[Trace]:
        """What is left although nothing should be."""
        os.close(self._alive)
        os.waitpid(self._keeper, 0)
        return residue_of(os.getpid(), self._before)
