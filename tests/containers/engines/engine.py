"""What all engines have in common: how one container is asked for, and where things lie."""

import dataclasses
import shutil
from pathlib import Path

from containers import cases
from containers.node import Node
from support.shell import Failure

HERE = Path(__file__).resolve().parent.parent
SPEC = "/run/cdi/nvidia.json"
KIND = "nvidia.com/gpu"
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
# The reference's names, by which the one static program acts.
NAMES = ("nvidia-container-runtime", "nvidia-container-runtime-hook")
# What a host with cgroup v2 alone shows, as current distributions are: runc filters devices by eBPF there.
# The machine's /sys lies over the host's, whose hierarchies /proc/self/mountinfo would still list.
SHOW_UNIFIED = """set -e
mkdir -p /run/.sys
mount --rbind /sys /run/.sys
while mountpoint -q /sys; do umount -l /sys; done
mount --move /run/.sys /sys
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
exec "$@"
"""


@dataclasses.dataclass(frozen=True)
class Request:
    name: str
    devices: tuple[str, ...]
    command: list[str]
    without: str = ""  # left out of what is injected: a path, or a hook's word
    environment: tuple[str, ...] = ()  # of the image


class Engine:
    """One engine on the node. What it writes lies below `scratch`, its cgroups below `cgroup`."""

    name = ""
    injection = cases.CDI
    UNIFIED = ("unshare", "--mount", "sh", "-c", SHOW_UNIFIED, "sh")
    enter: tuple[str, ...] = ()  # begins the engine's command line

    def __init__(self, node: Node, image: Path) -> None:
        self.node = node
        self.image = image
        self.runc = str(HERE / "runc")
        self.scratch = node.folder / self.name
        self.cgroup = f"{node.machine.cgroup}/{self.name}"

    def start(self) -> None:
        self.scratch.mkdir()

    def run(self, request: Request) -> str:
        """What the container said."""
        raise NotImplementedError

    def stop(self) -> None:
        """Ends what start() began."""

    def root_for(self, request: Request) -> Path:
        """A copy for each container: hooks write into it."""
        root = self.scratch / f"{request.name}.root"
        shutil.copytree(self.image, root, symlinks=True)
        return root

    def own_programs(self) -> Path:
        """A folder with our programs under the reference's names, as the package partita-toolkit has them."""
        folder = self.scratch / "bin"
        folder.mkdir()
        for name in NAMES:
            (folder / name).symlink_to(self.node.build / "bin" / "partita-hook")
        return folder

    def wanted(self, request: Request) -> str:
        """The request by environment, as images and people make it."""
        return f"NVIDIA_VISIBLE_DEVICES={','.join(request.devices) or 'void'}"

    def environment(self, request: Request) -> list[str]:
        return [word for setting in request.environment for word in ("--env", setting)]

    def output(self, command: list[str]) -> str:
        done = self.node.run(command, path=f"{HERE}:{SYSTEM}")
        if done.returncode != 0:
            raise Failure(f"`{' '.join(command)}` exited {done.returncode}:\n{done.stderr}{done.stdout}")
        return done.stdout

    def cdi_names(self, request: Request) -> list[str]:
        return [f"{KIND}={device}" for device in request.devices]
