"""Stands in a hook's place: TIMES NAME PATH ARG0 [ARG...]. Runs the hook and appends to TIMES how many nanoseconds of
processor time it took, with all that it waited for."""

import os
import sys

times, name, path, *words = sys.argv[1:]
_, status, used = os.wait4(os.posix_spawn(path, words, os.environ), 0)
with open(times, "a", encoding="utf-8") as file:
    file.write(f"{name} {int((used.ru_utime + used.ru_stime) * 1e9)}\n")
sys.exit(os.waitstatus_to_exitcode(status))
