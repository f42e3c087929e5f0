"""Real machines without hardware: what runs in them, what they see, and what is left of them."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support.shell import Failure, SetupError
from testbench import cgroups, machine_boot
from testbench.machine import FileSystem, Machine

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
SECONDS = 60

HARNESS = """
import sys
from pathlib import Path
from testbench.machine import FileSystem, Machine
machine = Machine(sys.argv[1], "a", Path(sys.argv[2]))
machine.boot(FileSystem(keep=[Path(sys.argv[2])], folders={}, files={}))
machine.spawn("sleeper", ["sleep", "infinity"], {"PATH": "/usr/bin:/bin"})
print(machine.pid, flush=True)
sys.stdin.read()
"""


class MachineTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        self.cluster = f"unit-{os.getpid()}"
        self.addCleanup(cgroups.remove, cgroups.cluster_path(self.cluster))
        self.machine = Machine(self.cluster, "a", self.folder / "a")
        self.addCleanup(self.machine.halt)

    def boot(self, **parts) -> None:
        settings = {"keep": [self.folder], "folders": {}, "files": {}, **parts}
        self.machine.boot(FileSystem(**settings))

    def shell(self, script: str) -> str:
        done = subprocess.run(
            self.machine.enter(["sh", "-c", script]), capture_output=True, text=True, check=False, timeout=SECONDS
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def await_end(self, name: str) -> int:
        deadline = time.monotonic() + SECONDS
        while (status := self.machine.exit_status(name)) is None:
            self.assertLess(time.monotonic(), deadline, f"{name} still runs")
            time.sleep(0.01)
        return status

    def test_a_program_has_a_log_and_an_exit_status(self) -> None:
        self.boot()
        self.machine.spawn("one", ["sh", "-c", "echo hello $WHO; exit 3"], {**ENVIRONMENT, "WHO": "you"})
        self.assertEqual(self.await_end("one"), 3)
        self.assertEqual(self.machine.log_path("one").read_text(encoding="utf-8"), "hello you\n")

    def test_a_program_is_stopped_and_what_ignores_that_is_killed(self) -> None:
        self.boot()
        self.machine.spawn("good", ["sleep", "infinity"], ENVIRONMENT)
        self.assertEqual(self.machine.stop("good"), -signal.SIGTERM)
        stubborn = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"
        self.machine.spawn("bad", ["sh", "-c", stubborn], ENVIRONMENT)
        deadline = time.monotonic() + SECONDS
        while self.machine.log_path("bad").read_text(encoding="utf-8") != "deaf\n":
            self.assertLess(time.monotonic(), deadline, "it has not said that it is deaf")
            time.sleep(0.01)
        self.assertEqual(self.machine.stop("bad", seconds=0.2), -signal.SIGKILL)

    def test_one_name_runs_once(self) -> None:
        self.boot()
        self.machine.spawn("one", ["sleep", "infinity"], ENVIRONMENT)
        with self.assertRaisesRegex(Failure, "one runs already on a, as process"):
            self.machine.spawn("one", ["sleep", "infinity"], ENVIRONMENT)

    def test_a_program_that_is_not_there_is_an_error(self) -> None:
        self.boot()
        with self.assertRaisesRegex(Failure, "a: cannot spawn one: .*No such file.*nosuch"):
            self.machine.spawn("one", ["/nosuch"], ENVIRONMENT)
        with self.assertRaisesRegex(Failure, "no program 'two' was started on a"):
            self.machine.exit_status("two")

    def test_orphans_are_reaped(self) -> None:
        self.boot()
        self.machine.spawn("parent", ["sh", "-c", "sh -c 'echo $$' & wait"], ENVIRONMENT)
        self.await_end("parent")
        self.machine.spawn("gone", ["sh", "-c", "(sleep 0.01 &)"], ENVIRONMENT)
        self.await_end("gone")
        deadline = time.monotonic() + SECONDS
        while "Z" in self.shell("cat /proc/[0-9]*/stat | sed 's/.*) \\(.\\).*/\\1/'").split():
            self.assertLess(time.monotonic(), deadline, "a zombie stays")

    def test_what_it_writes_is_its_own(self) -> None:
        kept = self.folder / "disk"
        folders = [
            path for path in ("/etc", "/run", "/tmp", "/var/lib", "/opt", "/usr/local") if os.path.isdir(path)
        ]
        self.boot(folders={"/var/lib/unit": kept}, files={"/etc/unit/file": "text\n"})
        self.assertEqual(self.shell("hostname; cat /etc/unit/file"), "a\ntext\n")
        for folder in folders:
            self.shell(f"echo x > {folder}/{self.cluster}")
            self.assertFalse(os.path.exists(f"{folder}/{self.cluster}"), folder)
        self.shell("echo kept > /var/lib/unit/file")
        self.machine.halt()
        self.boot(folders={"/var/lib/unit": kept})
        self.assertEqual(self.shell("cat /var/lib/unit/file"), "kept\n")
        for folder in folders:
            self.assertEqual(self.shell(f"ls {folder} | grep -c {self.cluster} || :"), "0\n", folder)

    def test_a_setting_of_the_kernel_can_be_covered(self) -> None:
        path = "/proc/sys/kernel/random/boot_id"
        real = Path(path).read_text(encoding="utf-8")
        self.boot(covered={path: "mine\n", "/proc/sys/no/such/setting": "1\n"})
        self.assertEqual(self.shell(f"cat {path}"), "mine\n")
        self.assertEqual(Path(path).read_text(encoding="utf-8"), real)

    def test_halting_ends_everything_in_it(self) -> None:
        self.boot()
        self.machine.spawn("sleeper", ["sleep", "infinity"], ENVIRONMENT)
        init = self.machine.pid
        self.machine.halt()
        self.assertFalse(os.path.exists(f"/proc/{init}/ns/mnt"))
        self.assertEqual([join for join in self.groups() if join.exists()], [])

    def groups(self) -> list[Path]:
        return [one.folder / self.machine.cgroup.strip("/") for one in cgroups.hierarchies()]

    def test_a_machine_that_does_not_boot_says_why(self) -> None:
        with self.assertRaisesRegex(SetupError, "(?s)the machine a does not boot:.*No such file"):
            self.boot(keep=[Path("/no/such/folder")])

    def test_a_folder_that_the_host_lacks_is_not_layered(self) -> None:
        layers: list[str] = []
        with (
            mock.patch.object(machine_boot.os.path, "isdir", lambda path: path != "/opt"),
            mock.patch.object(machine_boot, "mounts") as mounts,
            mock.patch.object(machine_boot, "LAYERS", str(self.folder / "layers")),
        ):
            mounts.overlay.side_effect = lambda lower, *_: layers.append(lower)
            machine_boot.cover_folders()
        self.assertEqual(layers, ["/etc", "/usr/local", "/var"])

    def test_a_machine_that_died_is_a_failure_to_whoever_asks(self) -> None:
        self.boot()
        os.kill(self.machine.pid, signal.SIGKILL)
        self.machine._launcher.wait()
        for _ in range(2):  # the first may still find the socket open
            with self.assertRaisesRegex(Failure, "a has died; its last words"):
                self.machine.programs()

    def test_an_answer_that_is_late_never_answers_the_next_question(self) -> None:
        self.boot()
        late, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(theirs.close)
        self.machine._control.close()
        self.machine._control = late
        late.settimeout(0.05)
        with self.assertRaisesRegex(Failure, "the init of a has not answered"):
            self.machine.programs()
        with self.assertRaisesRegex(Failure, "a is not running"):
            self.machine.programs()

    def test_it_ends_with_its_harness_however_that_ends(self) -> None:
        child = subprocess.Popen(
            [sys.executable, "-B", "-c", HARNESS, self.cluster, str(self.folder / "a")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        init = int(child.stdout.readline())
        inside = cgroups.processes(self.groups()[0])
        self.assertEqual(len(inside), 3, "its launcher, its init and the sleeper")
        self.assertIn(init, inside)
        child.kill()
        deadline = time.monotonic() + SECONDS
        while left := [pid for pid in inside if is_running(pid)]:
            self.assertLess(time.monotonic(), deadline, f"processes {left} live on")
            time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    unittest.main()
