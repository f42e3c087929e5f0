"""What a runtime and its hooks add to the creation of a container, for bench/run: ours and NVIDIA's on one simulated
node, in turn, each less what runc takes for the same config.json without the hooks, and less ldconfig."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
sys.path.append(str(BENCH.parent / "e2e"))

from containers import images
from containers.engines.engine import SYSTEM
from containers.node import Node
from containers.place import Place
from support.shell import Failure
from testbench.node_files import driver_in_proc

AIM_TIMES = 5
DEVICE = "1"
THEIRS = ("nvidia-container-runtime", "nvidia-cdi-hook", "nvidia-ctk")
OURS = ("nvidia-container-runtime", "nvidia-cdi-hook")
SIDES = {"partita": "ours", "NVIDIA": "theirs"}
STATE = "/run/partita-sim/sim"  # stands for the hardware
PUBLISHED = "/run/partita/devices.json"
BUNDLES = "/run/partita-bench"
SECONDS = 60


class Creation:
    """The node, the image, and a folder of programs for each runtime."""

    def __init__(self, place, build, programs):
        self.node = Node(place.name, place.folder, build)
        self.folder = place.folder / "creation"
        self.programs = {
            "ours": {name: build / "bin" / "partita-hook" for name in OURS},
            "theirs": {name: Path(programs[name]) for name in THEIRS},
        }

    def start(self):
        kept = [path.parent for path in self.programs["theirs"].values()]
        self.node.start([BENCH, *kept])
        self.folder.mkdir()
        images.write_root(self.folder / "image")
        for who, programs in self.programs.items():
            (self.folder / who).mkdir()
            for name, path in programs.items():
                # Ours looks for partita beside itself, through links.
                os.symlink(path, self.folder / who / name)
        # In memory, as engines have their bundles: how long a disk takes is no figure of a runtime.
        self.node.check(["mkdir", "-p", BUNDLES])
        (self.folder / "stand-in").mkdir()
        shutil.copy("/bin/true", self.folder / "stand-in" / "runc")
        self.node.check(["runc", "spec", "--bundle", str(self.folder)])

    def start_agent(self):
        config = self.folder / "agent.yaml"
        config.write_text("version: partita/v1\nlisten: unix:/run/partita-bench.sock\n", encoding="utf-8")
        command = [str(self.node.build / "bin" / "partita"), "agent", "--config-file", str(config)]
        self.node.machine.spawn("agent", command, {"PATH": SYSTEM})
        deadline = time.monotonic() + SECONDS
        while self.node.run(["test", "-e", PUBLISHED]).returncode != 0:
            if time.monotonic() > deadline:
                raise Failure(f"the agent publishes no {PUBLISHED}:\n{self.node.machine.last_words('agent')}")
            time.sleep(0.05)

    def config(self, name):
        """One that asks for a GPU, with the kernel's part of a driver, which on a real node is there."""
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        config["process"] |= {"args": ["/bin/sh"], "terminal": False}
        config["root"] = {"path": "rootfs", "readonly": False}
        config["linux"]["cgroupsPath"] = f"{self.node.machine.cgroup}/{name}"
        config["process"]["env"].append(f"NVIDIA_VISIBLE_DEVICES={DEVICE}")
        # Requests by environment are believed of privileged containers, by both.
        for kind in ("bounding", "effective", "permitted"):
            config["process"]["capabilities"][kind].append("CAP_SYS_ADMIN")
        config["mounts"].append({"destination": STATE, "type": "bind", "source": STATE, "options": ["rbind", "rw"]})
        return config | {"hooks": {"createContainer": [driver_in_proc() | {"env": [f"PATH={SYSTEM}"]}]}}

    def measure(self, rounds):
        """Side -> nanoseconds of each part, a list each, and of each hook."""
        order = {
            "rounds": rounds, "folder": BUNDLES, "image": str(self.folder / "image"),
            "stand_in": str(self.folder / "stand-in"),
            "sides": [
                {
                    "name": name, "runtime": f"{self.folder}/{folder}/nvidia-container-runtime",
                    "path": f"{self.folder}/{folder}:{SYSTEM}", "config": self.config(name),
                }
                for name, folder in SIDES.items()
            ],
        }
        # Longer than the node lets other commands run.
        done = subprocess.run(
            self.node.machine.enter([sys.executable, "-B", str(BENCH / "create_containers.py")]),
            env={"PATH": SYSTEM, "HOME": "/root"}, input=json.dumps(order), text=True, capture_output=True, check=False,
        )
        if done.returncode != 0:
            raise Failure(done.stderr.strip())
        return json.loads(done.stdout)


def measure(build, programs, rounds):
    """Situation -> what Creation.measure says."""
    place = Place()
    try:
        creation = Creation(place, Path(build), programs)
        creation.start()
        times = {"no agent runs": creation.measure(rounds)}
        creation.start_agent()
        return times | {"the agent runs": creation.measure(rounds)}
    finally:
        for trace in place.remove():
            print(f"left behind: {trace}", file=sys.stderr)


def added(side):
    """Of each round: what the runtime and the hooks add to runc, without ldconfig's own time."""
    return [whole - runc - ldconfig for whole, runc, ldconfig in zip(side["whole"], side["runc"], side["ldconfig"])]


def processor(side):
    """The same as processor time, which is of the runtime and the hooks alone."""
    return [
        runtime + hooks - ldconfig
        for runtime, hooks, ldconfig in zip(side["runtime"], side["all hooks"], side["ldconfig, processor"])
    ]


def figure(nanoseconds):
    """Median, and between which two values the middle half lies."""
    low, middle, high = statistics.quantiles(nanoseconds, n=4)
    return f"{middle / 1e6:.1f} ({low / 1e6:.1f} to {high / 1e6:.1f})"


def compared(title, per_side):
    """A row, and one that says how many times ours that is."""
    middles = [statistics.median(values) for values in per_side]
    if min(middles) <= 0:
        raise Failure(f"{title}: nothing is added, which was measured on too busy a machine: {middles}")
    return [
        [f"**{title}**", *(figure(values) for values in per_side)],
        ["times ours", *(f"{middle / middles[0]:.1f}" for middle in middles)],
    ]


def table_of(sides, table):
    rows = [["ms: median (middle half)", *sides]]

    def add(title, key):
        rows.append([title, *(figure(side[key]) for side in sides.values())])

    add("runc alone: the same config.json, without the hooks", "runc")
    add("runtime, runc and hooks", "whole")
    add("ldconfig's own time", "ldconfig")
    rows.extend(compared("added, without ldconfig", [added(side) for side in sides.values()]))
    add("processor time of the runtime", "runtime")
    add("of the hooks, with ldconfig", "all hooks")
    add("of ldconfig alone", "ldconfig, processor")
    rows.extend(compared("of both, without ldconfig", [processor(side) for side in sides.values()]))
    for hook in sorted({hook for side in sides.values() for hook in side["hooks"]}):
        figures = (figure(side["hooks"][hook]) if hook in side["hooks"] else "" for side in sides.values())
        rows.append([f"of `{hook}`, called alone", *figures])
    return table(rows)


def report(times, table):
    lines = [f"## What runtime and hooks add to a container with one GPU by runc (aim: {AIM_TIMES} times less)", ""]
    for situation, sides in times.items():
        rounds = len(sides["partita"]["whole"])
        lines += [f"{rounds} rounds, {situation}:", "", table_of(sides, table), ""]
    return "\n".join(lines).rstrip()
