"""Run by ctest: python3 -m unittest discover, with tests/ on PYTHONPATH."""

import pathlib
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "compat"))

from cases import mig_parted
from support.refusal import check_refusal, check_whole
from support.shell import Failure, NoLog, run


def ended(script):
    return run(["sh", "-c", script], NoLog())


class Refusal(unittest.TestCase):
    def expect(self, message, script):
        with self.assertRaisesRegex(Failure, f"^{re.escape(message)}$"):
            check_refusal(ended(script), "no room")

    def test_status_and_reason_make_a_refusal(self):
        check_refusal(ended("echo there is no room >&2; exit 1"), "no room")
        check_refusal(ended("echo no room; exit 3"), "no room", status=3)

    def test_success_is_none(self):
        self.expect("exit 0, not a refusal with 1: no room", "echo no room")

    def test_another_reason_is_none(self):
        self.expect("it refused for another reason than 'no room': no such file", "echo no such file >&2; exit 1")

    def test_a_signal_is_none(self):
        self.expect("it did not end by itself: SIGSEGV: no room", "echo no room; kill -SEGV $$")
        self.expect("it did not end by itself: SIGABRT: no room", "sh -c 'kill -ABRT $$'; echo no room; exit 134")

    def test_a_trace_is_none(self):
        self.expect("it broke: panic: nil", "echo no room; echo 'panic: nil' >&2; exit 1")
        self.expect(
            "it broke: Traceback (most recent call last):",
            "echo no room; echo 'Traceback (most recent call last):'; exit 1",
        )

    def test_a_whole_program_may_end_with_any_status(self):
        check_whole(ended("exit 7"))


class Reference:
    """A node on which NVIDIA's editor ends so, whatever it is asked."""

    def __init__(self, status, stderr):
        self._end = subprocess.CompletedProcess([], status, "", stderr)

    def mig_parted(self, *_, **__):
        return self._end


class Compat(unittest.TestCase):
    """What the judge of `make compat` takes for a refusal."""

    def test_the_reference_says_no(self):
        mig_parted.refuses(Reference(1, 'level=fatal msg="... all orderings failed"'), "file", "label")

    def test_a_crash_of_it_is_no_refusal(self):
        for status, said in ((-11, ""), (2, "panic: nil\n\ngoroutine 1"), (1, "no such file")):
            with self.assertRaises(Failure):
                mig_parted.refuses(Reference(status, said), "file", "label")
            with self.assertRaises(Failure):
                mig_parted.assert_fails(Reference(status, said), "file", "label")


if __name__ == "__main__":
    unittest.main()
