"""Harnesses in processes of their own, and what is said when one does not end."""

import subprocess
import unittest
from unittest import mock

from support.shell import Failure

from testbench import verbs_bench
from testbench.verbs_bench import Harness

DEAF = "trap '' TERM; echo ready; read -r _"


class End(unittest.TestCase):
    def harness(self, script: str) -> Harness:
        pipe = subprocess.PIPE
        process = subprocess.Popen(["sh", "-c", script], stdin=pipe, stdout=pipe, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return Harness("own", process)

    def test_asks_and_waits(self) -> None:
        harness = self.harness("echo ready; read -r _")
        harness.end()
        self.assertEqual(harness.process.returncode, -15)

    def test_kills_what_does_not_end_and_says_so(self) -> None:
        harness = self.harness(DEAF)
        words = "the harness of own has not ended within 0 s and was killed; `e2e clean` removes what is left"
        with mock.patch.object(verbs_bench, "END_SECONDS", 0), self.assertRaisesRegex(Failure, words):
            harness.end()
        self.assertEqual(harness.process.returncode, -9)


if __name__ == "__main__":
    unittest.main()
