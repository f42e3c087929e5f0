"""The shell in a cluster: what it is started with, and when the cluster ends."""

import os
import subprocess
import tempfile
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from testbench import cluster_shell


class Cluster:
    name = "c"
    build = Path("/build")
    kubeconfig = Path("/its/kubeconfig")
    programs = {"kubectl": Path("/cache/kubectl")}

    def __init__(self, folder: Path, life: list[str]) -> None:
        self.folder, self._life = folder, life
        self.nodes = {"dgx": types.SimpleNamespace(name="dgx")}
        self.control_plane = types.SimpleNamespace(machine=types.SimpleNamespace(pid=7))

    def __enter__(self) -> "Cluster":
        self._life.append("start")
        return self

    def __exit__(self, *_: Any) -> None:
        self._life.append("stop")


class ClusterShell(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.life: list[str] = []
        self.enterContext(mock.patch.object(cluster_shell, "serve", lambda _, node: self.life.append(node.name)))
        self.enterContext(mock.patch.object(cluster_shell, "PARTITA"))
        self.enterContext(mock.patch.object(cluster_shell, "say", lambda _: None))
        self.enterContext(mock.patch.object(cluster_shell.subprocess, "run", self.note))

    def note(self, command: list[str], env: dict[str, str], check: bool) -> subprocess.CompletedProcess:
        self.life.append("shell")
        self.command, self.environment = command, env
        return subprocess.CompletedProcess(command, 3)

    def test_a_shell_runs_when_every_node_is_served_and_its_end_is_the_clusters(self) -> None:
        self.assertEqual(cluster_shell.run(Cluster(self.folder, self.life), ""), 0)
        self.assertEqual(self.life, ["start", "dgx", "shell", "stop"])
        start = ["nsenter", "--target=7", "--net", "--", "bash", "--rcfile"]
        self.assertEqual(self.command, [*start, str(self.folder / "shell" / "bashrc")])
        self.assertIn("PS1='[c] ", (self.folder / "shell" / "bashrc").read_text(encoding="utf-8"))

    def test_a_command_in_its_place_gives_its_exit_status(self) -> None:
        self.assertEqual(cluster_shell.run(Cluster(self.folder, self.life), "kubectl get nodes"), 3)
        self.assertEqual(self.command[-3:], ["bash", "-c", "kubectl get nodes"])
        self.assertEqual(self.environment["KUBECONFIG"], "/its/kubeconfig")
        self.assertTrue(self.environment["PATH"].startswith(f"{self.folder}/shell:/build/bin:"))

    def test_a_command_on_a_node_goes_to_this_cluster(self) -> None:
        folder = cluster_shell.make_programs(Cluster(self.folder, self.life))
        self.assertEqual(os.readlink(folder / "kubectl"), "/cache/kubectl")
        self.assertIn('shell --name c "$node" ${1:+--} "$@"', (folder / "on").read_text(encoding="utf-8"))
        self.assertTrue(os.access(folder / "on", os.X_OK))


if __name__ == "__main__":
    unittest.main()
