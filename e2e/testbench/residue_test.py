"""Each kind of residue is made, seen, named, and gone again."""

import contextlib
import os
import signal
import subprocess
import tempfile
import unittest
import uuid
from collections.abc import Iterator
from pathlib import Path

from testbench import residue

WAIT = "echo ready; read -r _"


@contextlib.contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen]:
    """A process that has said that it is ready, and lives as long as the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        try:
            line = child.stdout.readline()
            if line != "ready\n":
                raise RuntimeError(f"{command} said {line!r}")
            yield child
        finally:
            child.kill()


class Residue(unittest.TestCase):
    def setUp(self) -> None:
        self.mark = f"residue-{uuid.uuid4().hex[:12]}"
        self.before = residue.take()

    def left(self, kind: str) -> list[residue.Trace]:
        found = residue.left(self.before, residue.take(), self.mark)
        return [trace for trace in found if trace.kind == kind]

    def test_names_a_process_by_pid_and_command(self) -> None:
        with process(["sh", "-c", WAIT, self.mark]) as child:
            (trace,) = self.left("process")
            self.assertEqual(str(trace), f"process {child.pid} (sh -c {WAIT} {self.mark})")
        self.assertEqual(self.left("process"), [])

    def test_finds_a_child_of_ours_without_a_mark(self) -> None:
        with process(["sh", "-c", WAIT]) as child:
            self.assertIn(f"process {child.pid} (sh -c {WAIT})", map(str, self.left("process")))

    def orphan(self) -> str:
        """A process whose parent has ended: only its environment says whose it is. Returns its pid."""
        environment = {"PATH": os.environ["PATH"], "CLUSTER": self.mark}
        script = "sleep 1000 >/dev/null & echo $!"
        pid = subprocess.check_output(["sh", "-c", script], env=environment, text=True).strip()
        self.addCleanup(os.kill, int(pid), signal.SIGKILL)
        return pid

    def test_finds_a_marked_process_whose_parent_has_ended(self) -> None:
        pid = self.orphan()
        self.assertEqual([t.key.split("/")[0] for t in self.left("process")], [pid])

    def test_ignores_what_bears_another_mark(self) -> None:
        pid = self.orphan()
        found = residue.left(self.before, residue.take(), self.mark + "-other")
        self.assertNotIn(pid, [t.key.split("/")[0] for t in found if t.kind == "process"])

    def test_finds_a_mount_inside_another_mount_namespace(self) -> None:
        # In a chroot / is no mount, and cannot be made private: the mount may then show outside as well.
        script = f'mount --make-rprivate / 2>/dev/null; mount -t tmpfs tmpfs "$0" && {WAIT}'
        with tempfile.TemporaryDirectory(prefix=self.mark) as folder:
            command = ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script, folder]
            with process(command) as child:
                inside = os.readlink(f"/proc/{child.pid}/ns/mnt")
                (words,) = [t.words for t in self.left("mount") if inside in t.words]
                self.assertIn(f"tmpfs tmpfs on {folder} in {inside}, seen by process {child.pid} (sh -c", words)
            subprocess.run(["umount", folder], stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(self.left("mount"), [])

    def test_names_new_namespaces_and_who_holds_them(self) -> None:
        command = ["unshare", "--net", "--uts", "sh", "-c", WAIT, self.mark]
        with process(command) as child:
            found = {t.key.split(":")[0]: t.words for t in self.left("namespace")}
            self.assertEqual(sorted(found), ["net", "uts"])
            self.assertIn(f"held by process {child.pid} (sh -c", found["net"])
        self.assertEqual(self.left("namespace"), [])

    def test_finds_a_namespace_that_only_a_descriptor_holds(self) -> None:
        with process(["unshare", "--uts", "sh", "-c", WAIT, self.mark]) as child:
            held = os.open(f"/proc/{child.pid}/ns/uts", os.O_RDONLY)
            self.addCleanup(os.close, held)
            name = os.readlink(f"/proc/{child.pid}/ns/uts")
        everything = residue.left(self.before, residue.take())
        self.assertIn(name, [t.key for t in everything if t.kind == "namespace"])

    def test_finds_a_namespace_that_only_a_mount_holds(self) -> None:
        with tempfile.NamedTemporaryFile(prefix=self.mark) as file:
            with process(["unshare", "--uts", "sh", "-c", WAIT]) as child:
                name = os.readlink(f"/proc/{child.pid}/ns/uts")
                source = f"/proc/{child.pid}/ns/uts"
                subprocess.run(["mount", "--bind", source, file.name], check=True)
                self.addCleanup(subprocess.run, ["umount", file.name], stderr=subprocess.DEVNULL)
            self.assertIn(name, [t.key for t in self.left("namespace")])
            subprocess.run(["umount", file.name], check=True)
        self.assertEqual(self.left("namespace"), [])

    def test_finds_a_cgroup_in_every_hierarchy(self) -> None:
        folders = [Path(h) / self.mark / "pod" for h in residue.cgroup_hierarchies()]
        self.assertTrue(folders)
        for folder in folders:
            folder.mkdir(parents=True)
            self.addCleanup(lambda f=folder: (f.rmdir(), f.parent.rmdir()))
        wanted = sorted(f"cgroup {path}" for folder in folders for path in (folder.parent, folder))
        self.assertEqual(sorted(map(str, self.left("cgroup"))), wanted)

    def test_finds_a_marked_file_in_a_shared_folder(self) -> None:
        with tempfile.NamedTemporaryFile(prefix=self.mark, dir="/tmp") as file:
            self.assertEqual([t.words for t in self.left("file")], [file.name])
        self.assertEqual(self.left("file"), [])

    def test_counts_every_new_file_of_a_folder_that_only_nodes_write(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = {t.key for t in residue.file_traces([folder], [])}
            Path(folder, "cdi", "deep").mkdir(parents=True)
            new = [t for t in residue.file_traces([folder], []) if t.key not in before]
            self.assertEqual([t.words for t in new], [f"{folder}/cdi", f"{folder}/cdi/deep"])
            self.assertTrue(all(t.always for t in new))

    def test_waits_for_what_is_ending_and_names_what_stays(self) -> None:
        self.assertEqual(residue.settle(self.before, self.mark, seconds=0), [])
        with tempfile.TemporaryDirectory(prefix=self.mark, dir="/tmp") as folder:
            found = residue.settle(self.before, "other", self.mark, seconds=0)
            self.assertEqual(residue.describe(found), f"file {folder}")
            self.assertEqual(residue.settle(self.before, self.mark, seconds=0, kinds=["process", "mount"]), [])


if __name__ == "__main__":
    unittest.main()
