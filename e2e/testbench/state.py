"""The folders of clusters, and who lives: a cluster is alive while its harness holds its lock."""

import contextlib
import dataclasses
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.shell import SetupError
from testbench import cgroups
from testbench.simulator import Simulator

NAME = re.compile(r"^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$")


def root() -> Path:
    return Path(os.environ.get("PARTITA_E2E_STATE") or "/run/partita-e2e")


def check_name(what: str, name: str) -> None:
    if not NAME.match(name):
        raise SetupError(f"{what} {name!r}: use small letters, digits and dashes, at most 42 of them")


class StateFolder:
    """The files of one cluster, below a folder that holds many."""

    def __init__(self, cluster: str, folder: Path) -> None:
        check_name("cluster", cluster)
        self.cluster = cluster
        self.folder = folder
        self._lock_path = folder.with_name(folder.name + ".lock")
        self._lock = -1

    def claim(self, build: Path) -> None:
        """Makes it ours, and removes what a harness that was killed left there."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if not self._take_lock():
            raise SetupError(
                f"cluster {self.cluster} is running already; stop it with `e2e down {self.cluster}`, "
                "or choose another name with --name"
            )
        self.remove_leftovers(build)
        self.folder.mkdir()

    def release(self, build: Path) -> None:
        """Removes everything, and lets go."""
        self.remove_leftovers(build)
        with contextlib.suppress(FileNotFoundError):
            self._lock_path.unlink()
        os.close(self._lock)
        self._lock = -1
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()

    def remove_leftovers(self, build: Path) -> None:
        cgroups.remove(cgroups.cluster_path(self.cluster))
        Simulator(build, self.folder / "sim").remove_all()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            raise SetupError(f"cannot remove {self.folder}; see what is mounted or open there, and remove it")

    def _take_lock(self) -> bool:
        """False: another process holds it."""
        while True:
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            # The one who held it before may have removed the file between our open and our lock.
            with contextlib.suppress(FileNotFoundError):
                if os.stat(self._lock_path).st_ino == os.fstat(descriptor).st_ino:
                    self._lock = descriptor
                    os.truncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                    return True
            os.close(descriptor)

    @property
    def is_alive(self) -> bool:
        try:
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)

    @property
    def harness(self) -> int:
        """The process that keeps the cluster."""
        return int(self._lock_path.read_text(encoding="utf-8"))

    # ---- what other processes may know of a cluster ----

    def publish(self, facts: dict[str, Any]) -> None:
        unfinished = self.folder / "cluster.json.new"
        unfinished.write_text(json.dumps(facts, indent=1), encoding="utf-8")
        unfinished.rename(self.folder / "cluster.json")

    def facts(self) -> dict[str, Any]:
        try:
            return json.loads((self.folder / "cluster.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}


@dataclasses.dataclass(frozen=True)
class Known:
    state: StateFolder
    alive: bool


def known() -> Iterator[Known]:
    """Every cluster of this machine: files or cgroups of it exist, its harness lives or not."""
    found = root()
    names = cgroups.clusters()
    if found.exists():
        names |= {entry.name.removesuffix(".lock") for entry in found.iterdir()}
    for name in sorted(names):
        if NAME.match(name):
            state = StateFolder(name, found / name)
            yield Known(state, state.is_alive)
