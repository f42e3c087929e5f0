"""What a runtime and its hooks add to the creation of a container, for bench/run: runc alone, behind our runtime and
behind NVIDIA's, on one simulated node, in turn."""

import json
import os
import statistics
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
sys.path.append(str(BENCH.parent / "e2e"))

from containers import images
from containers.engines.engine import HERE, SYSTEM
from containers.node import Node
from containers.place import Place
from support.shell import Failure

AIM_TIMES = 5
DEVICE = "1"
THEIRS = ("nvidia-container-runtime", "nvidia-cdi-hook", "nvidia-ctk")
OURS = ("nvidia-container-runtime", "nvidia-cdi-hook")


class Creation:
    """The node, the image, and a folder of programs for each runtime."""

    def __init__(self, place, build, programs):
        self.place = place
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
        self.node.check(["runc", "spec", "--bundle", str(self.folder)])

    def subjects(self):
        """Name -> runtime, PATH, and whether a GPU is asked for. The bench's own runc, which shows the kernel's part of
        a driver, costs all three the same."""
        path = f"{HERE}:{SYSTEM}"
        return {
            "runc": (f"{HERE}/runc", path, False),
            "partita": (f"{self.folder}/ours/nvidia-container-runtime", f"{self.folder}/ours:{path}", True),
            "NVIDIA": (f"{self.folder}/theirs/nvidia-container-runtime", f"{self.folder}/theirs:{path}", True),
        }

    def bundle(self, name, asks):
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        config["process"] |= {"args": ["/bin/sh"], "terminal": False}
        config["root"] = {"path": "rootfs", "readonly": False}
        config["linux"]["cgroupsPath"] = f"{self.node.machine.cgroup}/{name}"
        if asks:
            config["process"]["env"].append(f"NVIDIA_VISIBLE_DEVICES={DEVICE}")
            # Requests by environment are believed of privileged containers, by both.
            for kind in ("bounding", "effective", "permitted"):
                config["process"]["capabilities"][kind].append("CAP_SYS_ADMIN")
        return config

    def measure(self, rounds):
        """Name -> nanoseconds of each `create`; and those of ldconfig alone on such a root."""
        order = {
            "rounds": rounds, "folder": str(self.folder), "image": str(self.folder / "image"),
            "subjects": [
                {"name": name, "runtime": runtime, "path": path, "config": self.bundle(name, asks), "asks": asks}
                for name, (runtime, path, asks) in self.subjects().items()
            ],
        }
        said = self.node.check([sys.executable, "-B", str(BENCH / "create_containers.py")], stdin=json.dumps(order))
        return json.loads(said)


def measure(build, programs, rounds):
    place = Place()
    try:
        creation = Creation(place, Path(build), programs)
        creation.start()
        return creation.measure(rounds)
    finally:
        for trace in place.remove():
            print(f"left behind: {trace}", file=sys.stderr)


def report(times, table):
    medians = {name: statistics.median(values) / 1e6 for name, values in times.items()}
    ldconfig = medians.pop("ldconfig")
    added = {name: medians[name] - medians["runc"] - ldconfig for name in ("partita", "NVIDIA")}
    if min(added.values()) <= 0:
        raise Failure(f"a runtime that adds nothing was measured on too busy a machine: {medians}, ldconfig {ldconfig}")
    rows = [["create", "median ms", "added ms, without ldconfig", "times ours"]]
    for name, median in medians.items():
        more = [f"{added[name]:.1f}", f"{added[name] / added['partita']:.1f}"] if name in added else ["", ""]
        rows.append([name if name == "runc" else f"{name}'s runtime and hooks", f"{median:.1f}", *more])
    rows.append(["ldconfig alone on that root", f"{ldconfig:.1f}", "", ""])
    return "\n".join([
        f"## Creating a container with one GPU by runc, no agent running (aim: {AIM_TIMES} times less added)",
        "",
        table(rows),
    ])
