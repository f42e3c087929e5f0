"""Debian's podman 4.3 with runc, which reads CDI specs itself."""

from containers import cases
from containers.engines.engine import Engine, Request


class Podman(Engine):
    name = "podman-cdi"

    def run(self, request: Request) -> str:
        folders = {"--root": "storage", "--runroot": "run", "--tmpdir": "tmp"}
        # The machine's own /run: podman takes no run folder with a long path.
        places = [word for option, name in folders.items() for word in (option, f"/run/{self.name}/{name}")]
        # It would raise limits that this host keeps it from raising, and make a network that nobody needs.
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none"]
        return self.output([
            "podman", *places, *self.options(), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs",
            "--events-backend", "none", "--runtime", self.runc, "run", "--rm", "--name", request.name,
            "--cgroup-parent", self.cgroup, *limits, "--cap-add", "MKNOD", *self.environment(request),
            *self.devices(request), "--rootfs", str(self.root_for(request)), *request.command,
        ])

    def options(self) -> list[str]:
        return []

    def devices(self, request: Request) -> list[str]:
        return [word for name in self.cdi_names(request) for word in ("--device", name)]


class PodmanHooks(Podman):
    """The hook file that `partita runtime configure` writes, as podman before CDI had it."""

    name = "podman-hooks"
    injection = cases.LEGACY

    def start(self) -> None:
        super().start()
        self.hooks = self.scratch / "hooks.d"
        hook = str(self.own_programs() / "nvidia-container-runtime-hook")
        file = str(self.hooks / "oci-nvidia-hook.json")
        self.node.partita("runtime", "configure", "--runtime", "podman", "--config", file, "--runtime-path", hook)

    def options(self) -> list[str]:
        return ["--hooks-dir", str(self.hooks)]

    def devices(self, request: Request) -> list[str]:
        return ["--env", self.wanted(request)]
