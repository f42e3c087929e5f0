"""The device plugin beside NVIDIA's on simulated nodes of 8 to 64 GPUs, for bench/run.

Both are met by the same kubelet (bench-kubelet), one after the other in each round, in a mount namespace whose
/var/lib is theirs alone: NVIDIA's has its place for sockets built in.
"""

import json
import os
import re
import statistics
from dataclasses import dataclass

from support.shell import Failure, check

SOURCE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NODE = "bench-plugin"
ROUNDS = 3
SIZES = (1, 2, 4)
MORE_SIZES = (1, 2, 4, 8)
LIMIT = 5  # seconds: a call that takes longer is given up
REST = 10
ONE_SLICE = "19"  # the driver's id of 1g.5gb
SLICES = 7
AIMS = {"registered": 2, "allocate": 2, "prefer": 10}
PLACE = "mount -t tmpfs none /var/lib && mkdir -p /var/lib/kubelet/device-plugins && exec \"$@\""


@dataclass(frozen=True)
class Large:
    """So many DGX A100s as one machine, each a PCI domain of its own, with other boards if told."""

    title: str
    chassis: int
    product: str = "A100-SXM4-40GB"
    shares: int = 0  # of each of SLICES slices of a GPU; 0: GPUs are whole


# The driver's table of MIG capabilities has room for 32 GPUs (data/captures), so that 64 GPUs are of a model without
# MIG, and 448 devices in slices are shares of 224.
LARGE = (
    Large("16 GPUs (A100)", 2),
    Large("64 GPUs (T4)", 8, "T4"),
    Large("448 devices: 32 GPUs (A100) x 7 slices of 1g.5gb x 2 shares", 4, shares=2),
)


def node_file(large):
    """data/nodes/dgx-a100-40.yaml several times over."""
    with open(os.path.join(SOURCE, "data/nodes/dgx-a100-40.yaml"), encoding="utf-8") as file:
        head, gpus = file.read().split("\ngpus:\n")
    head = head[:head.index("\nnuma:\n")].replace("DGX A100, 8 x", f"{large.chassis} x 8")
    gpus = gpus.replace("A100-SXM4-40GB", large.product)
    if large.product != "A100-SXM4-40GB":
        head = re.sub(r"\nnvlink:.*\nswitches:.*\nswitch_device_id:.*", "\nnvlink: none", head)
        gpus = re.sub(r" module_id: \d+,", "", gpus)
    lines = [head, "numa:"]
    lines += [f"  - {{node: {i}, cpus: {8 * i}-{8 * i + 7}}}" for i in range(2 * large.chassis)]
    lines.append("gpus:")
    for number in range(large.chassis):
        here = gpus.rstrip("\n").replace('"0000:', f'"{number:04x}:')
        lines.append(re.sub(r"numa: (\d)", lambda found: f"numa: {2 * number + int(found[1])}", here))
    return "\n".join(lines) + "\n"


def commands(bench, programs, config=None):
    """`config`: a file of the v1 configuration that both read."""
    hook = programs["nvidia-cdi-hook"]
    ours, theirs = [], []
    if config:
        with open(config + ".agent", "w", encoding="utf-8") as file:
            file.write(f"version: partita/v1\ndevicePlugin: {{configFile: {config}}}\n")
        ours, theirs = ["--config-file", config + ".agent"], [f"--config-file={config}"]
    return {
        "partita agent": [bench.program("partita"), "agent", "--listen", "", *ours],
        "nvidia-device-plugin v0.19.3": [
            programs["nvidia-device-plugin"], "--device-list-strategy=cdi-cri", "--device-discovery-strategy=nvml",
            f"--nvidia-cdi-hook-path={hook}", "--driver-root=/", "--driver-root-ctr-path=/", *theirs,
        ],
    }


class Place:
    """A node that is up, and what bench-kubelet says of a plugin on it."""

    def __init__(self, bench, name):
        self.bench = bench
        self.directory = os.path.join(bench.directory, name)
        os.makedirs(self.directory)
        self.environment = dict(
            bench.environment, PARTITA_SIM_NODE=NODE, PARTITA_CDI_DIR=os.path.join(self.directory, "cdi"),
            PARTITA_RUN_DIR=os.path.join(self.directory, "run"),
            PARTITA_STATE_DIR=os.path.join(self.directory, "state"),
        )

    def sim(self, *arguments):
        line = [self.bench.program("partita-sim"), *arguments]
        return check(line, self.bench.log, env=self.environment, timeout=300).stdout

    def inside(self, *command):
        return self.sim("run", "--node", NODE, "--", *command)

    def meet(self, command, calls, rest, sizes, ids):
        """All sizes; after one that was given up, the plugin is started anew for those behind it."""
        path = os.path.join(self.directory, "ids")
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(ids) + "\n")
        found = {}
        while True:
            left = [size for size in sizes if f"prefer{size}" not in found]
            said = self.inside(
                "unshare", "--mount", "sh", "-c", PLACE, "sh", self.bench.program("bench-kubelet"), str(calls),
                str(LIMIT), str(rest), ",".join(map(str, left)), "@" + path, "--", *command,
            )
            found = json.loads(said.strip().splitlines()[-1]) | found
            if all(f"prefer{size}" in found for size in sizes):
                return found


def measure(bench, programs, calls):
    """Program -> what bench-kubelet said of it in each round."""
    place = Place(bench, "plugin")
    place.sim("up", "dgx-a100-40", "--node", NODE)
    try:
        ids = re.findall(r"UUID: (GPU-[0-9a-f-]+)", place.inside("nvidia-smi", "-L"))
        if len(ids) != 8:
            raise Failure(f"the node has {len(ids)} GPUs")
        found = {}
        for _ in range(ROUNDS):
            for name, command in commands(bench, programs).items():
                found.setdefault(name, []).append(place.meet(command, calls, REST, SIZES, ids))
        return found
    finally:
        place.sim("down", "--node", NODE, "--force")


