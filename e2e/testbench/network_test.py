"""Wires between real machines without hardware."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.shell import SetupError
from testbench import addresses, cgroups, network
from testbench.machine import FileSystem, Machine


class Network(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        self.cluster = f"unit-{os.getpid()}"
        self.addCleanup(cgroups.remove, cgroups.cluster_path(self.cluster))
        self.plan = addresses.plan(["a", "b"])
        self.control_plane = self.machine("control-plane")
        network.set_up_control_plane(self.control_plane)
        self.nodes = {name: self.machine(name) for name in self.plan}
        for name in self.plan:
            self.connect(name)

    def machine(self, name: str) -> Machine:
        made = Machine(self.cluster, name, self.folder / name)
        self.addCleanup(made.halt)
        made.boot(FileSystem(keep=[self.folder], folders={}, files={}))
        return made

    def connect(self, name: str) -> None:
        others = [own for other, own in self.plan.items() if other != name]
        network.connect(self.control_plane, self.nodes[name], self.plan[name], others)

    def reaches(self, machine: Machine, address: str, seconds: int = 30) -> bool:
        """Nobody listens: a refusal came from there, silence from nowhere."""
        script = f"import socket; socket.create_connection(('{address}', 9), {seconds})"
        command = machine.enter(["/usr/bin/python3", "-c", script], ["net"])
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return "ConnectionRefusedError" in done.stderr

    def test_nodes_reach_the_api_and_each_other(self) -> None:
        a = self.nodes["a"]
        self.assertTrue(self.reaches(a, addresses.CONTROL_PLANE))
        self.assertTrue(self.reaches(a, addresses.API_SERVICE))
        self.assertTrue(self.reaches(a, self.plan["b"].address))

    def test_a_cut_cable_is_cut_until_it_is_restored(self) -> None:
        network.cut(self.control_plane, self.plan["a"])
        self.assertFalse(self.reaches(self.nodes["a"], addresses.CONTROL_PLANE, seconds=1))
        self.assertTrue(self.reaches(self.nodes["b"], addresses.CONTROL_PLANE))
        network.restore(self.control_plane, self.plan["a"])
        self.assertTrue(self.reaches(self.nodes["a"], addresses.CONTROL_PLANE))

    def test_a_node_can_be_plugged_in_again_before_its_old_cable_is_gone(self) -> None:
        self.nodes["a"] = self.machine("a2")  # the network of the first still lives
        self.connect("a")
        self.assertTrue(self.reaches(self.nodes["a"], addresses.CONTROL_PLANE))

    def test_a_wrong_command_is_quoted(self) -> None:
        with self.assertRaisesRegex(SetupError, '(?s)Cannot find device "nosuch".*in:\nlink set nosuch up'):
            network.ip(self.control_plane, "link set nosuch up\n")


if __name__ == "__main__":
    unittest.main()
