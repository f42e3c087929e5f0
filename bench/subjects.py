"""Programs that are measured side by side, and the tables of what was measured, for bench/run."""

import os
import statistics
import subprocess

ROUNDS = 5


class Subject:
    """One program and what was measured of it."""

    def __init__(self, name, command, proc_modules=False, slow=False, around=()):
        self.name = name
        self.command = command
        self.around = list(around)  # a program that makes its surroundings, and executes it
        self.proc_modules = proc_modules
        self.slow = slow  # measured a tenth as often
        self.nanoseconds = []
        self.cpu_nanoseconds = []
        self.pss = None
        self.library = 0  # what the driver's library has of it
        self.calls = None

    def median(self):
        return statistics.median(self.nanoseconds) / 1e6

    def p99(self):
        ordered = sorted(self.nanoseconds)
        return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] / 1e6


def measure_processes(bench, subjects, runs):
    """Whole processes, started by a small program that already is on the node."""
    for _ in range(ROUNDS):
        for subject in subjects:
            line = [*subject.around, bench.program("bench-times"), str(max(1, runs // ROUNDS)), "--", *subject.command]
            for text in bench.inside(line, subject.proc_modules).splitlines():
                first, second = text.split()
                if first == "pss":
                    subject.pss = int(second) if int(second) > 0 else None
                elif first == "library":
                    subject.library = int(second)
                else:
                    subject.nanoseconds.append(int(first))
                    subject.cpu_nanoseconds.append(int(second))
    for subject in subjects:
        subject.calls = bench.count_calls(subject.command, subject.proc_modules)


def stripped_size(path, directory):
    """Bytes of the program without symbols: how it is shipped."""
    copy = os.path.join(directory, "stripped")
    subprocess.run(["strip", "-o", copy, path], check=True)
    return os.path.getsize(copy)


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            rules = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
            lines.append("| " + " | ".join(rules) + " |")
    return "\n".join(lines)


def rows_of(subjects, ours, sizes):
    header = ["program", "median ms", "p99 ms", "times ours", "NVML calls", "CPU ms", "PSS MiB", "binary MiB"]
    rows = [header]
    for subject in subjects:
        size = sizes.get(subject.command[0])
        rows.append([
            subject.name,
            f"{subject.median():.2f}",
            f"{subject.p99():.2f}",
            f"{subject.median() / ours.median():.1f}",
            str(subject.calls),
            f"{statistics.median(subject.cpu_nanoseconds) / 1e6:.1f}" if subject.cpu_nanoseconds else "",
            f"{subject.pss / 1024:.1f}" if subject.pss else "",
            f"{size / 2**20:.1f}" if size else "",
        ])
    return rows
