"""A cluster: a control plane and nodes, each a machine of its own. It ends with the process that made it."""

import json
import os
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from support import cache
from support.shell import Failure, SetupError
from testbench import addresses, cgroups, collect, images, listeners, node_files, programs, state
from testbench.control_plane import NAME as CONTROL_PLANE
from testbench.control_plane import ControlPlane
from testbench.machine import Machine
from testbench.node import Node, Surroundings
from testbench.pki import Pki
from testbench.readiness import Progress, wait_for
from testbench.scenario_bench import WrongUse
from testbench.simulator import Simulator
from testbench.snapshots import snapshotter
from testbench.state import StateFolder

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PROGRAMS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet", "containerd",
    "containerd-shim-runc-v2", "ctr",
)
FAILURES = REPOSITORY / "build" / "e2e" / "failed"
DEBIAN_FILES = {node_files.RUNC: "runc", "/usr/lib/cni/bridge": "containernetworking-plugins"}
DEBIAN_PROGRAMS = {
    "nsenter": "util-linux", "unshare": "util-linux", "ip": "iproute2", "openssl": "openssl",
}
AT_ONCE = 4
KUBECTL_SECONDS = 120
KUBECTL_NAMESPACES = ("net", "pid")  # it ends with the cluster, and sees the files of whoever calls it
ACCOUNT_SECONDS = 60
# The caller's proxy does not lead into the cluster's closed network. Programs read one name or the other.
NO_PROXY = {name: f"{addresses.NETWORK},localhost,127.0.0.1" for name in ("NO_PROXY", "no_proxy")}


