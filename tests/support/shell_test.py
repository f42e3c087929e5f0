"""Run by ctest: python3 -m unittest discover, with tests/ on PYTHONPATH."""

import subprocess
import unittest
from unittest import mock

from support.shell import Failure, NoLog, check, run


class Run(unittest.TestCase):
    def test_a_failure_quotes_the_last_words(self):
        with self.assertRaises(Failure) as caught:
            check(["sh", "-c", "echo one >&2; echo two >&2; exit 3"], NoLog())
        self.assertEqual(
            str(caught.exception), "`sh -c 'echo one >&2; echo two >&2; exit 3'` exited 3: two"
        )

    def test_an_interrupted_wait_ends_the_program(self):
        waited_for = []

        def interrupted(process, *_, **__):
            waited_for.append(process)
            raise KeyboardInterrupt

        with mock.patch.object(subprocess.Popen, "communicate", interrupted):
            with self.assertRaises(KeyboardInterrupt):
                run(["sleep", "60"], NoLog())
        self.assertEqual([process.returncode for process in waited_for], [-9])


if __name__ == "__main__":
    unittest.main()
