import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.shell import SetupError
from testbench import state
from testbench.state import StateFolder

BUILD = Path("/nowhere")  # without partita-sim, files are just removed

HOLD = """
import sys
from pathlib import Path
from testbench.state import StateFolder
StateFolder(sys.argv[1], root=Path(sys.argv[2])).claim(Path("/nowhere"))
print("claimed", flush=True)
sys.stdin.read()
"""


class State(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "clusters"
        self.name = f"unit-{os.getpid()}"
        self.state = StateFolder(self.name, root=self.root)

    def other_process(self) -> subprocess.Popen:
        """One that has claimed the cluster."""
        pipe = subprocess.PIPE
        path = os.pathsep.join(sys.path)
        child = subprocess.Popen(
            [sys.executable, "-B", "-c", HOLD, self.name, str(self.root)], stdin=pipe, stdout=pipe, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "claimed\n")
        return child

    def test_nothing_is_left_after_release(self) -> None:
        self.state.claim(BUILD)
        self.assertTrue(self.state.folder.is_dir())
        self.state.release(BUILD)
        self.assertFalse(self.root.exists())

    def test_a_cluster_lives_while_its_process_does(self) -> None:
        self.assertFalse(self.state.is_alive)
        child = self.other_process()
        self.assertTrue(self.state.is_alive)
        self.assertEqual(self.state.keeper().process, child.pid)
        child.kill()
        child.wait()
        self.assertFalse(self.state.is_alive)

    def test_a_name_is_taken_once(self) -> None:
        self.other_process()
        with self.assertRaises(SetupError) as caught:
            self.state.claim(BUILD)
        self.assertEqual(
            str(caught.exception),
            f"cluster {self.name} is running already; stop it with `e2e down --name {self.name}`, "
            "or choose another name with --name",
        )

    def test_asking_whether_a_lock_is_held_takes_none(self) -> None:
        path = self.held_by_nobody()
        with open(path, "r+b") as asking, open(path, "r+b") as taking:
            self.assertFalse(state.is_locked(asking.fileno()))
            self.assertTrue(state.lock(taking.fileno()))
            self.assertTrue(state.is_locked(asking.fileno()))

    def held_by_nobody(self) -> Path:
        child = self.other_process()
        child.kill()
        child.wait()
        return self.state.lock_path

    def test_what_a_killed_process_left_goes_with_the_next_claim(self) -> None:
        self.held_by_nobody()
        left = self.state.folder / "nodes" / "a"
        left.mkdir(parents=True)
        elsewhere = self.root.parent / "elsewhere"
        moved = StateFolder(self.name, elsewhere, self.root)
        moved.claim(BUILD)
        self.assertFalse(left.exists())
        self.assertTrue(elsewhere.is_dir())
        moved.release(BUILD)

    def test_clusters_are_known_with_their_folders(self) -> None:
        elsewhere = self.root.parent / "elsewhere"
        own = StateFolder(self.name, elsewhere, self.root)
        own.claim(BUILD)
        found = list(state.known(self.root))
        self.assertEqual([(one.cluster, one.folder, one.is_alive) for one in found], [(self.name, elsewhere, True)])
        own.release(BUILD)

    def test_facts_are_empty_until_published(self) -> None:
        self.state.claim(BUILD)
        self.assertEqual(self.state.facts(), {})
        self.state.publish({"nodes": {"a": "mixed"}})
        self.assertEqual(self.state.facts(), {"nodes": {"a": "mixed"}})
        self.state.release(BUILD)

    def test_names_that_are_no_host_names_are_refused(self) -> None:
        for name in ("", "A", "a_b", "-a", "a-", "a/b", "a" * 43):
            with self.subTest(name), self.assertRaises(SetupError):
                StateFolder(name, root=self.root)


if __name__ == "__main__":
    unittest.main()
