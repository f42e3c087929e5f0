"""Stands in a hook's place: TIMES NAME PATH ARG0 [ARG...]. Runs the hook and appends its nanoseconds to TIMES."""

import os
import sys
import time

times, name, path, *words = sys.argv[1:]
start = time.monotonic_ns()
_, status = os.waitpid(os.posix_spawn(path, words, os.environ), 0)
taken = time.monotonic_ns() - start
with open(times, "a", encoding="utf-8") as file:
    file.write(f"{name} {taken}\n")
sys.exit(os.waitstatus_to_exitcode(status))
