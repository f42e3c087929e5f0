"""Run by ctest: python3 -m unittest discover, with e2e/ and tests/ on PYTHONPATH."""

import hashlib
import io
import json
import os
import signal
import stat
import subprocess
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support.shell import SetupError
from testbench import images

DEADLINE_SECONDS = 20


def opened(archive: bytes) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(archive))


def blob(archive: tarfile.TarFile, descriptor: dict) -> bytes:
    algorithm, value = descriptor["digest"].split(":")
    return archive.extractfile(f"blobs/{algorithm}/{value}").read()


class Tar(unittest.TestCase):
    def test_lists_parents_first_and_says_nothing_of_time_or_user(self) -> None:
        members = opened(images.tar([images.file("b/c/d", b"x", 0o755), images.file("a", b"")])).getmembers()
        self.assertEqual([member.name for member in members], ["a", "b", "b/c", "b/c/d"])
        self.assertEqual({(member.mtime, member.uid, member.uname) for member in members}, {(0, 0, "")})
        self.assertEqual([member.mode for member in members], [0o644, 0o755, 0o755, 0o755])

    def test_keeps_a_folder_that_is_named_itself(self) -> None:
        members = opened(images.tar([images.file("tmp/x", b""), images.folder("tmp", 0o1777)])).getmembers()
        self.assertEqual([(member.name, member.mode) for member in members], [("tmp", 0o1777), ("tmp/x", 0o644)])

    def test_does_not_depend_on_the_order_of_entries(self) -> None:
        entries = [images.file("a", b"1"), images.link("b", "/a"), images.folder("c")]
        self.assertEqual(images.tar(entries), images.tar(reversed(entries)))


class Archive(unittest.TestCase):
    def setUp(self) -> None:
        self.layer = images.tar([images.file("program", b"content", 0o755)])
        self.archive = opened(images.archive("partita.test/x:1", self.layer, {"Cmd": ["/program"]}))

    def read(self, name: str) -> dict:
        return json.load(self.archive.extractfile(name))

    def test_names_the_image_as_containerd_reads_it(self) -> None:
        self.assertEqual(self.read("oci-layout"), {"imageLayoutVersion": "1.0.0"})
        (reference,) = self.read("index.json")["manifests"]
        self.assertEqual(reference["annotations"], {"io.containerd.image.name": "partita.test/x:1"})

    def test_leads_from_the_index_to_the_layer(self) -> None:
        manifest = json.loads(blob(self.archive, self.read("index.json")["manifests"][0]))
        config = json.loads(blob(self.archive, manifest["config"]))
        self.assertEqual(config["config"], {"Cmd": ["/program"]})
        self.assertEqual(config["rootfs"]["diff_ids"], [manifest["layers"][0]["digest"]])
        self.assertEqual(blob(self.archive, manifest["layers"][0]), self.layer)
        self.assertEqual(manifest["layers"][0]["size"], len(self.layer))

    def test_names_every_blob_by_its_digest(self) -> None:
        blobs = [name for name in self.archive.getnames() if name.startswith("blobs/sha256/")]
        self.assertEqual(len(blobs), 3)
        for name in blobs:
            content = self.archive.extractfile(name).read()
            self.assertEqual(os.path.basename(name), hashlib.sha256(content).hexdigest())


class Made(unittest.TestCase):
    """The images themselves, in a cache of their own."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.enterClassContext(cls.scratch)
        cls.enterClassContext(mock.patch.dict(os.environ, PARTITA_CACHE=cls.scratch.name))
        cls.archives = images.archives()

    def root_of(self, path: Path) -> tarfile.TarFile:
        archive = opened(path.read_bytes())
        manifest = json.loads(blob(archive, json.load(archive.extractfile("index.json"))["manifests"][0]))
        return opened(blob(archive, manifest["layers"][0]))

    def test_are_made_once(self) -> None:
        before = [path.stat() for path in self.archives]
        self.assertEqual([path.stat() for path in images.archives()], before)

    def test_are_the_same_bytes_when_made_again(self) -> None:
        with tempfile.TemporaryDirectory() as other, mock.patch.dict(os.environ, PARTITA_CACHE=other):
            again = [path.read_bytes() for path in images.archives()]
        self.assertEqual(again, [path.read_bytes() for path in self.archives])

    def test_hold_one_program_and_a_shell_with_tools(self) -> None:
        pause, shell, cuda = (self.root_of(path) for path in self.archives)
        self.assertEqual(pause.getnames(), ["pause"])
        for name in ("bin/sh", "bin/ls", "bin/mknod", "bin/cat", "bin/stat"):
            self.assertEqual(shell.getmember(name).linkname, "/bin/busybox", name)
        self.assertEqual(shell.getmember("bin/busybox").mode, 0o755)
        self.assertIn(b"root:x:0:0:", shell.extractfile("etc/passwd").read())
        self.assertEqual(set(cuda.getnames()) - set(shell.getnames()) - {"lib", "lib64"}, {
            "lib64/ld-linux-x86-64.so.2", *(f"lib/{name}" for name in images.LIBRARIES), "usr/bin/cuda-client",
        })

    def test_the_program_for_cuda_needs_no_library_that_its_image_lacks(self) -> None:
        program = os.path.join(self.scratch.name, "cuda-client")
        Path(program).write_bytes(self.root_of(self.archives[2]).extractfile("usr/bin/cuda-client").read())
        os.chmod(program, stat.S_IRWXU)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        needed = {line.split()[0] for line in listed.splitlines() if "linux-vdso" not in line}
        self.assertEqual({os.path.basename(name) for name in needed} - set(images.LIBRARIES), set())
        said = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertRegex(said.stdout, r"libcuda\.so\.1|^init: ", "where the driver has none, that is all it misses")

    def test_an_image_of_one_program_has_what_that_needs(self) -> None:
        made = images.archive_of("partita.test/cat:1", Path("/bin/cat"))
        self.assertEqual(made, images.archive_of("partita.test/cat:1", Path("/bin/cat")))
        root = self.root_of(made)
        self.assertEqual(root.getmember("usr/bin/cat").mode, 0o755)
        self.assertTrue({f"lib/{name}" for name in images.LIBRARIES} <= set(root.getnames()))

    def test_pause_reaps_and_ends_when_asked_to(self) -> None:
        program = os.path.join(self.scratch.name, "pause")
        Path(program).write_bytes(self.root_of(self.archives[0]).extractfile("pause").read())
        os.chmod(program, stat.S_IRWXU)
        # The shell's child becomes pause's, as a container's orphan becomes that of process 1.
        process = subprocess.Popen(["/bin/sh", "-c", f"cat & exec {program}"], stdin=subprocess.PIPE)
        try:
            process.stdin.close()
            self.assertTrue(until(lambda: runs(process.pid, "pause") and not children(process.pid)))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE_SECONDS), 0)
        finally:
            process.kill()
            process.wait()


def runs(pid: int, name: str) -> bool:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == name


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()


def until(condition) -> bool:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


class StaticProgram(unittest.TestCase):
    def test_missing_says_what_to_install(self) -> None:
        with self.assertRaises(SetupError) as caught:
            images.static_program("no-such-busybox", "busybox-static")
        self.assertEqual(
            str(caught.exception), "no no-such-busybox found on PATH; install Debian's busybox-static"
        )

    def test_with_shared_libraries_is_refused(self) -> None:
        with self.assertRaises(SetupError) as caught:
            images.static_program("cat", "busybox-static")
        self.assertRegex(str(caught.exception), r"/cat needs shared libraries; install Debian's busybox-static")


if __name__ == "__main__":
    unittest.main()
