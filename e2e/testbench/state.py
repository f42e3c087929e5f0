"""The folders of clusters, and who lives: a cluster is alive while its harness holds its lock.

The lock files of all clusters lie in one folder, since their cgroups share one tree: a name exists once on a
machine, wherever a cluster's files are.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.shell import SetupError
from testbench import cgroups
from testbench.scenario_bench import WrongUse
from testbench.simulator import Simulator

ROOT = Path("/run/partita-e2e")
NAME = re.compile(r"^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$")


def check_name(what: str, name: str) -> None:
    if not NAME.match(name):
        raise WrongUse(f"{what} {name!r}: use small letters, digits and dashes, at most 42 of them")


@dataclasses.dataclass(frozen=True)
class Keeper:
    """What the lock file says: who keeps the cluster, and where its files are."""

    process: int
    folder: Path


class StateFolder:
    """The files of one cluster."""

    def __init__(self, cluster: str, folder: Path | None = None, root: Path = ROOT) -> None:
        check_name("cluster", cluster)
        self.cluster = cluster
        self.lock_path = root / f"{cluster}.lock"
        self.folder = folder or root / cluster
        self._lock = -1

    def claim(self, build: Path) -> None:
        """Makes the name and the folder ours, and removes what a harness that was killed left."""
        before = self.keeper()
        if not self._take_lock():
            raise SetupError(
                f"cluster {self.cluster} is running already; stop it with `e2e down --name {self.cluster}`, "
                "or choose another name with --name"
            )
        for folder in {self.folder, before.folder if before else self.folder}:
            remove_leftovers(self.cluster, folder, build)
        self._write_keeper()
        self.folder.mkdir(parents=True)

    def release(self, build: Path) -> None:
        """Removes everything, and lets go."""
        remove_leftovers(self.cluster, self.folder, build)
        self.lock_path.unlink()
        os.close(self._lock)
        self._lock = -1
        with contextlib.suppress(OSError):
            self.lock_path.parent.rmdir()

    def _take_lock(self) -> bool:
        """False: another process holds it. Whoever held it before may remove the file, and the folder,
        between any two of our steps: then it starts again."""
        while True:
            self.lock_path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(self.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                if not lock(descriptor):
                    os.close(descriptor)
                    return False
                if is_still_at(self.lock_path, descriptor):
                    self._lock = descriptor
                    return True
                os.close(descriptor)

    def _write_keeper(self) -> None:
        text = json.dumps({"process": os.getpid(), "folder": str(self.folder)})
        os.truncate(self._lock, 0)
        os.pwrite(self._lock, text.encode(), 0)

    def keeper(self) -> Keeper | None:
        """None where there is none, or none yet."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            said = json.loads(self.lock_path.read_text(encoding="utf-8"))
            return Keeper(said["process"], Path(said["folder"]))
        return None

    @property
    def is_alive(self) -> bool:
        try:
            descriptor = os.open(self.lock_path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return is_locked(descriptor)
        finally:
            os.close(descriptor)

    # ---- what other processes may know of a cluster ----

    def publish(self, facts: dict[str, Any]) -> None:
        unfinished = self.folder / "cluster.json.new"
        unfinished.write_text(json.dumps(facts, indent=1), encoding="utf-8")
        unfinished.rename(self.folder / "cluster.json")

    def facts(self) -> dict[str, Any]:
        """Empty until the cluster is ready."""
        try:
            return json.loads((self.folder / "cluster.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}


def known(root: Path = ROOT) -> Iterator[StateFolder]:
    """Every cluster of this machine, alive or not."""
    for path in sorted(root.glob("*.lock")):
        found = StateFolder(path.stem, root=root)
        keeper = found.keeper()
        yield StateFolder(path.stem, keeper.folder, root) if keeper else found


def remove_leftovers(cluster: str, folder: Path, build: Path) -> None:
    cgroups.remove(cgroups.cluster_path(cluster))
    Simulator(build, folder / "sim").remove_all()
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise SetupError(f"cannot remove {folder}; see what is mounted or open there, and remove it")


# Locks of the open file (OFD), not of the process: whether one is held can be asked without taking it.
def whole_file() -> bytes:
    return struct.pack("@hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def lock(descriptor: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole_file())
        return True
    except (BlockingIOError, PermissionError):
        return False


def is_locked(descriptor: int) -> bool:
    answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, whole_file())
    return struct.unpack_from("@h", answer)[0] != fcntl.F_UNLCK


def is_still_at(path: Path, descriptor: int) -> bool:
    return os.stat(path).st_ino == os.fstat(descriptor).st_ino
