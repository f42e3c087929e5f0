"""MPS beside NVIDIA's on a simulated node of eight GPUs in seven shares each, for bench/run.

How long daemons take to be ready after a start, what Allocate of a share takes, and what serving costs in memory. Both
are met by the same kubelet (bench-kubelet), one after the other in each round; NVIDIA's programs find /mps in a root of
their own (compat/harness/mps.py).
"""

import json
import os
import re
import statistics
import subprocess
import time

import plugin_figures
from harness import mps
from support.shell import Failure, check, kill_group

NODE = plugin_figures.NODE
ROUNDS = 3
REST = 5
GPUS, SHARES = 8, 7
RESOURCE = "nvidia.com/gpu"
AIMS = {"first": 2, "allocate": 2, "memory": 3}
V1 = {"version": "v1", "sharing": {"mps": {"resources": [{"name": RESOURCE, "replicas": SHARES}]}}}
# NVIDIA's daemon goes before its plugin and is there while that serves.
BESIDE = """
"$0" "$1" "$2" >"$3" 2>&1 & daemon=$!
until [ -e /mps/.ready ]; do kill -0 $daemon || exit 1; sleep 0.01; done
pss=$3.pss
shift 3
"$@"; status=$?
awk '/^[0-9a-f]+-/ {own = /libnvidia-ml/} /^Pss:/ {all += $2; if (own) some += $2} END {print all, some}' \\
  /proc/$daemon/smaps >"$pss"
kill $daemon; wait $daemon
exit $status
"""


class Both:
    """A node that is up, with our program and NVIDIA's for it."""

    def __init__(self, bench, programs):
        self.at = plugin_figures.Place(bench, "mps")
        self.bench, self.programs = bench, programs
        self.ids = []

    def __enter__(self):
        self.at.sim("up", "dgx-a100-40", "--node", NODE)
        found = re.findall(r"UUID: (GPU-[0-9a-f-]+)", self.at.inside("nvidia-smi", "-L"))
        if len(found) != GPUS:
            raise Failure(f"the node has {len(found)} GPUs")
        self.ids = [f"{uuid}::{share}" for uuid in found for share in range(SHARES)]
        return self

    def __exit__(self, *_):
        self.at.sim("down", "--node", NODE, "--force")

    def on_node(self, command):
        return [self.bench.program("partita-sim"), "run", "--node", NODE, "--", "unshare", "--mount", *command]

    # ---- our program, NVIDIA's ----

    def agent(self, place):
        settings = {
            "version": "partita/v1", "mps": {"runner": "child", "root": place.mps},
            "devicePlugin": {"configFile": place.file("v1.yaml", V1)},
        }
        folders = [f"PARTITA_{name}_DIR={place.folder}/{name.lower()}" for name in ("RUN", "STATE", "CDI")]
        config = place.file("agent.yaml", settings)
        return ["env", *folders, self.bench.program("partita"), "agent", "--listen", "", "--config-file", config]

    def daemon(self, place):
        return [self.programs["mps-control-daemon"], "--config-file", place.file("v1.yaml", V1)]

    def plugin(self, place):
        return [
            self.programs["nvidia-device-plugin"], "--device-list-strategy=cdi-cri", "--device-discovery-strategy=nvml",
            f"--nvidia-cdi-hook-path={self.programs['nvidia-cdi-hook']}", "--driver-root=/", "--driver-root-ctr-path=/",
            "--mps-root=/run/nvidia/mps", f"--config-file={place.file('v1.yaml', V1)}",
        ]

    # ---- figures ----

    def ready(self, command, daemons, wanted):
        """Milliseconds until the first daemon is ready, and until all are; `daemons` counts them, by the place and what
        the program wrote."""
        with mps.Place() as place:
            path = os.path.join(place.folder, "log")
            with open(path, "w+", encoding="utf-8") as output:
                begin = time.monotonic()
                process = subprocess.Popen(
                    self.on_node(place.command(command(place))), env=self.at.environment, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, start_new_session=True,
                )
                try:
                    times = []
                    for number in (1, wanted):
                        mps.wait_until("MPS is ready", lambda: daemons(place, path) >= number, process, output)
                        times.append((time.monotonic() - begin) * 1000)
                    return dict(zip(("first", "all"), times))
                finally:
                    process.terminate()
                    try:
                        process.wait(20)
                    except subprocess.TimeoutExpired:
                        kill_group(process)

    def meet(self, command, calls):
        """What bench-kubelet says of a plugin, with the memory of what ran beside it."""
        with mps.Place() as place:
            os.unlink(os.path.join(place.sockets, "kubelet.sock"))  # it has its own
            path = os.path.join(place.folder, "ids")
            with open(path, "w", encoding="utf-8") as file:
                file.write(",".join(self.ids) + "\n")
            kubelet = [
                self.bench.program("bench-kubelet"), str(calls), str(plugin_figures.LIMIT), str(REST), "1", f"@{path}",
                "--",
            ]
            line = self.on_node(place.command(command(place, kubelet)))
            said = check(line, self.bench.log, env=self.at.environment, timeout=300).stdout
            return beside(json.loads(said.strip().splitlines()[-1]), os.path.join(place.folder, "log.pss"))


