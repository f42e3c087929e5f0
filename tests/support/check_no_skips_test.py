"""scripts/check-no-skips after a real run of ctest, on a project of a few lines."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-no-skips"

HEAD = "cmake_minimum_required(VERSION 3.25)\nproject(fake LANGUAGES NONE)\nenable_testing()\n"
PASSES = "add_test(NAME passes COMMAND echo fine)\n"
SCRIPT_SKIPS = """\
add_test(NAME boot/one COMMAND sh -c "echo 'SKIPPED: no root' >&2; exit 77")
set_tests_properties(boot/one PROPERTIES SKIP_RETURN_CODE 77)
"""
SILENT_SKIP = 'add_test(NAME quiet COMMAND sh -c "exit 77")\nset_tests_properties(quiet PROPERTIES SKIP_RETURN_CODE 77)\n'
# As long as that of a real program: ctest cuts what passed tests said in its JUnit file.
PROGRAM_SKIPS = """\
add_test(NAME base COMMAND sh -c "seq 9999
echo '[  SKIPPED ] Files.Mounts (3 ms)'
echo '[  SKIPPED ] 1 test, listed below:'
echo '[  SKIPPED ] Files.Mounts'")
"""
UNITTEST_SKIPS = """add_test(NAME python COMMAND echo "OK (skipped=2)")\n"""


class CheckNoSkips(unittest.TestCase):
    def check(self, tests, ci="true"):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CMakeLists.txt").write_text(HEAD + PASSES + tests, encoding="utf-8")
            quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder], **quiet)
            subprocess.run(["ctest", "--test-dir", folder, "-j2", "--output-junit", f"{folder}/junit.xml"], **quiet)
            done = subprocess.run(
                [SCRIPT, folder, f"{folder}/junit.xml"], env=dict(os.environ, CI=ci), check=False,
                capture_output=True, text=True,
            )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_nothing_skipped_is_nothing_said(self):
        self.assertEqual(self.check(""), (0, []))

    def test_a_script_that_skips_fails_ci_by_name(self):
        status, lines = self.check(SCRIPT_SKIPS)
        self.assertEqual((status, lines[0]), (1, "skipped: boot/one: SKIPPED: no root"))

    def test_a_skip_without_a_word_counts(self):
        status, lines = self.check(SILENT_SKIP)
        self.assertEqual((status, lines[0]), (1, "skipped: quiet: notrun"))

    def test_a_part_that_a_program_skips_counts(self):
        status, lines = self.check(PROGRAM_SKIPS)
        self.assertEqual((status, lines[0]), (1, "skipped: base: [  SKIPPED ] Files.Mounts"))

    def test_what_unittest_skips_counts(self):
        status, lines = self.check(UNITTEST_SKIPS)
        self.assertEqual((status, lines[0]), (1, "skipped: python: OK (skipped=2)"))

    def test_what_was_never_registered_is_named_and_no_failure(self):
        told = 'file(WRITE "${CMAKE_BINARY_DIR}/not-registered.txt" "cli/two: no cgroup v1 here\\n")\n'
        self.assertEqual(self.check(told), (0, ["not registered here: cli/two: no cgroup v1 here"]))

    def test_elsewhere_it_is_said_and_no_failure(self):
        status, lines = self.check(SCRIPT_SKIPS, ci="")
        self.assertEqual((status, len(lines)), (0, 2))


if __name__ == "__main__":
    unittest.main()
