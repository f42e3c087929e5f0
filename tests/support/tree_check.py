"""A script of scripts/ that checks a tree of sources, on a small tree."""

import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class TreeCheck(unittest.TestCase):
    script = ""  # its name

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def check(self):
        done = subprocess.run(
            [SOURCE / "scripts" / self.script, self.root], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr.strip()
