import errno
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

    def test_a_group_can_be_joined_in_every_hierarchy_and_goes_with_what_runs_in_it(self) -> None:
        cluster = f"unit-{os.getpid()}"
        joins = cgroups.make(cgroups.machine_path(cluster, "a"))
        self.addCleanup(cgroups.remove, cgroups.cluster_path(cluster))
        for descriptor in joins:
            self.addCleanup(os.close, descriptor)
        folders = [one.folder / f"partita-e2e/{cluster}" for one in cgroups.hierarchies()]
        self.assertEqual(len(joins), len(folders))
        script = 'for group; do echo 0 > "/proc/self/fd/$group" || exit 1; done; echo joined; read -r _'
        with subprocess.Popen(
            ["sh", "-c", script, "sh", *map(str, joins)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, pass_fds=joins,
        ) as child:
            self.assertEqual(child.stdout.readline(), "joined\n")
            groups = Path(f"/proc/{child.pid}/cgroup").read_text(encoding="utf-8").splitlines()
            own = f"/partita-e2e/{cluster}/a/system"
            self.assertTrue(all(line.endswith(f":{own}") for line in groups), groups)
            cgroups.remove(cgroups.cluster_path(cluster))
            self.assertEqual(child.wait(), -9)
        self.assertEqual([folder for folder in folders if folder.exists()], [])

    def test_making_survives_that_another_cluster_removes_the_common_group(self) -> None:
        hierarchy = cgroups.hierarchies()[0]
        path = cgroups.machine_path(f"unit-{os.getpid()}", "a")
        self.addCleanup(cgroups.remove, cgroups.cluster_path(f"unit-{os.getpid()}"))
        calls: list[str] = []

        def interrupted(*arguments: Any) -> Path:
            calls.append("made")
            if len(calls) == 1:
                raise FileNotFoundError(errno.ENOENT, "gone")
            return real(*arguments)

        real = cgroups.make_once
        with mock.patch.object(cgroups, "make_once", interrupted):
            os.close(cgroups.make_in(hierarchy, path))
        self.assertEqual(len(calls), 2)

    def test_removing_what_is_not_there_is_no_error(self) -> None:
        cgroups.remove(cgroups.cluster_path(f"unit-none-{os.getpid()}"))


if __name__ == "__main__":
    unittest.main()
