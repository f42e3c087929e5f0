"""Waiting that says what it waits for, and on failure shows the log of what is missing."""

import time
from collections.abc import Callable

from support.shell import SetupError

POLL_SECONDS = 0.1
SAY_SECONDS = 1.0


class Progress:
    """Prints lines with the seconds since the start."""

    def __init__(self, say: Callable[[str], None] = print) -> None:
        self._say = say
        self._start = time.monotonic()

    def __call__(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._start:6.1f} s  {text}")


def wait_for(
    what: str,
    missing: Callable[[], str],
    *,
    seconds: float,
    say: Callable[[str], None],
    explain: Callable[[], str],
    dead: Callable[[], str] = lambda: "",
) -> None:
    """Returns when missing() says nothing any more. What is missing is said when it changes, and at most
    once a second; `dead` says why there is no use in waiting, `explain` what to show in the error."""
    deadline = time.monotonic() + seconds
    said, said_at = "", 0.0
    while text := missing():
        if text != said and time.monotonic() > said_at + SAY_SECONDS:
            say(f"waiting until {what}: {text}")
            said, said_at = text, time.monotonic()
        reason = dead() or (f"not within {seconds:.0f} s" if time.monotonic() > deadline else "")
        if reason:
            raise SetupError(f"{what}: {reason}; last seen: {text}\n{explain()}")
        time.sleep(POLL_SECONDS)
    say(what)
