"""Debian's docker 20.10: with `--gpus`, which has our prestart hook called, and with our runtime."""

import time

from containers import cases
from containers.engines.engine import HERE, SYSTEM, Engine, Request
from support.shell import Failure

IMAGE = "partita.test/glibc:1"
START_SECONDS = 60


class Docker(Engine):
    """Nothing of it knows a network: the machine has none."""

    name = "docker-gpus"
    injection = cases.LEGACY

    def start(self) -> None:
        super().start()
        self.socket = f"unix:///run/{self.name}/docker.sock"
        programs = self.own_programs()
        command = [
            "/usr/sbin/dockerd", "--data-root", str(self.scratch / "data"), "--exec-root", f"/run/{self.name}/exec",
            "--pidfile", f"/run/{self.name}/pid", "-H", self.socket, "--iptables=false", "--bridge=none",
            "--cgroup-parent", self.cgroup, "--exec-opt", "native.cgroupdriver=cgroupfs",
            "--add-runtime", f"nvidia={programs}/nvidia-container-runtime",
        ]
        path = f"{HERE}:{programs}:{SYSTEM}"
        self.node.check(["mkdir", "-p", f"/run/{self.name}"])
        self.node.machine.spawn(self.name, [*self.enter, *command], {"PATH": path})
        self.wait()
        self.node.check(["sh", "-c", f"tar -C {self.image} -c . | /usr/bin/docker -H {self.socket} import - {IMAGE}"])

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.node.run(self.docker("version")).returncode != 0:
            if time.monotonic() > deadline or self.node.machine.exit_status(self.name) is not None:
                raise Failure(f"dockerd does not start:\n{self.node.machine.last_words(self.name)}")
            time.sleep(0.05)

    def docker(self, *words: str) -> list[str]:
        return ["/usr/bin/docker", "-H", self.socket, *words]

    def run(self, request: Request) -> str:
        return self.output(self.docker(
            "run", "--rm", "--network", "none", *self.environment(request), *self.devices(request), IMAGE,
            *request.command,
        ))

    def devices(self, request: Request) -> list[str]:
        if not request.devices:
            return []
        if request.name == cases.COUNTED.name:
            return ["--gpus", str(len(request.devices))]
        return ["--gpus", "all" if request.devices == ("all",) else f'"device={",".join(request.devices)}"']

    def stop(self) -> None:
        self.node.machine.stop(self.name)


class DockerUnified(Docker):
    name = "docker-gpus-v2"
    enter = Engine.UNIFIED


class DockerRuntime(Docker):
    name = "docker-runtime"
    injection = cases.RUNTIME

    def devices(self, request: Request) -> list[str]:
        # Docker adds the prestart hook then, which the runtime has to take out again.
        if request.name == cases.BOTH.name:
            return ["--runtime", "nvidia", *super().devices(request)]
        return ["--runtime", "nvidia", "--env", self.wanted(request)]