class Cluster:
    """`with Cluster("c", {"a": "dgx-a100-40"}) as cluster:` starts it, and stops it whatever happens."""

    def __init__(
        self,
        name: str,
        nodes: Mapping[str, str],
        state_dir: Path | None = None,
        *,
        build: Path | None = None,
        images: Sequence[Path] = (),
        say: Callable[[str], None] = print,
    ) -> None:
        for node in nodes:
            state.check_name("node", node)
        if CONTROL_PLANE in nodes:
            raise WrongUse(f"a node cannot be called {CONTROL_PLANE}: that is the control plane's name")
        self.plan = addresses.plan(list(nodes))
        self.name = name
        self.profiles = dict(nodes)
        self.build = (build or default_build()).resolve()
        self._more_images = list(images)  # archives, beside those of the bench's own pods
        self._state = StateFolder(name, state_dir)
        self.folder = self._state.folder
        self._say = Progress(say)
        self._claimed = False
        self._nodes: dict[str, Node] = {}
        self._machines: dict[str, Machine] = {}

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # ---- life ----

    def start(self) -> None:
        """Returns when every node is ready. After an error nothing is left but what was collected of it."""
        check_machine()
        self._state.claim(self.build)
        self._claimed = True
        self._listened = listeners.on_host()
        try:
            self._start()
        except Exception as error:
            words = self._words_of(error)
            self.stop()
            raise SetupError(words) from error
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.programs = {name: programs.path(name) for name in PROGRAMS}
        self.images = [*images.archives(), *self._more_images]
        self._make_parts()
        for node in self._nodes.values():
            node.make()
        self.control_plane.start([*self._keep(), self.folder], self.plan)
        self._start_beside_each_other()
        for node in self._nodes.values():
            node.start_kubelet()
        for node in self._nodes.values():
            node.wait_ready()
        self._wait_for_account()
        self.publish()

    def _start_beside_each_other(self) -> None:
        """The machines of the nodes, while the API server begins."""
        pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        try:
            started = [pool.submit(node.start) for node in self._nodes.values()]
            self.control_plane.finish()
            for done in started:
                done.result()
        except BaseException:
            for machine in self._machines.values():
                machine.kill_all()  # whoever still waits for one gives up
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Ends every process, and removes mounts, namespaces, cgroups and files."""
        if not self._claimed:
            return
        for machine in self._machines.values():
            machine.kill_all()
        for machine in self._machines.values():
            machine.halt()
        self._state.release(self.build)
        self._claimed = False

    def _make_parts(self) -> None:
        self.simulator = Simulator(self.build, self.folder / "sim")
        self.simulator.check()
        self.pki = Pki(self.folder / "pki")
        self.pki.make_authority()
        self.control_plane = ControlPlane(
            self.name, self.folder / CONTROL_PLANE, self.pki, self.programs.__getitem__, self._say
        )
        around = Surroundings(
            cluster=self.name, folder=self.folder, control_plane=self.control_plane, pki=self.pki,
            simulator=self.simulator, plan=self.plan, snapshotter=snapshotter(self.folder),
            base_spec=base_spec(self.programs["ctr"]), keep=self._keep(), path=self._path(),
            images=self.images, program=self.programs.__getitem__, say=self._say,
        )
        self._nodes = {name: Node(name, profile, around) for name, profile in self.profiles.items()}
        own = {name: node.machine for name, node in self._nodes.items()}
        self._machines = {CONTROL_PLANE: self.control_plane.machine, **own}

    def _path(self) -> list[Path]:
        """Folders of programs that nodes find by name."""
        return [self.build / "bin", *sorted({path.parent for path in self.programs.values()})]

    def _keep(self) -> list[Path]:
        """Of the host, for every machine."""
        return [REPOSITORY, Path(cache.cache_directory()), self.build, *self._path()]

    def _wait_for_account(self) -> None:
        """Pods are refused until the controllers have made the service account that they run under."""
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        machine = self.control_plane.machine
        wait_for(
            "pods can be created", lambda: "" if self.control_plane.api.object(path) else "no service account yet",
            seconds=ACCOUNT_SECONDS, say=self._say, explain=lambda: machine.last_words("kube-controller-manager"),
            dead=lambda: self.control_plane.death("kube-controller-manager"),
        )

    # ---- use ----

    @property
    def nodes(self) -> dict[str, Node]:
        return dict(self._nodes)

    def node(self, name: str) -> Node:
        if name not in self._nodes:
            raise Failure(f"no node {name!r} in cluster {self.name}; there are: {', '.join(self._nodes)}")
        return self._nodes[name]

    @property
    def kubeconfig(self) -> Path:
        """The administrator's. Its server is in the cluster's network: use kubectl() or `e2e kubectl`."""
        return self.pki.kubeconfig("admin")

    def kubectl(self, *arguments: str, input: str | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        settings = {"capture_output": True, "text": True, "timeout": KUBECTL_SECONDS, "check": False, **options}
        if input is None:
            settings.setdefault("stdin", subprocess.DEVNULL)
        else:
            settings["input"] = input
        command = [str(self.programs["kubectl"]), *arguments]
        environment = {**os.environ, **kubectl_environment(self.folder, self.kubeconfig)}
        return subprocess.run(
            self.control_plane.machine.enter(command, KUBECTL_NAMESPACES), env=environment, **settings
        )

    def machines(self) -> dict[str, Machine]:
        """The control plane's and the nodes'."""
        return dict(self._machines)

    def new_listeners(self) -> list[str]:
        """What listens in the host's network since the start, and may be the cluster's."""
        return listeners.opened_since(self._listened, cgroups.cluster_path(self.name))

    def logs(self) -> list[Path]:
        """Of every component."""
        return sorted(path for machine in self._machines.values() for path in machine.logs.glob("*.log"))

    def _words_of(self, error: Exception) -> str:
        """What went wrong, and where the state of everything lies that stop() will remove."""
        expected = isinstance(error, (SetupError, Failure, subprocess.TimeoutExpired))
        words = str(error) if expected else "".join(traceback.format_exception(error)).rstrip()
        if not self._machines:
            return words
        folder = FAILURES / f"{time.strftime('%Y%m%d-%H%M%S')}-start-{self.name}"
        return f"{words}\n  the state of everything: {collect.collect(self, folder)}"

    def publish(self) -> None:
        """For `e2e list`, `kubectl` and `shell`, which are other processes."""
        self._state.publish({
            "name": self.name,
            "nodes": self.profiles,
            "machines": {name: str(machine.folder) for name, machine in self._machines.items()},
            "environments": {name: node.environment() for name, node in self._nodes.items()},
            "kubeconfig": str(self.kubeconfig),
            "kubectl": str(self.programs["kubectl"]),
        })


def kubectl_environment(folder: Path, kubeconfig: Path) -> dict[str, str]:
    """Nothing of the user's own is read or written."""
    own = {"KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(folder / "kubectl-cache"), "KUBERC": "off"}
    return {**own, **NO_PROXY}


def check_machine() -> None:
    if os.geteuid() != 0:
        raise SetupError("a cluster needs namespaces, mounts and cgroups: run this as root")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = {package for program, package in DEBIAN_PROGRAMS.items() if not which(program, path)}
    missing |= {package for file, package in DEBIAN_FILES.items() if not os.access(file, os.X_OK)}
    if missing:
        raise SetupError(f"missing Debian packages: {' '.join(sorted(missing))}; install them: scripts/setup e2e")


def which(program: str, path: str) -> bool:
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in path.split(":") if folder)


def base_spec(ctr: Path) -> dict[str, Any]:
    """containerd's own beginning of a container's specification."""
    done = subprocess.run([str(ctr), "oci", "spec"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise SetupError(f"{ctr} oci spec: {done.stderr.strip()}")
    return json.loads(done.stdout)


def default_build() -> Path:
    return Path(os.environ.get("PARTITA_BUILD") or REPOSITORY / "build" / "release")