def beside(figures, path):
    """KiB of another program that serves with it, where there was one."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            all_of_it, library = map(int, file.read().split())
        figures["pss"] += all_of_it
        figures["library"] += library
    return figures


def measure(bench, programs, calls):
    """Program -> the figures of each round."""
    with Both(bench, programs) as both:
        found = {"partita agent": [], "mps-control-daemon and nvidia-device-plugin v0.19.3": []}
        for _ in range(ROUNDS):
            ours, theirs = found.values()
            ours.append({
                **both.ready(both.agent, started, GPUS),
                **both.meet(lambda place, kubelet: [*kubelet, *both.agent(place)], calls),
            })
            theirs.append({
                **both.ready(both.daemon, lambda place, _: os.path.exists(f"{place.mps}/.ready"), 1),
                **both.meet(
                    lambda place, kubelet: [
                        "sh", "-c", BESIDE, *both.daemon(place), f"{place.folder}/log", *kubelet, *both.plugin(place),
                    ], calls,
                ),
            })
        return found


def started(_, log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.read().count("MPS domain started")


def report(found, table):
    rows = [("", "first daemon ready, ms", "all, ms", "Allocate of a share p50/p99, µs", "PSS beside the library, MB")]
    figures = {}
    for name, rounds in found.items():
        mine = figures[name] = {
            **{key: statistics.median(each[key] for each in rounds) for key in ("first", "all")},
            "allocate": plugin_figures.middle(rounds, "allocate", "p50"),
            "memory": (plugin_figures.middle(rounds, "pss") - plugin_figures.middle(rounds, "library")) / 1024,
        }
        last = plugin_figures.middle(rounds, "allocate", "p99")
        rows.append((
            name, f"{mine['first']:.0f}", f"{mine['all']:.0f}", f"{mine['allocate']:.0f} / {last:.0f}",
            f"{mine['memory']:.1f}",
        ))
    ours, theirs = figures.values()
    rows.append(("times less", *(f"{theirs[key] / ours[key]:.1f}" for key in ("first", "all", "allocate", "memory"))))
    return "\n".join([
        f"## MPS (aims: a daemon ready {AIMS['first']} times as fast, Allocate {AIMS['allocate']} times, "
        f"{AIMS['memory']} times less memory)", "",
        f"{GPUS} GPUs in {SHARES} shares each: {GPUS} daemons with partita, one for all with NVIDIA's programs. Ready: "
        "from the start of the agent until a daemon has answered with its limits in force, from the start of "
        f"mps-control-daemon until it says so. {ROUNDS} rounds each in turn, medians; memory after {REST} s of rest, "
        "without the daemons' own.", "",
        table(rows),
    ])
