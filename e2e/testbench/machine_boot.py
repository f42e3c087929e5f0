"""Boots a machine: runs as process 1 of its new namespaces, makes its file system, and becomes its init.

Everything that is mounted here ends with the namespace. A machine sees the host's programs, but what its
software writes to is its own: tmpfs over /run and /tmp, an overlay with its upper half in memory over the
other folders, and in them the folders that outlive a reboot, bound from the cluster's state.
"""

import contextlib
import json
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

from testbench import mounts

EMPTY_FOLDERS = ("/run", "/tmp")
LAYERED_FOLDERS = ("/etc", "/opt", "/usr/local", "/var")
LAYERS = "/run/.layers"


def main(arguments: list[str]) -> None:
    plan = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    socket.sethostname(plan["hostname"])
    mounts.take_root(plan["root"])
    make_file_system(plan)
    init = [sys.executable, "-B", "-m", "testbench.machine_init", str(plan["control"])]
    os.execv(plan["enter"][0] if plan["enter"] else init[0], [*plan["enter"], *init])


def make_file_system(plan: dict[str, Any]) -> None:
    kept = {path: os.open(path, os.O_PATH) for path in plan["keep"]}
    mount_proc()
    mount_sys()
    cover_folders()
    show_again(kept)
    mount_device_folders()
    for source, target in plan["folders"]:
        os.makedirs(target, exist_ok=True)
        mounts.bind(source, target)
    for target, text in plan["files"].items():
        write_file(target, text)
    for target, text in plan["covered"].items():
        cover_file(target, text)


def mount_proc() -> None:
    mounts.mount("proc", "/proc", "proc", mounts.NO_SUID | mounts.NO_DEV | mounts.NO_EXEC)


def mount_sys() -> None:
    """sysfs shows the network of the namespace it was mounted in; the cgroups stay those of the host."""
    groups = os.open("/sys/fs/cgroup", os.O_PATH)
    mounts.mount("sysfs", "/sys", "sysfs", mounts.NO_SUID | mounts.NO_DEV | mounts.NO_EXEC)
    mounts.bind_open(groups, "/sys/fs/cgroup")
    os.close(groups)


def cover_folders() -> None:
    for folder in EMPTY_FOLDERS:
        mounts.tmpfs(folder, "1777" if folder == "/tmp" else "0755")
    if not os.path.islink("/var/run"):
        raise SystemExit("/var/run is no link to /run here; a node's run folder would be two")
    for folder in filter(os.path.isdir, LAYERED_FOLDERS):
        upper, work = (f"{LAYERS}{folder}/{half}" for half in ("upper", "work"))
        os.makedirs(upper)
        os.makedirs(work)
        shutil.copystat(folder, upper)
        mounts.overlay(folder, upper, work, folder)


def show_again(kept: dict[str, int]) -> None:
    """What the machine needs of the host although its folder was covered: the state, the programs."""
    covered = (*EMPTY_FOLDERS, *LAYERED_FOLDERS)
    for path, descriptor in kept.items():
        if any(path.startswith(folder + "/") for folder in covered):
            os.makedirs(path, exist_ok=True)
            mounts.bind_open(descriptor, path)
        os.close(descriptor)


def mount_device_folders() -> None:
    mounts.mount("devpts", "/dev/pts", "devpts", mounts.NO_SUID, "newinstance,ptmxmode=0666,mode=0620")
    mounts.tmpfs("/dev/shm", "1777")
    with contextlib.suppress(FileNotFoundError):
        mounts.mount("mqueue", "/dev/mqueue", "mqueue")


def write_file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def cover_file(target: str, text: str) -> None:
    """Shows a file with this text at `target`, which cannot or must not be written itself. Not every
    kernel has every setting."""
    if not os.path.exists(target):
        return
    source = "/run/.covers/" + target.strip("/").replace("/", "-")
    write_file(source, text)
    mounts.bind(source, target)


if __name__ == "__main__":
    main(sys.argv[1:])
