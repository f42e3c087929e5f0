"""A run that is killed while a container runs leaves nothing behind, although nobody cleans up in its name."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

from containers.engines.engine import HERE, Engine
from containers.engines.podman import Podman
from containers.node import Facts
from containers.place import name_of, residue_of
from support.shell import Failure
from testbench import cgroups, residue

SECONDS = 60


class Harness(Engine):
    name = "harness"


def leaves_nothing(engine: Engine, _: Facts) -> list[str]:
    before = residue.take()
    # -B: as the shebang of the program says.
    command = [sys.executable, "-B", str(HERE / "run"), "--build", str(engine.node.build), "--only", Podman.name]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_container(process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return [f"left behind: {trace}" for trace in residue_of(process.pid, before)]


def wait_for_container(process: subprocess.Popen[bytes]) -> None:
    """Until a process runs in a cgroup that podman made for a container."""
    deadline = time.monotonic() + SECONDS
    groups = [hierarchy.folder for hierarchy in cgroups.hierarchies() if "devices" in hierarchy.controllers]
    top = cgroups.cluster_path(name_of(process.pid)).lstrip("/")
    while not any(has_container(Path(folder, top)) for folder in groups):
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure("no container of the other run was seen")
        time.sleep(0.01)


def has_container(top: Path) -> bool:
    """Groups come and go while it looks."""
    with contextlib.suppress(FileNotFoundError):
        return any(cgroups.processes(path) for path in top.rglob("libpod-*"))
    return False
