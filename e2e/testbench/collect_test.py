"""What is collected after a failure, from a cluster half of which does not answer."""

import subprocess
import tempfile
import types
import unittest
from pathlib import Path
from typing import Any

from support.shell import Failure

from testbench import collect
from testbench.verbs_test import done


class Machine:
    pid = 1
    cgroup = "/no-such-cluster/dgx"

    def __init__(self, logs: Path) -> None:
        self.logs = logs

    def programs(self) -> dict[str, Any]:
        raise Failure("dgx has died")


class Node:
    name = "dgx"

    def run(self, command: list[str], **_: Any) -> subprocess.CompletedProcess:
        return done(3, out="part of it", err="then an error") if command[0] == "ctr" else done(out="fine")


class Cluster:
    simulator = types.SimpleNamespace(tool="/bin/false", environment={})

    def __init__(self, logs: Path) -> None:
        self._machine = Machine(logs)
        self.nodes = {"dgx": Node()}

    def machines(self) -> dict[str, Machine]:
        return {"dgx": self._machine}

    def kubectl(self, *arguments: str, **_: Any) -> subprocess.CompletedProcess:
        if arguments[1] == "events":
            raise subprocess.TimeoutExpired("kubectl", 20)
        return done(out=" ".join(arguments))


class Collect(unittest.TestCase):
    def setUp(self) -> None:
        scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        logs = scratch / "logs"
        logs.mkdir()
        (logs / "kubelet.log").write_text("last words", encoding="utf-8")
        self.folder = collect.collect(Cluster(logs), scratch / "failed" / "now")

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8").strip()

    def test_objects_logs_and_the_nodes_answers_are_there(self) -> None:
        self.assertTrue(self.text("objects/pods.yaml").startswith("get pods --all-namespaces"))
        self.assertEqual(self.text("dgx/logs/kubelet.log"), "last words")
        self.assertEqual(self.text("dgx/nvidia-smi.txt"), "fine")
        self.assertIn(" / ", self.text("dgx/mounts.txt"))

    def test_what_fails_says_so_in_its_place(self) -> None:
        self.assertEqual(self.text("dgx/tasks.txt"), "part of itthen an error\n[exit status 3]")
        self.assertEqual(self.text("dgx/programs.txt"), "not collected: Failure: dgx has died")
        self.assertRegex(self.text("objects/events.yaml"), "not collected: TimeoutExpired: .* 20 seconds")
        self.assertEqual(self.text("dgx/simulated-machine.yaml"), "[exit status 1]")


if __name__ == "__main__":
    unittest.main()
