"""Runs programs with a deadline, and writes what they said into a log."""

import os
import shlex
import subprocess
import threading

# Set when the whole run is to end early: no new program is started.
stopping = threading.Event()


class Failure(Exception):
    """A judge refused, or answered something other than expected."""


class SetupError(Exception):
    """The judging itself cannot be done on this machine; says what to do about it."""


class Log:
    """The transcript of one judge on one profile: every command, its output, its exit status."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.path = path
        self._file = open(path, "w", encoding="utf-8", errors="replace")

    def write(self, text):
        self._file.write(text if text.endswith("\n") else text + "\n")
        self._file.flush()

    def close(self):
        self._file.close()


class NoLog:
    """For questions whose answer is all there is to say."""

    path = os.devnull

    def write(self, text):
        pass


def run(command, log, *, timeout=60, env=None, cwd=None, stdin=None):
    """Runs `command` to its end. A program that outlives `timeout` seconds is killed: a Failure."""
    if stopping.is_set():
        raise Failure("the run was interrupted")
    log.write("$ " + shlex.join(command))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        text=True,
        errors="replace",
        process_group=0,  # Not a session: the kernel gives each a share of the processors, whatever its niceness.
    )
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        kill_group(process)
        out, err = process.communicate()
        log.write(out + err)
        raise Failure(f"`{shlex.join(command)}` still ran after {timeout} s and was killed") from late
    except BaseException:
        kill_group(process)
        with process:  # closes its pipes and waits for it
            raise
    log.write(out + err + f"[exit {process.returncode}]")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def check(command, log, **options):
    """Like run(); anything but exit status 0 is a Failure that quotes the end of stderr."""
    done = run(command, log, **options)
    if done.returncode != 0:
        raise Failure(f"`{shlex.join(command)}` exited {done.returncode}: {last_words(done)}")
    return done


def last_words(done):
    lines = (done.stderr + done.stdout).strip().splitlines()
    return lines[-1] if lines else "(no output)"


def kill_group(process):
    """Ends a program started by us together with its children (it leads its own group)."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
