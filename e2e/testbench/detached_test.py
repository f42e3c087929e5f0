"""A cluster that is kept in the background, with a cluster that is none."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from testbench import detached

SECONDS = 60

KEEPER = """
import signal, sys, time
from pathlib import Path
from support.shell import Failure, SetupError
from testbench import detached

class Cluster:
    name, folder, nodes = "c", Path("/nowhere"), {}

    def __enter__(self):
        print("starting", flush=True)
        {body}

    def __exit__(self, *_):
        pass

sys.exit(detached.keep_in_background(Cluster()))
"""


class Background(unittest.TestCase):
    def keeper(self, body: str, ignored: signal.Signals | None = None) -> subprocess.Popen[str]:
        program = KEEPER.replace("{body}", body)
        if ignored:
            program = f"import signal; signal.signal({ignored.value}, signal.SIG_IGN)" + program
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", program], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def test_what_goes_wrong_there_is_said_here(self) -> None:
        for body, status, words in (
            ("raise SetupError('no room')", 3, "e2e: no room"),
            ("raise Failure('no luck')", 1, "e2e: no luck"),
            ("raise KeyError('defect')", 1, "KeyError: 'defect'"),
        ):
            with self.subTest(body):
                process = self.keeper(body)
                out, _ = process.communicate(timeout=SECONDS)
                self.assertEqual(process.returncode, status, out)
                self.assertIn(words, out)

    def test_a_signal_while_it_starts_ends_it_too(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for ignored in (None, number):
                with self.subTest(number=number, ignored=ignored):
                    process = self.keeper(f"signal.alarm({2 * SECONDS})\n        while True: time.sleep(0.05)", ignored)
                    self.assertEqual(process.stdout.readline(), "starting\n")
                    process.send_signal(number)
                    out, _ = process.communicate(timeout=SECONDS)
                    self.assertEqual(
                        (process.returncode, out), (1, "cluster c has ended, and nothing of it is left\n"))


class End(unittest.TestCase):
    def test_a_keeper_that_has_ended_by_itself_is_no_error(self) -> None:
        ended = subprocess.Popen(["true"])
        ended.wait()
        state = mock.Mock(cluster="c", is_alive=False)
        state.keeper.return_value = mock.Mock(process=ended.pid, folder=Path("/nowhere"))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            detached.end(state)
        self.assertEqual(out.getvalue(), "cluster c has ended\n")

    def test_an_end_before_the_cluster_is_ready_is_a_failure(self) -> None:
        class Interrupted:
            name = "c"

            def __enter__(self) -> None:
                detached.end_now()

            def __exit__(self, *_: object) -> None:
                raise AssertionError("it never started")

        with contextlib.redirect_stdout(io.StringIO()), mock.patch.object(detached.signal, "signal"):
            self.assertEqual(detached.keep(Interrupted()), 1)


if __name__ == "__main__":
    unittest.main()
