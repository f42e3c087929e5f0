import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support.shell import SetupError
from testbench import cluster as clusters
from testbench import node_files
from testbench.cluster import Cluster
from testbench.state import StateFolder


class Environment(unittest.TestCase):
    def test_no_proxy_of_the_caller_stands_before_the_cluster(self) -> None:
        environment = clusters.kubectl_environment(Path("/c"), Path("/c/admin"))
        for name in ("NO_PROXY", "no_proxy"):
            self.assertIn("10.64.0.0/16", environment[name].split(","))


class CheckMachine(unittest.TestCase):
    def test_a_missing_file_of_debian_names_its_package(self) -> None:
        for file, package in ((node_files.RUNC, "runc"), ("/usr/lib/cni/bridge", "containernetworking-plugins")):
            access = os.access
            without = mock.patch.object(os, "access", lambda path, mode: path != file and access(path, mode))
            with self.subTest(file), without, self.assertRaisesRegex(SetupError, f"Debian packages: .*{package}"):
                clusters.check_machine()


class FailedStart(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        for where, name, value in (
            (clusters, "check_machine", lambda: None), (clusters, "FAILURES", self.folder / "failed"),
        ):
            patch = mock.patch.object(where, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def fail_with(self, error: Exception) -> str:
        """What a start says in which, after a machine has written a log, `error` happens."""
        cluster = Cluster(f"unit-{os.getpid()}", {}, self.folder / "state", build=self.folder, say=lambda _: None)
        cluster._state = StateFolder(cluster.name, cluster.folder, root=self.folder / "locks")

        def begin() -> None:
            machine = clusters.Machine(cluster.name, "a", cluster.folder / "a")
            cluster._machines = {"a": machine}
            machine.log_path("kubelet").write_text("last words\n", encoding="utf-8")
            raise error

        with mock.patch.object(cluster, "_start", begin), self.assertRaises(SetupError) as raised:
            cluster.start()
        self.assertFalse(cluster.folder.exists())
        return str(raised.exception)

    def test_the_state_of_everything_is_kept_whatever_happened(self) -> None:
        for error in (SetupError("no"), subprocess.TimeoutExpired(["ctr"], 5), KeyError("defect")):
            with self.subTest(type(error).__name__):
                words = self.fail_with(error)
                kept = Path(words.rpartition("the state of everything: ")[2])
                text = (kept / "a" / "logs" / "kubelet.log").read_text(encoding="utf-8")
                self.assertEqual(text.strip(), "last words")

    def test_a_defect_of_the_bench_shows_its_place(self) -> None:
        self.assertRegex(self.fail_with(KeyError("defect")), r"(?s)Traceback.*cluster_test\.py.*KeyError: 'defect'")


if __name__ == "__main__":
    unittest.main()
