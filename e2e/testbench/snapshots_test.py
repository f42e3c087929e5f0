import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from testbench import snapshots
from testbench.snapshots import snapshotter


def mounts_below(folder: str) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if folder in line]


class Snapshots(unittest.TestCase):
    def test_overlays_are_used_where_they_can_be(self) -> None:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # a tmpfs can always be an upper half
            self.assertEqual(snapshotter(Path(folder)), snapshots.OVERLAY)
            self.assertEqual(mounts_below(folder), [])
            self.assertEqual(os.listdir(folder), [])

    def test_copies_are_used_on_an_overlay(self) -> None:
        """As in a container, whose own root is one."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            for name in ("lower", "upper", "work", "merged"):
                os.mkdir(f"{folder}/{name}")
            options = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
            subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, f"{folder}/merged"], check=True)
            try:
                self.assertEqual(snapshotter(Path(folder) / "merged"), snapshots.COPIES)
            finally:
                subprocess.run(["umount", f"{folder}/merged"], check=True)


if __name__ == "__main__":
    unittest.main()
