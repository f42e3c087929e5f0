"""The test bench's containerd 2.4 without a kubelet: its client `ctr` reads CDI specs and makes the containers."""

import time
from pathlib import Path

from containers import cases
from containers.engines.engine import HERE, SYSTEM, Engine, Request
from support.shell import Failure, Log
from testbench import programs

PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr")
START_SECONDS = 60


def programs_folder(folder: Path) -> Path:
    """Builds them where they are not in the cache yet."""
    return programs.build(PROGRAMS, Log(str(folder / "programs.log")))["ctr"].parent


class Containerd(Engine):
    name = "containerd-cdi"

    def start(self) -> None:
        super().start()
        self.programs = programs_folder(self.node.folder)
        self.place = f"/run/{self.name}"
        self.socket = f"{self.place}/containerd.sock"
        config = self.scratch / "config.toml"
        config.write_text(self.config(), encoding="utf-8")
        path = f"{self.programs}:{HERE}:{SYSTEM}"
        self.node.machine.spawn(self.name, [str(self.programs / "containerd"), "-c", str(config)], {"PATH": path})
        self.wait()

    def config(self) -> str:
        return (
            'version = 3\n'
            'disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", '
            '"io.containerd.grpc.v1.cri"]\n'
            f'root = "{self.place}/root"\nstate = "{self.place}/state"\n'
            f'[grpc]\n  address = "{self.socket}"\n'
        )

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.node.run(self.ctr("version")).returncode != 0:
            if time.monotonic() > deadline or self.node.machine.exit_status(self.name) is not None:
                raise Failure(f"containerd does not start:\n{self.node.machine.last_words(self.name)}")
            time.sleep(0.05)

    def ctr(self, *words: str) -> list[str]:
        return [str(self.programs / "ctr"), "--address", self.socket, *words]

    def run(self, request: Request) -> str:
        # Into a file by the shim: `ctr` may close its own pipe before the last lines have come through.
        said = self.scratch / f"{request.name}.output"
        said.unlink(missing_ok=True)
        command = self.ctr(
            "run", "--rm", "--rootfs", "--runc-binary", self.runtime(), "--runc-root", f"{self.place}/runc",
            "--log-uri", f"file://{said}", "--cap-add", "CAP_MKNOD", "--cgroup", f"{self.cgroup}/{request.name}",
            *self.devices(request), *self.environment(request), str(self.root_for(request)), request.name,
            *request.command,
        )
        try:
            self.output(command)
        except Failure as failure:
            raise Failure(f"{failure}{said.read_text(errors='replace') if said.exists() else ''}") from failure
        return said.read_text(errors="replace")

    def runtime(self) -> str:
        return self.runc

    def devices(self, request: Request) -> list[str]:
        return [word for name in self.cdi_names(request) for word in ("--device", name)]

    def stop(self) -> None:
        self.node.machine.stop(self.name)


class ContainerdRuntime(Containerd):
    """Our runtime finds runc on the PATH of containerd."""

    name = "containerd-runtime"
    injection = cases.RUNTIME

    def start(self) -> None:
        super().start()
        self.own = self.own_programs()

    def runtime(self) -> str:
        return str(self.own / "nvidia-container-runtime")

    def devices(self, request: Request) -> list[str]:
        return ["--env", self.wanted(request)]
