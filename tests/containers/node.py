"""A simulated GPU machine on which engines run, and what is true of it: from the facts of its profile, from the MIG
layout that was asked for, and from the driver's own words. Nothing here is the product's."""

import dataclasses
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.shell import Failure
from testbench.machine import SYSTEM_PATH, FileSystem, Machine
from testbench.simulator import Simulator

SOURCE = Path(__file__).resolve().parent.parent.parent
PROFILE = "dgx-a100-40"
NODE = "node"
# GPU -> profiles of its instances, by number: A100-SXM4-40GB knows 9 as 3g.20gb, 14 as 2g.10gb, 19 as 1g.5gb. No two
# of one GPU are alike, so that a name says which is meant.
LAYOUT = {6: ("9", "19"), 7: ("14", "19")}
SECONDS = 120

CREATED = re.compile(
    r"Successfully created compute instance ID +(\d+) on GPU +(\d+) GPU instance ID +(\d+) using profile MIG (\S+)"
)
LISTED_GPU = re.compile(r"GPU (\d+): (.*) \(UUID: (GPU-[0-9a-f-]+)\)")
LISTED_SLICE = re.compile(r"  MIG (\S+) +Device +(\d+): \(UUID: (MIG-[0-9a-f-]+)\)")


@dataclasses.dataclass(frozen=True)
class Slice:
    profile: str
    uuid: str
    instance: str  # below /proc/driver/nvidia/capabilities/gpuN/mig: "gi1/ci0"
    minors: tuple[int, int]  # of its two capability nodes

    def instance_numbers(self) -> str:
        """As drivers before R470 named a MIG device behind its GPU's name: "1/0"."""
        return "/".join(re.findall(r"\d+", self.instance))


@dataclasses.dataclass(frozen=True)
class Gpu:
    index: int  # and minor number: the driver counts alike on this machine
    address: str
    uuid: str
    slices: tuple[Slice, ...]


@dataclasses.dataclass(frozen=True)
class Facts:
    gpus: tuple[Gpu, ...]
    majors: dict[str, int]
    libraries: tuple[str, ...]  # by the names that programs ask the loader for
    files: frozenset[str]  # of the driver, as containers find them
    proc: frozenset[str]  # below /proc/driver/nvidia

    def control_nodes(self) -> dict[str, tuple[int, int]]:
        return {
            "/dev/nvidiactl": (self.majors["gpu"], 255),
            "/dev/nvidia-uvm": (self.majors["uvm"], 0),
            "/dev/nvidia-uvm-tools": (self.majors["uvm"], 1),
        }

    def gpu_node(self, gpu: Gpu) -> dict[str, tuple[int, int]]:
        return {f"/dev/nvidia{gpu.index}": (self.majors["gpu"], gpu.index)}

    def slice_nodes(self, part: Slice) -> dict[str, tuple[int, int]]:
        return {f"/dev/nvidia-caps/nvidia-cap{minor}": (self.majors["caps"], minor) for minor in part.minors}

    def all_nodes(self) -> dict[str, tuple[int, int]]:
        result = self.control_nodes()
        for gpu in self.gpus:
            result |= self.gpu_node(gpu)
            for part in gpu.slices:
                result |= self.slice_nodes(part)
        return result


