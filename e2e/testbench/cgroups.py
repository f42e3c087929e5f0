"""Cgroups of a cluster, in every hierarchy that the machine has mounted.

Below OWNER there is a group for each cluster and in it one for each machine: `system` holds what we start,
and the kubelet makes its `kubepods` beside it. Two kubelets on one /kubepods would end each other's pods.
"""

import contextlib
import dataclasses
import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from support.shell import SetupError

OWNER = "partita-e2e"
SYSTEM = "system"
REMOVE_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Hierarchy:
    folder: Path
    is_v2: bool
    controllers: frozenset[str]


def hierarchies(mounts: str | None = None) -> list[Hierarchy]:
    """Those of /proc/self/mounts, each once."""
    text = mounts if mounts is not None else Path("/proc/self/mounts").read_text(encoding="utf-8")
    found: dict[str, Hierarchy] = {}
    for line in text.splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            found[folder] = Hierarchy(Path(folder), kind == "cgroup2", frozenset(options.split(",")))
    return list(found.values())


def cluster_path(cluster: str) -> str:
    return f"/{OWNER}/{cluster}"


def machine_path(cluster: str, machine: str) -> str:
    """As a kubelet's cgroupRoot says it: from the root of each hierarchy."""
    return f"{cluster_path(cluster)}/{machine}"


def join(path: str, pid: int) -> None:
    """Makes the machine's group everywhere, and puts a process into it."""
    found = hierarchies()
    if not found:
        raise SetupError("no cgroup hierarchy is mounted below /sys/fs/cgroup; a kubelet needs them")
    for hierarchy in found:
        join_in(hierarchy, path, pid)


def join_in(hierarchy: Hierarchy, path: str, pid: int) -> None:
    """An empty group may be removed between two steps of ours: OWNER by a cluster that ends and was the
    last, any by a systemd that takes the hierarchy for its own."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        try:
            (make_once(hierarchy, path) / "cgroup.procs").write_text(str(pid), encoding="utf-8")
            return
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV) or time.monotonic() > deadline:
                raise


def make_once(hierarchy: Hierarchy, path: str) -> Path:
    folder = hierarchy.folder
    for part in [*path.strip("/").split("/"), SYSTEM]:
        if hierarchy.is_v2:
            pass_on_controllers(folder)
        folder = folder / part
        folder.mkdir(exist_ok=True)
        if "cpuset" in hierarchy.controllers:
            inherit_cpuset(folder)
    return folder


def pass_on_controllers(folder: Path) -> None:
    names = (folder / "cgroup.controllers").read_text(encoding="utf-8").split()
    if names:
        words = " ".join(f"+{name}" for name in names)
        (folder / "cgroup.subtree_control").write_text(words, encoding="utf-8")


def inherit_cpuset(folder: Path) -> None:
    """A new v1 cpuset has neither processors nor memory, and nothing could run in it."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        own = folder / name
        if not own.read_text(encoding="utf-8").strip():
            own.write_text((folder.parent / name).read_text(encoding="utf-8"), encoding="utf-8")


def remove(path: str, keep_parents: bool = False) -> None:
    """Ends what still runs in the group, anywhere, and removes it with all below it."""
    for hierarchy in hierarchies():
        folder = hierarchy.folder / path.strip("/")
        remove_tree(folder)
        if not keep_parents:
            remove_if_empty(hierarchy.folder / OWNER)


def remove_tree(top: Path) -> None:
    deadline = time.monotonic() + REMOVE_SECONDS
    while top.exists():
        kill_all(top)
        try:
            for folder in groups_below(top):
                folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise SetupError(
                    f"cannot remove the cgroup {top}: {error}; processes in it: {processes(top) or 'none'}"
                ) from error
            time.sleep(0.02)


def remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def groups_below(top: Path) -> Iterator[Path]:
    """The deepest first."""
    for folder, _, _ in os.walk(top, topdown=False):
        yield Path(folder)


def processes(top: Path) -> list[int]:
    found: list[int] = []
    for folder in groups_below(top):
        with contextlib.suppress(OSError):
            text = (folder / "cgroup.procs").read_text(encoding="utf-8")
            found += [int(pid) for pid in text.split()]
    return found


def kill_all(top: Path) -> None:
    for pid in processes(top):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
