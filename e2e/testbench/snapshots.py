"""How containerd can keep the layers of images where a cluster has its files."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testbench import mounts

SECONDS = 60
OVERLAY, COPIES = "overlayfs", "native"


def snapshotter(folder: Path) -> str:
    """overlayfs where the file system of `folder` can be the upper half of one, else plain copies."""
    unshare = ["unshare", "--mount", "--propagation=unchanged", "--"]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [*unshare, sys.executable, "-B", "-m", "testbench.snapshots", os.path.realpath(scratch)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, env=environment)
    return OVERLAY if done.returncode == 0 else COPIES


def try_overlay(scratch: str) -> None:
    """In a mount namespace of its own."""
    root, lower, upper, work, merged = (f"{scratch}/{name}" for name in ("root", "lower", "upper", "work", "merged"))
    for folder in (root, lower, upper, work, merged):
        os.mkdir(folder)
    mounts.take_root(root)
    mounts.overlay(lower, upper, work, merged)


if __name__ == "__main__":
    try_overlay(sys.argv[1])
