"""Figures of the agent on a simulated node of eight idle GPUs, for bench/run."""

import json
import os
import statistics
import subprocess
import time

from support.shell import Failure, check

AIM_CALLS, AIM_EVENT_MS, AIM_PSS_MIB, AIM_READY_MS, AIM_HUNG_MS = 50, 5, 8, 20, 50
LOOKS = {
    "init": "a program that opens the library and reads everything",
    "full": "everything, in the agent's session",
    "rest": "at rest",
    "change": "after a change of MIG: one GPU has 7 slices",
    "event": "from an XID to the snapshot",
}
NODE = "bench-agent"
HUNG_GPU = "3"


def milliseconds(times, digits=2):
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return f"{statistics.median(ordered) / 1e6:.{digits}f}", f"{last / 1e6:.{digits}f}"


class AgentBench:
    """A node without slices beside the one of the other figures."""

    def __init__(self, bench):
        self.bench = bench
        self.directory = os.path.join(bench.directory, "agent")
        os.makedirs(self.directory)
        self.environment = dict(
            bench.environment,
            PARTITA_SIM_NODE=NODE,
            PARTITA_RUN_DIR=os.path.join(self.directory, "run"),
            PARTITA_STATE_DIR=os.path.join(self.directory, "state"),
        )
        self.agent = [bench.program("partita"), "agent", "--listen", ""]

    def sim(self, *arguments):
        return check([self.bench.program("partita-sim"), *arguments], self.bench.log, env=self.environment, timeout=120)

    def inside(self, *command):
        line = [self.bench.program("partita-sim"), "run", "--node", NODE, "--", *command]
        return check(line, self.bench.log, env=self.environment, timeout=600).stdout

    def __enter__(self):
        self.sim("up", "dgx-a100-40", "--node", NODE)
        return self

    def __exit__(self, *_):
        self.sim("down", "--node", NODE, "--force")

    def count_calls(self, *command):
        path = os.path.join(self.directory, "calls-of-one")
        self.environment["PARTITA_SIM_CALLS"] = path
        self.inside(*command)
        del self.environment["PARTITA_SIM_CALLS"]
        with open(path, encoding="utf-8", errors="replace") as file:
            return sum(1 for _ in file)

    def looks(self, runs):
        """What -> nanoseconds, and what -> driver calls."""
        root = os.path.join(self.environment["PARTITA_SIM_DIR"], NODE)
        line = [self.bench.program("bench-look"), str(runs), root, root, self.directory]
        times, calls = self._looks(line)
        enumerate_all = [self.bench.program("bench-enumerate"), str(runs), "readings"]
        times["init"] = [int(text.split()[0]) for text in self.inside(*enumerate_all).splitlines()]
        calls["init"] = self.count_calls(self.bench.program("partita"), "status")
        # Somebody has cut one GPU: now a look after a change has something to read.
        self.sim("set", "--gpu", "0", "mig=on")
        self.inside("nvidia-smi", "mig", "-i", "0", "-cgi", ",".join(["19"] * 7), "-C")
        cut_times, cut_calls = self._looks(line)
        self.sim("reset", "--gpu", "0")
        self.sim("set", "--gpu", "0", "mig=off")
        times["change"], calls["change"] = cut_times["change"], cut_calls["change"]
        return times, calls

    def _looks(self, line):
        times, calls = {what: [] for what in LOOKS}, {}
        for text in check(line, self.bench.log, timeout=600).stdout.splitlines():
            what, nanoseconds = text.split()
            times[what].append(int(nanoseconds))
        few = [line[0], "3", *line[2:], os.path.join(self.directory, "calls")]
        for text in check(few, self.bench.log, timeout=600).stdout.splitlines():
            what, _, count = text.split()
            calls[what] = int(count)
        return times, calls

    def ready(self, runs):
        """Nanoseconds from start to ready, and memory at rest in KiB."""
        lines = self.inside(self.bench.program("bench-ready"), str(runs), "--", *self.agent).splitlines()
        return [int(line) for line in lines[:-1]], int(lines[-1].split()[1])

    def statuses(self, runs):
        """Name -> nanoseconds of `partita status`, through the agent and alone, without and with a GPU that hangs."""
        status = [self.bench.program("partita"), "status"]
        document = json.loads(self.inside(*status, "--output", "json"))
        # Whoever names the library is not answered by the agent.
        alone = [*status, "--library", document["driver"]["libraryPath"]]
        with open(os.path.join(self.directory, "log"), "w", encoding="utf-8") as log:
            agent = subprocess.Popen(
                [self.bench.program("partita-sim"), "run", "--node", NODE, "--", *self.agent],
                env=self.environment, stdout=log, stderr=log,
            )
        try:
            self._await(lambda: os.path.exists(os.path.join(self.environment["PARTITA_RUN_DIR"], "agent.sock")))
            times = {"through the agent": self._times(status, runs), "alone": self._times(alone, runs)}
            self.sim("fault", "call", "*", "--hang", "--gpu", HUNG_GPU)
            self._await(lambda: "last answered" in self.inside(*status))
            times["through the agent, one GPU hangs"] = self._times(status, runs)
            times["alone, one GPU hangs"] = self._times(alone, 2)
        finally:
            self.sim("fault", "clear", "--all")
            agent.terminate()
            agent.wait(20)
        return times

    def _times(self, command, runs):
        lines = self.inside(self.bench.program("bench-times"), str(runs), "--", *command).splitlines()
        return [int(line.split()[0]) for line in lines if not line.startswith(("pss", "library"))]

    @staticmethod
    def _await(condition):
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                raise Failure("the agent did not come so far within 60 s")
            time.sleep(0.01)


def measure(bench, runs):
    with AgentBench(bench) as agent:
        return agent.looks(runs), agent.ready(max(5, runs // 10)), agent.statuses(max(5, runs // 4))


def report(figures, table):
    (looks, calls), (ready, pss), statuses = figures
    rows = [["look", "median ms", "p99 ms", "NVML calls"]]
    rows += [[LOOKS[what], *milliseconds(looks[what]), str(calls[what])] for what in LOOKS]
    alone = statistics.median(statuses["alone"])
    status_rows = [["partita status", "median ms", "p99 ms", "times alone"]]
    for name, times in statuses.items():
        status_rows.append([name, *milliseconds(times), f"{statistics.median(times) / alone:.1f}"])
    median, last = milliseconds(ready)
    return "\n".join([
        "## The agent's looks at eight idle GPUs "
        f"(aims: under {AIM_CALLS} calls at rest, {AIM_EVENT_MS} ms to the snapshot)",
        "",
        table(rows),
        "",
        f"## The agent as a process (aims: ready in {AIM_READY_MS} ms, {AIM_PSS_MIB} MiB at rest)",
        "",
        table([["partita agent", ""], ["start to ready, median ms", median], ["start to ready, p99 ms", last],
               ["PSS at rest, MiB", f"{pss / 1024:.1f}"]]),
        "",
        f"## `status` through the agent and alone (aim: {AIM_HUNG_MS} ms with a GPU that hangs)",
        "",
        table(status_rows),
        "",
    ])
