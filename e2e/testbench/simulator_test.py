"""A machine with simulated hardware, as nodes are: the driver is where a real machine has it."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from testbench import cgroups
from testbench.machine import SYSTEM_PATH, FileSystem, Machine
from testbench.simulator import Simulator

SECONDS = 60
BUILD = Path(os.environ.get("PARTITA_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")


class MachineWithGpus(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        cluster = f"unit-gpus-{os.getpid()}"
        self.addCleanup(cgroups.remove, cgroups.cluster_path(cluster))
        self.simulator = Simulator(BUILD, self.folder / "sim")
        self.simulator.check()
        self.addCleanup(self.simulator.remove_all)
        self.simulator.up("a", "h200-vm")
        self.machine = Machine(cluster, "a", self.folder / "a")
        self.addCleanup(self.machine.halt)
        self.boot()

    def boot(self) -> None:
        self.machine.boot(
            FileSystem(keep=[self.folder, BUILD / "bin"], folders={}, files={}), self.simulator.run_in_view("a"),
            {**self.simulator.environment, "PATH": SYSTEM_PATH},
        )

    def shell(self, script: str) -> str:
        done = subprocess.run(
            self.machine.enter(["sh", "-c", script]), capture_output=True, text=True, check=False,
            timeout=SECONDS, env={"PATH": SYSTEM_PATH},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_driver_is_at_the_usual_places(self) -> None:
        self.assertEqual(self.shell("command -v nvidia-smi"), "/usr/bin/nvidia-smi")
        self.assertIn("NVIDIA H200", self.shell("nvidia-smi -L"))
        self.assertIn("libcuda.so.1", self.shell("ldconfig -p"))

    def test_what_partita_keeps_is_the_machine_s_own_and_outlives_a_boot_where_it_should(self) -> None:
        self.shell("echo here | tee /run/partita/mark >/var/lib/partita/mark")
        self.machine.halt()
        self.simulator.reboot("a")
        self.boot()
        self.assertEqual(self.shell("cat /var/lib/partita/mark"), "here")
        self.assertEqual(self.shell("ls /run/partita"), "")


if __name__ == "__main__":
    unittest.main()
