"""A program that says no is one thing, a program that broke is another."""

import signal

from support.shell import Failure, last_words

# What the run-time systems of Go, C, C++, Python and the sanitizers print when a program breaks.
BROKEN = (
    "panic: ", "goroutine ", "fatal error: ", "Traceback (most recent call last)", "terminate called",
    "Assertion `", "==ERROR: ", "runtime error: ", ": check failed: ",
)


def check_whole(done):
    """A Failure where the program broke, whatever it was asked."""
    status = done.returncode
    # A shell, or whoever else ran it for us, turns a signal into 128 and its number.
    number = -status if status < 0 else status - 128 if status > 128 else 0
    if number:
        names = {each.value: each.name for each in signal.Signals}
        raise Failure(f"it did not end by itself: {names.get(number, f'signal {number}')}: {last_words(done)}")
    said = done.stderr + done.stdout
    for word in BROKEN:
        if word in said:
            raise Failure(f"it broke: {said[said.index(word):].splitlines()[0]}")


def check_refusal(done, *reasons, status=1):
    """A Failure unless the program ended with that status and gave one of the reasons."""
    check_whole(done)
    if done.returncode != status:
        raise Failure(f"exit {done.returncode}, not a refusal with {status}: {last_words(done)}")
    if not any(reason in done.stderr + done.stdout for reason in reasons):
        raise Failure(f"it refused for another reason than {' or '.join(map(repr, reasons))}: {last_words(done)}")
