"""A node: a simulated GPU machine with containerd and a kubelet, and the programs that tests put on it."""

import dataclasses
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.shell import Failure
from testbench import network, node_files
from testbench.addresses import NodeAddresses
from testbench.control_plane import ControlPlane
from testbench.machine import SYSTEM_PATH, FileSystem, Machine
from testbench.pki import Pki, node_identities
from testbench.readiness import wait_for
from testbench.simulator import Simulator

SECONDS = 120

# Folders of a node that outlive its reboot, each in the cluster's state. /var/lib/partita is not one of them:
# the simulated machine has its own.
DISK = (
    "/etc/cdi", "/etc/partita", "/usr/local/nvidia", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet",
    "/var/log",
)


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What a node has in common with the others of its cluster."""

    cluster: str
    folder: Path
    control_plane: ControlPlane
    pki: Pki
    simulator: Simulator
    plan: dict[str, NodeAddresses]
    snapshotter: str
    base_spec: dict[str, Any]  # of containers
    keep: list[Path]  # folders of the host that nodes see
    path: list[Path]  # those of programs that nodes find by name
    images: list[Path]
    program: Callable[[str], Path]
    say: Callable[[str], None]


class Node:
    def __init__(self, name: str, profile: str, around: Surroundings) -> None:
        self.name = name
        self.profile = profile
        self.addresses = around.plan[name]
        self.machine = Machine(around.cluster, name, around.folder / "nodes" / name)
        self._around = around
        self._spawned: dict[str, tuple[list[str], dict[str, str]]] = {}

    # ---- life ----

    def make(self) -> None:
        """The simulated hardware, once."""
        self._around.simulator.up(self.name, self.profile)

    def start(self) -> None:
        """Boots it for the first time, up to containerd and the images. The kubelet is left to be started
        when the API server is ready: it would try again only after seconds."""
        for identity in node_identities(self.name, self.addresses.address):
            self._around.pki.issue(identity)
        self._boot()
        self.start_containerd()
        self._import_images()

    def reboot(self) -> None:
        """The power goes and comes back: every process dies, the boot id is new, disks are kept. The
        programs that run as services (spawn) start again. Returns when the node is ready."""
        before = self.boot_id()
        self.machine.halt()
        self._around.simulator.reboot(self.name)
        self._boot()
        if self.boot_id() == before:
            raise Failure(f"{self.name} has the same boot id after its reboot: {before}")
        self.start_containerd()
        self.start_kubelet()
        for name, (command, environment) in self._spawned.items():
            self.machine.spawn(name, command, environment)
        self.wait_ready(boot=self.boot_id())
        self.wait_kubelet()

    def boot_id(self) -> str:
        return self._around.simulator.boot_id(self.name)

    def _boot(self) -> None:
        around = self._around
        disk = {path: self.machine.folder / "disk" / path.strip("/").replace("/", "-") for path in DISK}
        files = node_files.files(
            self.name, around.pki, self.machine.cgroup, around.snapshotter, around.base_spec, around.plan,
            around.control_plane.machine.name,
        )
        covered = {**node_files.KERNEL_SETTINGS, "/proc/sys/kernel/random/boot_id": self.boot_id() + "\n"}
        self.machine.boot(
            FileSystem(self._keep(), disk, files, covered), around.simulator.run_in_view(self.name),
            {**around.simulator.environment, "PATH": SYSTEM_PATH},
        )
        others = [addresses for name, addresses in around.plan.items() if name != self.name]
        network.connect(around.control_plane.machine, self.machine, self.addresses, others)

    def _keep(self) -> list[Path]:
        """Of the cluster's folder a node sees its own part: neither the others' keys nor their hardware."""
        return [*self._around.keep, self.machine.folder, self._around.simulator.folder / self.name]

    def _import_images(self) -> None:
        for archive in self._around.images:
            self.check([
                str(self._around.program("ctr")), "--namespace=k8s.io", "images", "import", "--local",
                f"--snapshotter={self._around.snapshotter}", str(archive),
            ])

    # ---- kubelet and containerd ----

    def start_kubelet(self) -> None:
        self.machine.spawn("kubelet", [
            str(self._around.program("kubelet")), f"--config={node_files.KUBELET_CONFIG}",
            f"--kubeconfig={node_files.KUBELET_ACCESS}", f"--node-ip={self.addresses.address}", "--v=2",
        ], self.environment(DEAD_CONNECTIONS))

    def stop_kubelet(self) -> None:
        self.machine.stop("kubelet")

    def restart_kubelet(self) -> None:
        """Returns when the new kubelet is healthy and knows its pods (wait_kubelet)."""
        self.stop_kubelet()
        self.start_kubelet()
        self.wait_kubelet()

    def start_containerd(self) -> None:
        """Returns when it answers, and the kubelet, if one runs, has found it again."""
        containerd = self._around.program("containerd")
        self.machine.spawn(
            "containerd", [str(containerd), f"--config={node_files.CONTAINERD_CONFIG}"], self.environment()
        )
        wait_for(
            f"containerd of {self.name} answers", self._containerd_missing, seconds=SECONDS,
            say=self._around.say, explain=lambda: self.machine.last_words("containerd"),
            dead=lambda: self._death("containerd"),
        )
        if self._runs("kubelet") and self._around.control_plane.answers():
            self._wait_for_kubelet("reaches containerd", self._runtime_missing)

    def stop_containerd(self) -> None:
        self.machine.stop("containerd")

    def restart_containerd(self) -> None:
        """Containers go on: their shims hold them."""
        self.stop_containerd()
        self.start_containerd()

    def _containerd_missing(self) -> str:
        """What a kubelet asks first, and ends where it gets no answer; `ctr version` has one sooner."""
        done = self.run(["/usr/bin/python3", "-c", RUNTIME_VERSION])
        return "" if done.returncode == 0 else "it does not answer yet"

    def _runtime_missing(self) -> str:
        """A kubelet tries to connect again only now and then; until it has, it refuses every exec. This
        question it hands on to containerd."""
        found = self._around.control_plane.api.object(f"/api/v1/nodes/{self.name}/proxy/runningpods/")
        return "it does not, yet" if found is None else ""

    # ---- readiness ----

    def wait_ready(self, boot: str = "") -> None:
        """Waits until the API server calls the node ready (in the boot of that id)."""
        wait_for(
            f"node {self.name} is ready", lambda: self._not_ready(boot), seconds=SECONDS,
            say=self._around.say, dead=lambda: self._death("kubelet") or self._death("containerd"),
            explain=lambda: self.machine.last_words("containerd") + "\n" + self.machine.last_words("kubelet"),
        )

    def _not_ready(self, boot: str) -> str:
        found = self._around.control_plane.api.object(f"/api/v1/nodes/{self.name}")
        return why_not_ready(found, boot)

    def wait_kubelet(self) -> None:
        """Waits until the kubelet that runs now is healthy, and where there is an API server to tell it,
        until it knows the pods of its node: before that, it answers that they do not exist."""
        self._wait_for_kubelet("is healthy", self._health_missing)
        if self._around.control_plane.answers():
            self._wait_for_kubelet("knows its pods", self._pods_missing)
            self.wait_ready()

    def _wait_for_kubelet(self, what: str, missing: Callable[[], str]) -> None:
        wait_for(
            f"the kubelet of {self.name} {what}", missing, seconds=SECONDS, say=self._around.say,
            dead=lambda: self._death("kubelet"), explain=lambda: self.machine.last_words("kubelet"),
        )

    def _health_missing(self) -> str:
        done = self.run(["/usr/bin/python3", "-c", HEALTH])
        return "" if done.returncode == 0 else "it does not answer yet"

    def _pods_missing(self) -> str:
        api = self._around.control_plane.api
        wanted = api.object(f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")
        known = api.object(f"/api/v1/nodes/{self.name}/proxy/pods")
        if wanted is None or known is None:
            return "it does not answer the API server yet"
        unknown = living(wanted) - set(map(uid, known["items"] or []))
        return f"{len(unknown)} are unknown to it" if unknown else ""

    def _runs(self, name: str) -> bool:
        known = self.machine.programs().get(name)
        return known is not None and known["exit"] is None

    def _death(self, name: str) -> str:
        status = self.machine.exit_status(name)
        return "" if status is None else f"{name} of {self.name} has exited with status {status}"

    # ---- programs ----

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Of a program on the node: our programs first, then the system's, the driver's among them."""
        return {
            "PATH": ":".join([*map(str, self._around.path), SYSTEM_PATH]),
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "NODE_NAME": self.name,
            **(extra or {}),
        }

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs a command on the node to its end; `env` is added to the node's environment."""
        settings = {"capture_output": True, "text": True, "timeout": SECONDS, "check": False, **options}
        settings["env"] = self.environment(settings.get("env"))
        if "input" not in settings:
            settings.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(self.machine.enter(command), **settings)

    def check(self, command: list[str], **options: Any) -> str:
        """Like run(); returns its output, and anything but exit status 0 is a Failure."""
        done = self.run(command, **options)
        if done.returncode != 0:
            raise Failure(f"on {self.name}: {' '.join(command)} exited {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def spawn(self, name: str, command: list[str], env: Mapping[str, str] | None = None) -> None:
        """Starts a service: a program with a log of its own that runs until stop() or kill()."""
        environment = self.environment(env)
        self.machine.spawn(name, command, environment)
        self._spawned[name] = (command, environment)

    def stop(self, name: str) -> int:
        self._spawned.pop(name, None)
        return self.machine.stop(name)

    def kill(self, name: str) -> None:
        """SIGKILL; the program stays a service of the node, so respawn() or a reboot starts it again."""
        self.machine.stop(name, signal.SIGKILL)

    def respawn(self, name: str) -> None:
        if name not in self._spawned:
            raise Failure(f"no service {name!r} on {self.name}; there are: {', '.join(self._spawned) or 'none'}")
        self.machine.spawn(name, *self._spawned[name])

    # ---- network ----

    def cut_network(self) -> None:
        network.cut(self._around.control_plane.machine, self.addresses)

    def restore_network(self) -> None:
        network.restore(self._around.control_plane.machine, self.addresses)


def uid(pod: dict[str, Any]) -> str:
    return pod["metadata"]["uid"]


def living(pods: dict[str, Any]) -> set[str]:
    """Those of a list of pods that have not ended."""
    return {uid(pod) for pod in pods["items"] if pod["status"].get("phase") not in ("Succeeded", "Failed")}


def why_not_ready(node: dict[str, Any] | None, boot: str = "") -> str:
    """What a Node object lacks; nothing when it is ready (in the boot of that id)."""
    if node is None:
        return "it has not registered itself"
    status = node.get("status", {})
    if boot and status.get("nodeInfo", {}).get("bootID") != boot:
        return "the API server knows it from an earlier boot"
    for condition in status.get("conditions", []):
        if condition["type"] == "Ready":
            return "" if condition["status"] == "True" else condition["message"]
    return "it has not said anything about itself"


# A kubelet gives a connection up that is silent for so long, and connects again when the cable is back. Without this
# it would wait for the kernel, which tries the old one again ever more seldom.
DEAD_CONNECTIONS = {"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "3", "HTTP2_PING_TIMEOUT_SECONDS": "2"}
RUNTIME_VERSION = """
import grpc
channel = grpc.insecure_channel("unix:///run/containerd/containerd.sock")
channel.unary_unary("/runtime.v1.RuntimeService/Version")(b"", timeout=5)
"""
HEALTH = "import urllib.request as u; u.urlopen('http://127.0.0.1:10248/healthz', timeout=5)"
