"""A node's waits, on a machine and an API server that only answer."""

import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from testbench import addresses
from testbench.node import Node, Surroundings

RUNNING, ENDED = {"pid": 7, "exit": None}, {"pid": 7, "exit": 0}


class Containerd(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.asked: list[str] = []
        self.answers: list[dict[str, Any] | None] = [None, None, {"items": []}]
        control_plane = mock.Mock()
        control_plane.answers.return_value = True
        control_plane.api.object = self.answer
        self.node = Node("a", "mixed", Surroundings(
            cluster="c", folder=self.folder, control_plane=control_plane, pki=mock.Mock(), simulator=mock.Mock(),
            plan=addresses.plan(["a"]), snapshotter="native", base_spec={}, keep=[Path("/repository")], path=[],
            images=[], program=lambda name: Path(name), say=lambda text: None,
        ))
        self.node._around.simulator.folder = self.folder / "sim"
        self.node.machine = mock.Mock(folder=self.folder / "nodes" / "a")
        self.node.machine.exit_status.return_value = None
        self.node.run = lambda command: mock.Mock(returncode=0)

    def answer(self, path: str) -> dict[str, Any] | None:
        self.asked.append(path)
        return self.answers.pop(0)

    def start_beside(self, kubelet: dict[str, Any] | None) -> list[str]:
        """What the API server is asked when containerd starts while the kubelet is so."""
        self.node.machine.programs.return_value = {"kubelet": kubelet} if kubelet else {}
        self.node.start_containerd()
        return self.asked

    def test_its_start_waits_until_the_kubelet_has_found_it_again(self) -> None:
        self.assertEqual(self.start_beside(RUNNING), ["/api/v1/nodes/a/proxy/runningpods/"] * 3)

    def test_where_no_kubelet_runs_nobody_is_waited_for(self) -> None:
        self.assertEqual(self.start_beside(None), [])
        self.assertEqual(self.start_beside(ENDED), [])

    def test_of_the_cluster_a_node_sees_its_own_files_only(self) -> None:
        self.assertEqual(
            self.node._keep(), [Path("/repository"), self.folder / "nodes" / "a", self.folder / "sim" / "a"]
        )


if __name__ == "__main__":
    unittest.main()