class Node:
    """A machine with its own processes, mounts, network and cgroups, as the cluster's nodes are."""

    def __init__(self, name: str, folder: Path, build: Path) -> None:
        self.build = build
        self.folder = folder
        self.simulator = Simulator(build, folder / "sim")
        self.machine = Machine(name, NODE, folder / "machine")
        self._made: dict[tuple[int, str], str] = {}  # as instances() says it

    @property
    def hardware(self) -> Path:
        return self.simulator.folder / NODE

    def start(self, keep: Sequence[Path]) -> Facts:
        self.simulator.check()
        self.simulator.up(NODE, PROFILE)
        files = FileSystem([SOURCE, self.build, self.folder, *keep], {}, {"/etc/hostname": NODE + "\n"})
        self.machine.boot(
            files, self.simulator.run_in_view(NODE), {**self.simulator.environment, "PATH": SYSTEM_PATH}
        )
        for gpu, profiles in LAYOUT.items():
            self.check(["nvidia-smi", "-i", str(gpu), "-mig", "1"])
            self.check(["nvidia-smi", "-r", "-i", str(gpu)])
            self._divide(gpu, profiles)
        return self._facts()

    def divide_again(self, gpu: int, profiles: Sequence[str]) -> Facts:
        """Another layout in the place of the one that is there."""
        self.check(["nvidia-smi", "mig", "-i", str(gpu), "-dci"])
        self.check(["nvidia-smi", "mig", "-i", str(gpu), "-dgi"])
        self._divide(gpu, profiles)
        return self._facts()

    def _divide(self, gpu: int, profiles: Sequence[str]) -> None:
        said = self.check(["nvidia-smi", "mig", "-i", str(gpu), "-cgi", ",".join(profiles), "-C"])
        self._made |= instances(said.splitlines())

    # ---- programs on it ----

    def run(self, command: Sequence[str], path: str = SYSTEM_PATH, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """To its end; what was said on both outputs is in stdout and stderr."""
        try:
            return subprocess.run(
                self.machine.enter(command), env={"PATH": path, "HOME": "/root"}, input=stdin, text=True, check=False,
                capture_output=True, timeout=SECONDS, errors="replace",
            )
        except subprocess.TimeoutExpired as late:
            raise Failure(f"`{' '.join(command)}` still ran after {SECONDS} s and was killed") from late

    def check(self, command: Sequence[str], **options: str) -> str:
        done = self.run(command, **options)
        if done.returncode != 0:
            raise Failure(f"`{' '.join(command)}` exited {done.returncode}: {(done.stderr + done.stdout).strip()}")
        return done.stdout

    def partita(self, *words: str) -> str:
        return self.check([str(self.build / "bin" / "partita"), *words])

    # ---- what is true of it ----

    def _facts(self) -> Facts:
        profile = (SOURCE / "data" / "nodes" / f"{PROFILE}.yaml").read_text(encoding="utf-8")
        addresses = re.findall(r'^  - \{product: .*?pci: "([^"]+)"', profile, re.M)
        majors = re.search(r"^majors: \{(.*)\}", profile, re.M)[1]
        minors = dict(line.split() for line in self._driver_file("nvidia-caps/mig-minors").splitlines())
        gpus = listed_gpus(self.check(["nvidia-smi", "-L"]), addresses, self._made, minors)
        return Facts(
            gpus, {word.split(":")[0].strip(): int(word.split(":")[1]) for word in majors.split(",")},
            self._libraries(), self._files(), self._proc(),
        )

    def _driver_file(self, name: str) -> str:
        return (self.hardware / "proc/driver" / name).read_text(encoding="utf-8")

    def _libraries(self) -> tuple[str, ...]:
        names = os.listdir(self.hardware / "usr/lib64")
        return tuple(sorted(name for name in names if re.search(r"\.so\.\d+$", name)))

    def _files(self) -> frozenset[str]:
        """Where Debian's containers have what the driver installed."""
        places = {"usr/lib64": "/usr/lib/x86_64-linux-gnu", "usr/bin": "/usr/bin", "lib/firmware": "/lib/firmware"}
        return frozenset(
            str(Path(target) / path.relative_to(self.hardware / source))
            for source, target in places.items()
            for path in (self.hardware / source).rglob("*") if path.is_symlink() or path.is_file()
        )

    def _proc(self) -> frozenset[str]:
        top = self.hardware / "proc/driver/nvidia"
        return frozenset("/proc/driver/nvidia/" + str(path.relative_to(top)) for path in top.rglob("*"))


def instances(created: Sequence[str]) -> dict[tuple[int, str], str]:
    """(GPU, profile) -> "gi1/ci0", as nvidia-smi said when it made them."""
    found = [CREATED.match(line) for line in created]
    return {(int(said[2]), said[4]): f"gi{said[3]}/ci{said[1]}" for said in found if said}


def listed_gpus(
    text: str, addresses: Sequence[str], made: dict[tuple[int, str], str], minors: dict[str, str]
) -> tuple[Gpu, ...]:
    """From the words of `nvidia-smi -L` on the machine itself."""
    gpus: list[Gpu] = []
    for line in text.splitlines():
        if said := LISTED_GPU.match(line):
            gpus.append(Gpu(int(said[1]), addresses[int(said[1])], said[3], ()))
        elif said := LISTED_SLICE.match(line):
            gpu = gpus.pop()
            place = made[gpu.index, said[1]]
            nodes = [f"gpu{gpu.index}/{name}/access" for name in (place.split("/")[0], place)]
            own = Slice(said[1], said[3], place, (int(minors[nodes[0]]), int(minors[nodes[1]])))
            gpus.append(dataclasses.replace(gpu, slices=(*gpu.slices, own)))
    if len(gpus) != len(addresses) or {gpu.index for gpu in gpus if gpu.slices} != set(LAYOUT):
        raise Failure(f"not the machine that was asked for:\n{text}")
    return tuple(gpus)
