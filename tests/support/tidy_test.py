"""scripts/tidy in a repository of three files, with a clang-tidy that finds the word BAD and notes what it was given."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CLANG_TIDY = """#!/bin/sh
[ "$1" != --version ] || { echo version 1; exit; }
for file; do :; done
echo "$file" >>"$SCANNED"
! grep -n BAD "$file" src/base/*.h
"""
FILES = {
    ".clang-tidy": "Checks: '*'\n",
    "src/base/one.h": "",
    "src/base/one.cc": '#include "base/one.h"\n',
    "src/base/one_test.cc": '#include "base/one.h"\n',
    "src/base/two.cc": "",
}


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name, "repository")
        self.write("bin/clang-tidy", CLANG_TIDY).chmod(0o755)
        for name in ("scripts/tidy", "tests/support/cache.py", "tests/support/__init__.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.root / name)
        for name, text in FILES.items():
            self.write(name, text)
        self.configure()
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def configure(self, flags=""):
        commands = [
            {"file": f"{self.root}/{file}", "command": f"c++ {flags} -I{self.root}/src -o x.o -c {self.root}/{file}"}
            for file in FILES
            if file.endswith(".cc")
        ]
        self.write("build/compile_commands.json", json.dumps(commands))

    def git(self, *words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", *identity, *words], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True)

    def commit(self):
        self.git("add", "src", ".clang-tidy")
        self.git("commit", "-qm", "step")
        return self.git("rev-parse", "HEAD").stdout.strip()

    def tidy(self, *options):
        """What was scanned in which order, the last line that was said, and the exit status."""
        scanned = pathlib.Path(self.folder.name, "scanned")
        scanned.write_text("", encoding="utf-8")
        variables = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "PARTITA_CACHE": f"{self.folder.name}/cache",
            "SCANNED": str(scanned),
        }
        done = subprocess.run(
            [self.root / "scripts/tidy", "build", "1", *options], env=dict(os.environ, **variables), check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        names = [pathlib.Path(line).name for line in scanned.read_text(encoding="utf-8").split()]
        return names, done.stdout.splitlines()[-1].removeprefix("tidy: "), done.returncode

    def test_a_clean_file_is_scanned_once(self):
        names, said, status = self.tidy()
        self.assertEqual((len(names), status), (3, 0))
        self.assertEqual(said, "3 files in all, 0 known to be clean, scanning 3")
        self.assertEqual(self.tidy(), ([], "3 files in all, 3 known to be clean, scanning 0", 0))

    def test_a_finding_fails_until_it_is_gone(self):
        self.write("src/base/two.cc", "BAD\n")
        for _ in range(2):
            names, said, status = self.tidy()
            self.assertIn("two.cc", names)
            self.assertEqual((said.split(":")[0], status), (f"findings in 1 of {len(names)} files", 1))
        self.write("src/base/two.cc", "\n")
        self.assertEqual(self.tidy()[0::2], (["two.cc"], 0))

    def test_a_header_is_judged_with_all_that_include_it(self):
        self.tidy()
        self.write("src/base/one.h", "int one();\n")
        self.assertEqual(self.tidy()[0], ["one.cc", "one_test.cc"])

    def test_other_rules_or_another_command_judge_all_again(self):
        self.tidy()
        self.write(".clang-tidy", "Checks: 'bugprone-*'\n")
        self.assertEqual(len(self.tidy()[0]), 3)
        self.configure(flags="-DX")
        self.assertEqual(len(self.tidy()[0]), 3)

    def test_another_clone_of_the_same_tree_need_not_be_scanned(self):
        self.tidy()
        moved = self.root.with_name("clone")
        self.root.rename(moved)
        self.root = moved
        self.configure()
        self.assertEqual(self.tidy()[0], [])

    def test_the_newest_changes_come_first(self):
        self.write("src/base/two.cc", "\n")
        self.commit()
        self.assertEqual(self.tidy()[0][0], "two.cc")

    def test_what_there_is_no_time_for_is_counted_and_scanned_another_time(self):
        left = "left out 3 of these, the oldest: 0 seconds were over"
        self.assertEqual(self.tidy("--seconds", "0"), ([], left, 0))
        self.assertEqual(len(self.tidy("--seconds", "600")[0]), 3)

    def test_since_a_commit_counts_a_changed_header_and_the_work_tree(self):
        since = self.git("rev-parse", "HEAD").stdout.strip()
        self.write("src/base/one.h", "int one();\n")
        self.commit()
        self.write("src/base/two.cc", "\n")
        self.assertEqual(self.tidy("--since", since)[0::2], (["two.cc", "one.cc"], 0))

    def test_a_commit_that_is_not_here_is_an_error(self):
        names, said, status = self.tidy("--since", "0123abc")
        self.assertEqual((names, status), ([], 1))
        self.assertEqual(said, "this clone has no commit 0123abc: fetch it, or judge all (no --since)")

    def test_a_file_that_does_not_compile_is_a_finding(self):
        self.write("src/base/two.cc", '#include "base/none.h"\n')
        self.assertEqual(self.tidy("--since", "HEAD")[1:], ("findings in 1 of 1 files: src/base/two.cc", 1))

    def test_a_file_without_a_command_is_an_error(self):
        self.write("src/base/three.cc", "")
        self.git("add", "src")
        said = "no command in build for: src/base/three.cc; configure it again"
        self.assertEqual(self.tidy(), ([], said, 1))


if __name__ == "__main__":
    unittest.main()
