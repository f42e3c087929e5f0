"""The script of `make mutants` on a tree of a few lines, which needs no compiler."""

import fcntl
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).with_name("run")

CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES NONE)
enable_testing()
foreach(name small large)
  add_test(NAME ${name} COMMAND sh ${CMAKE_SOURCE_DIR}/${name}_test.sh)
endforeach()
"""
PRESETS = """\
{"version": 6, "configurePresets": [
  {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
"""
PRODUCT = """\
size() {
  if [ "$1" -lt 10 ]; then echo small; return; fi
  if [ "$1" -gt 1000 ]; then echo absurd; return; fi
  echo large
}
"""
TESTS = {
    "small_test.sh": '. "$(dirname "$0")/product.sh"; [ "$(size 9)" = small ]',
    "large_test.sh": '. "$(dirname "$0")/product.sh"; [ "$(size 10)" = large ]',
}


def mutant(name, test, old, new):
    return f"== {name}\nfile: product.sh\ntest: {test}\nold: {old}\nnew: {new}\n\n"


NOTICED = mutant("smaller", "^small$", "-lt 10", "-lt 9")
NOTICED_BY_ANOTHER = mutant("not smaller", "^small$", "-lt 10 ]", "-lt 11 ]")
UNNOTICED = mutant("never absurd", "^large$", "-gt 1000", "-gt 2000")


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name) / "tree"
        (self.tree / "tests/mutants").mkdir(parents=True)
        for name, text in {
            "CMakeLists.txt": CMAKE, "CMakePresets.json": PRESETS, "product.sh": PRODUCT,
            ".gitignore": "/build/\n", **TESTS,
        }.items():
            (self.tree / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", self.tree], check=True)

    def run_on(self, *lists, words=()):
        for number, text in enumerate(lists):
            (self.tree / f"tests/mutants/{number}.list").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, RUN, "--source", self.tree, "--jobs", "1", *words],
            capture_output=True, text=True, check=False,
        )

    def expect(self, done, status, *lines):
        self.assertEqual((done.returncode, done.stdout.splitlines()), (status, list(lines)), done.stderr)

    def test_a_mutant_that_a_test_notices_passes(self):
        self.expect(self.run_on(NOTICED), 0, "ok   smaller: small noticed", "1 of 1 noticed")
        self.assertEqual((self.tree / "product.sh").read_text(encoding="utf-8"), PRODUCT, "the tree was changed")

    def test_a_survivor_fails_by_name_and_the_others_are_still_tried(self):
        self.expect(
            self.run_on(UNNOTICED, NOTICED), 1,
            "FAIL never absurd: SURVIVED: product.sh: no test noticed `-gt 2000` for `-gt 1000`",
            "ok   smaller: small noticed",
            "survivors: never absurd",
            "1 of 2 noticed",
        )

    def test_another_test_than_the_named_one_may_notice(self):
        self.expect(
            self.run_on(NOTICED_BY_ANOTHER), 0, "ok   not smaller: large noticed, not ^small$", "1 of 1 noticed"
        )

    def test_in_a_hurry_only_the_named_one_is_asked(self):
        self.expect(
            self.run_on(NOTICED_BY_ANOTHER, words=["--quick"]), 1,
            "FAIL not smaller: SURVIVED: product.sh: not ^small$ noticed `-lt 11 ]` for `-lt 10 ]`",
            "survivors: not smaller",
            "0 of 1 noticed",
        )

    def test_each_begins_from_the_tree_as_it_is(self):
        both = mutant("one", "^small$", "-lt 10", "-lt 5") + mutant("two", "^small$", "echo small", "echo none")
        self.expect(
            self.run_on(both), 0, "ok   one: small noticed", "ok   two: small noticed", "2 of 2 noticed"
        )
        (self.tree / "product.sh").write_text(PRODUCT.replace("1000", "3000"), encoding="utf-8")
        done = self.run_on(mutant("three", "^large$", "-gt 3000", "-gt 1"))
        self.expect(done, 0, "ok   three: large noticed", "1 of 1 noticed")

    def test_whoever_works_on_the_tree_meanwhile_does_not_change_the_run(self):
        changes = f"echo 'size() {{ echo small; }}' >{self.tree}/product.sh\n"
        (self.tree / "small_test.sh").write_text(changes + TESTS["small_test.sh"], encoding="utf-8")
        both = mutant("one", "^small$", "-lt 10", "-lt 5") + mutant("two", "^large$", "-lt 10", "-lt 20")
        self.expect(
            self.run_on(both, words=["--quick"]), 0, "ok   one: small noticed", "ok   two: large noticed",
            "2 of 2 noticed",
        )

    def test_a_text_that_is_no_longer_there_is_an_error(self):
        done = self.run_on(mutant("stale", "^small$", "-lt 11 ]", "-lt 9 ]"), words=["--list"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("0.list:1: product.sh has this 0 times, not once: -lt 11 ]", done.stderr)

    def test_a_text_that_is_there_twice_is_an_error(self):
        done = self.run_on(mutant("twice", "^small$", "return", "true"), words=["--list"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("has this 2 times, not once: return", done.stderr)

    def test_indentation_may_make_a_text_the_only_one(self):
        (self.tree / "product.sh").write_text(PRODUCT + "if true; then\n    echo large\nfi\n", encoding="utf-8")
        self.expect(
            self.run_on(mutant("deep", "^large$", "    echo large", "    echo none"), words=["--list"]), 0,
            "deep  (product.sh)",
        )
        self.assertEqual(self.run_on(mutant("any", "^large$", "echo large", "echo none"), words=["--list"]).returncode, 2)

    def test_a_list_that_lacks_something_is_an_error(self):
        done = self.run_on("== half\nfile: product.sh\nold: x\n", words=["--list"])
        self.assertEqual((done.returncode, done.stderr.split(": ", 2)[2]), (2, "without test, new\n"))

    def test_a_test_that_fails_without_any_change_is_an_error(self):
        (self.tree / "small_test.sh").write_text("false\n", encoding="utf-8")
        done = self.run_on(NOTICED)
        self.assertEqual((done.returncode, done.stderr), (2, "mutants: small fails without any change\n"))

    def test_a_test_that_does_not_exist_is_an_error(self):
        done = self.run_on(mutant("nobody's", "^none$", "-lt 10", "-lt 9"))
        self.assertEqual((done.returncode, done.stderr), (2, "mutants: no test matches ^none$\n"))
        done = self.run_on(words=["--quick"])
        self.assertEqual((done.returncode, done.stderr), (2, "mutants: no test matches ^none$\n"))

    def test_who_is_in_a_hurry_has_seen_the_tests_green(self):
        (self.tree / "small_test.sh").write_text("false\n", encoding="utf-8")
        self.expect(self.run_on(NOTICED, words=["--quick"]), 0, "ok   smaller: small noticed", "1 of 1 noticed")

    def test_who_is_in_a_hurry_builds_no_other_test_program(self):
        programs = "".join(
            f"add_custom_command(OUTPUT bin/{name} COMMAND {command})\n"
            f"add_custom_target(make_{name} ALL DEPENDS ${{CMAKE_BINARY_DIR}}/bin/{name})\n"
            for name, command in (("partita_small_test", "touch bin/partita_small_test"), ("partita_large_test", "false"))
        )
        (self.tree / "CMakeLists.txt").write_text(CMAKE + programs, encoding="utf-8")
        self.expect(self.run_on(NOTICED, words=["--quick"]), 0, "ok   smaller: small noticed", "1 of 1 noticed")
        self.assertIn("the tree does not build", self.run_on(NOTICED).stderr)

    def test_two_runs_do_not_share_a_copy(self):
        scratch = self.tree / "build/mutants"
        scratch.mkdir(parents=True)
        with open(scratch / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.run_on(NOTICED)
        self.assertEqual(done.returncode, 2)
        self.assertIn("another run uses ", done.stderr)

    def test_some_can_be_chosen(self):
        many = "".join(mutant(f"m{i}", "^small$", "-lt 10", f"-lt {100 + i}") for i in range(12))
        done = self.run_on(many, words=["--list", "--tenth", "21"])
        self.expect(done, 0, "m1  (product.sh)", "m11  (product.sh)")
        self.expect(self.run_on(words=["--list", "--only", "m3"]), 0, "m3  (product.sh)")
        done = self.run_on(words=["--only", "none"])
        self.assertEqual((done.returncode, done.stderr), (2, "mutants: no such mutant: none; --list shows them\n"))

    def test_those_of_some_files_can_be_chosen(self):
        names = ("one/a.sh", "one/b.sh", "two.sh")
        for name in names:
            (self.tree / name).parent.mkdir(exist_ok=True)
            (self.tree / name).write_text(PRODUCT, encoding="utf-8")
        many = "".join(mutant(f"in {name}", "^small$", "-lt 10", "-lt 9").replace("product.sh", name) for name in names)
        done = self.run_on(many, words=["--list", "--file", "one/", "--file", "two"])
        self.expect(done, 0, *(f"in {name}  ({name})" for name in names))
        self.expect(self.run_on(words=["--list", "--file", "one/b"]), 0, "in one/b.sh  (one/b.sh)")
        self.expect(self.run_on(words=["--list", "--file", "one/", "--tenth", "1"]), 0, "in one/b.sh  (one/b.sh)")
        done = self.run_on(words=["--list", "--file", "one/", "--file", "three"])
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "mutants: no mutant of a file that begins with three; --list shows them\n"),
        )


if __name__ == "__main__":
    unittest.main()