def measure_large(bench, programs, calls):
    """Title -> program -> what bench-kubelet said of it in each round."""
    return {large.title: measure_one_large(bench, programs, calls, large) for large in LARGE}


def measure_one_large(bench, programs, calls, large):
    place = Place(bench, f"plugin-{large.chassis}")
    path = os.path.join(place.directory, "node.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(node_file(large))
    place.sim("up", "--file", path, "--node", NODE)
    try:
        config, kind, devices = None, "GPU", 8 * large.chassis
        if large.shares:
            config, kind, devices = os.path.join(place.directory, "v1.yaml"), "MIG", devices * SLICES
            with open(config, "w", encoding="utf-8") as file:
                file.write(
                    "version: v1\nflags: {migStrategy: mixed}\nsharing:\n  timeSlicing:\n    resources:\n"
                    f"    - {{name: nvidia.com/mig-1g.5gb, replicas: {large.shares}}}\n"
                )
            place.sim("set", "--node", NODE, "--gpu", "all", "mig=on")
            place.inside("nvidia-smi", "mig", "-cgi", ",".join([ONE_SLICE] * SLICES), "-C")
        ids = re.findall(rf"UUID: ({kind}-[0-9a-f-]+)", place.inside("nvidia-smi", "-L"))
        if len(ids) != devices:
            raise Failure(f"the node has {len(ids)} devices, not {devices}")
        if large.shares:
            ids = [f"{each}::{share}" for each in ids for share in range(large.shares)]
        found = {}
        for _ in range(ROUNDS):
            for name, command in commands(bench, programs, config).items():
                found.setdefault(name, []).append(place.meet(command, calls, 0, MORE_SIZES, ids))
        return found
    finally:
        place.sim("down", "--node", NODE, "--force")


def middle(rounds, *keys):
    values = []
    for each in rounds:
        for key in keys:
            each = each[key]
        values.append(each)
    return statistics.median(values)


def report(found, table):
    rows = [("", "registered, ms", "Allocate p50/p99, µs",
             *(f"prefer {size} of 8 p50, µs" for size in SIZES), "PSS beside the library, MB", "at rest, µs a second")]
    figures = {}
    for name, rounds in found.items():
        figures[name] = {
            "registered": middle(rounds, "registered") / 1000,
            "allocate": middle(rounds, "allocate", "p50"),
            "pss": (middle(rounds, "pss") - middle(rounds, "library")) / 1024,
            "rest": middle(rounds, "rest"),
            **{f"prefer{size}": middle(rounds, f"prefer{size}", "p50") for size in SIZES},
        }
        mine = figures[name]
        rows.append((
            name, f"{mine['registered']:.1f}", f"{mine['allocate']:.0f} / {middle(rounds, 'allocate', 'p99'):.0f}",
            *(f"{mine[f'prefer{size}']:.0f}" for size in SIZES), f"{mine['pss']:.1f}", f"{mine['rest']:.0f}",
        ))
    ours, theirs = figures.values()
    ratio = {key: theirs[key] / ours[key] if ours[key] else float("inf") for key in ours}
    rows.append((
        "times less", f"{ratio['registered']:.1f}", f"{ratio['allocate']:.1f}",
        *(f"{ratio[f'prefer{size}']:.1f}" for size in SIZES), f"{ratio['pss']:.1f}",
        "" if not ours["rest"] else f"{ratio['rest']:.1f}",
    ))
    return "\n".join([
        "## Device plugin", "",
        f"The same kubelet meets both, {ROUNDS} rounds each in turn, medians; aims: registered and Allocate "
        f"{AIMS['registered']} times faster, preferences {AIMS['prefer']} times.", "",
        table(rows),
    ])


def preferred(rounds, size):
    """Microseconds, and whether it is at least that."""
    said = [each[f"prefer{size}"] for each in rounds]
    if any("more" in each for each in said):
        return LIMIT * 1e6, True
    return statistics.median(each["p50"] for each in said), False


def shown(microseconds, at_least):
    if at_least:
        return f"more than {microseconds / 1e6:.0f} s"
    return f"{microseconds:.0f}" if microseconds < 1e6 else f"{microseconds / 1e6:.1f} s"


def large_rows(found):
    rows = [("", "registered, ms", "Allocate p50/p99, µs", *(f"prefer {size}, µs" for size in MORE_SIZES))]
    kept = []
    for name, rounds in found.items():
        figures = [middle(rounds, "registered") / 1000, middle(rounds, "allocate", "p50")]
        preferences = [preferred(rounds, size) for size in MORE_SIZES]
        kept.append((figures, preferences))
        rows.append((
            name, f"{figures[0]:.1f}", f"{figures[1]:.0f} / {middle(rounds, 'allocate', 'p99'):.0f}",
            *(shown(*each) for each in preferences),
        ))
    (ours, our_preferences), (theirs, their_preferences) = kept
    rows.append((
        "times less", *(f"{b / a:.1f}" for a, b in zip(ours, theirs)),
        *(f"{'more than ' if b[1] else ''}{b[0] / a[0]:.1f}" for a, b in zip(our_preferences, their_preferences)),
    ))
    return rows


def report_large(found, table):
    parts = [
        "### Larger nodes", "",
        f"The same, preferences out of all devices of the node; a call is given up after {LIMIT} s.",
    ]
    for title, programs in found.items():
        parts += ["", f"{title}:", "", table(large_rows(programs))]
    return "\n".join(parts)
