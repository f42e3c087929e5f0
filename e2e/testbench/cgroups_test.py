import os
import subprocess
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from testbench import cgroups

MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
"""


class Cgroups(unittest.TestCase):
    def test_every_hierarchy_is_found_once(self) -> None:
        found = cgroups.hierarchies(MOUNTS)
        names = [(str(one.folder).rpartition("/")[2], one.is_v2, "cpuset" in one.controllers) for one in found]
        self.assertEqual(names, [("cpuset", False, True), ("systemd", False, False), ("unified", True, False)])

    def test_two_nodes_or_clusters_never_share_a_group(self) -> None:
        self.assertEqual(cgroups.machine_path("c", "a"), "/partita-e2e/c/a")
        self.assertNotEqual(cgroups.machine_path("c", "a"), cgroups.machine_path("d", "a"))

    def setUp(self) -> None:
        self.cluster = f"unit-{os.getpid()}"
        self.path = cgroups.machine_path(self.cluster, "a")
        self.addCleanup(cgroups.remove, cgroups.cluster_path(self.cluster))
        self.child = subprocess.Popen(["sleep", "infinity"])
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)

    def groups(self) -> list[str]:
        lines = Path(f"/proc/{self.child.pid}/cgroup").read_text(encoding="utf-8").splitlines()
        return [line.split(":", 2)[2] for line in lines]

    def test_a_process_joins_in_every_hierarchy_and_ends_with_its_group(self) -> None:
        cgroups.join(self.path, self.child.pid)
        mounted = cgroups.hierarchies()
        self.assertEqual(self.groups().count(f"/partita-e2e/{self.cluster}/a/system"), len(mounted))
        cgroups.remove(cgroups.cluster_path(self.cluster))
        self.assertEqual(self.child.wait(), -9)
        folders = [one.folder / f"partita-e2e/{self.cluster}" for one in mounted]
        self.assertEqual([folder for folder in folders if folder.exists()], [])

    def test_a_group_that_another_removes_meanwhile_is_made_again(self) -> None:
        made: list[Path] = []

        def make_then_lose(*arguments: Any) -> Path:
            made.append(real(*arguments))
            if len(made) == 1:
                cgroups.remove_tree(made[0])
            return made[-1]

        real = cgroups.make_once
        with mock.patch.object(cgroups, "make_once", make_then_lose):
            cgroups.join_in(cgroups.hierarchies()[0], self.path, self.child.pid)
        self.assertEqual(len(made), 2)
        self.assertIn(f"/partita-e2e/{self.cluster}/a/system", self.groups())

    def test_removing_what_is_not_there_is_no_error(self) -> None:
        cgroups.remove(cgroups.cluster_path(f"unit-none-{os.getpid()}"))


if __name__ == "__main__":
    unittest.main()
