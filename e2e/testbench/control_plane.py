"""The control plane: etcd, API server, controller manager and scheduler on a machine of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.shell import Failure
from testbench import addresses, network
from testbench.addresses import NodeAddresses
from testbench.api_client import ApiClient
from testbench.machine import SYSTEM_PATH, FileSystem, Machine
from testbench.pki import AUTHORITY, KUBELET_CLIENT, Pki, control_plane_identities
from testbench.readiness import wait_for

NAME = "control-plane"
ETCD = "http://127.0.0.1:2379"
ENVIRONMENT = {"PATH": SYSTEM_PATH, "HOME": "/root"}
START_SECONDS = 120

# On by default in 1.36 are the DRA features that are stable or beta, but for this one, which needs a beta
# version of its API as well.
FEATURES = "DRADeviceTaintRules=true"
API_VERSIONS = "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true"


class ControlPlane:
    def __init__(
        self,
        cluster: str,
        folder: Path,
        pki: Pki,
        program: Callable[[str], Path],
        say: Callable[[str], None],
    ) -> None:
        self.machine = Machine(cluster, NAME, folder)
        self.api = ApiClient(self.machine, pki)
        self._pki = pki
        self._program = program
        self._say = say

    def start(self, keep: list[Path], nodes: dict[str, NodeAddresses]) -> None:
        """Returns when the machine runs, and etcd and the API server begin; finish() waits for them."""
        for identity in control_plane_identities():
            self._pki.issue(identity)
        hosts = addresses.hosts_file(NAME, nodes)
        self.machine.boot(FileSystem(keep=keep, folders={}, files={"/etc/hosts": hosts}))
        network.set_up_control_plane(self.machine)
        self._spawn("etcd", self._etcd())
        self._spawn("kube-apiserver", self._api_server())

    def finish(self) -> None:
        """The others give up when nobody answers for some seconds, so they come second."""
        self.wait_for_api()
        self.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", kubelet_access())
        self._spawn("kube-controller-manager", self._controller_manager())
        self._spawn("kube-scheduler", self._scheduler())

    def stop_api_server(self) -> None:
        """An outage: etcd, controllers and nodes go on, and nobody answers them. Killed: asked to end, it
        would first wait for everyone who watches."""
        self.machine.kill("kube-apiserver")

    def start_api_server(self) -> None:
        """Returns when it is ready."""
        self._spawn("kube-apiserver", self._api_server())
        self.wait_for_api()

    def wait_for_api(self) -> None:
        wait_for(
            "the API server is ready", self._missing, seconds=START_SECONDS, say=self._say,
            explain=lambda: self.machine.last_words("etcd") + "\n" + self.machine.last_words("kube-apiserver"),
            dead=lambda: self.death("etcd") or self.death("kube-apiserver"),
        )

    def answers(self) -> bool:
        try:
            return self.api.get("/livez")[0] == 200
        except OSError:
            return False

    def death(self, name: str) -> str:
        status = self.machine.exit_status(name)
        return "" if status is None else f"{name} has exited with status {status}"

    def _missing(self) -> str:
        try:
            status, body = self.api.get("/readyz?verbose")
        except OSError:
            return "it does not answer yet"
        return "" if status == 200 else unfinished(body)

    def _spawn(self, name: str, arguments: list[str]) -> None:
        self.machine.spawn(name, [str(self._program(name)), *arguments], ENVIRONMENT)

    # ---- command lines ----

    def _etcd(self) -> list[str]:
        peer = "http://127.0.0.1:2380"
        return [
            f"--data-dir={self.machine.folder / 'etcd'}", f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # its files end with the cluster
        ]

    def _api_server(self) -> list[str]:
        pki = self._pki
        return [
            f"--etcd-servers={ETCD}", f"--secure-port={addresses.API_PORT}",
            f"--advertise-address={addresses.CONTROL_PLANE}",
            f"--service-cluster-ip-range={addresses.SERVICE_RANGE}",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true", "--profiling=false",
            f"--client-ca-file={pki.certificate(AUTHORITY)}",
            f"--tls-cert-file={pki.certificate('api-server')}", f"--tls-private-key-file={pki.key('api-server')}",
            f"--kubelet-certificate-authority={pki.certificate(AUTHORITY)}",
            f"--kubelet-client-certificate={pki.certificate('api-server-to-kubelet')}",
            f"--kubelet-client-key={pki.key('api-server-to-kubelet')}",
            "--kubelet-preferred-address-types=InternalIP,Hostname",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.folder / 'service-accounts.pub'}",
            f"--service-account-signing-key-file={pki.key('service-accounts')}",
            f"--feature-gates={FEATURES}", f"--runtime-config={API_VERSIONS}",
            "--shutdown-delay-duration=0s", "--v=2",
        ]

    def _controller_manager(self) -> list[str]:
        pki = self._pki
        return [
            *self._client("controller-manager"), "--use-service-account-credentials=true",
            f"--root-ca-file={pki.certificate(AUTHORITY)}",
            f"--service-account-private-key-file={pki.key('service-accounts')}",
            f"--cluster-signing-cert-file={pki.certificate(AUTHORITY)}",
            f"--cluster-signing-key-file={pki.key(AUTHORITY)}",
            "--bind-address=127.0.0.1", "--allocate-node-cidrs=false", f"--feature-gates={FEATURES}",
            # Kubelets tell of themselves every second: one that is silent for so long is away.
            "--node-monitor-period=1s", "--node-monitor-grace-period=16s",
            # With the default of 20 requests a second its controllers need 4 s to begin.
            "--kube-api-qps=1000", "--kube-api-burst=1000",
        ]

    def _scheduler(self) -> list[str]:
        return [*self._client("scheduler"), "--bind-address=127.0.0.1", f"--feature-gates={FEATURES}"]

    def _client(self, identity: str) -> list[str]:
        file = self._pki.kubeconfig(identity)
        return [
            f"--kubeconfig={file}", f"--authentication-kubeconfig={file}", f"--authorization-kubeconfig={file}",
            "--leader-elect=false", "--profiling=false", "--v=2",
        ]


def kubelet_access() -> dict[str, Any]:
    """The API server may ask a kubelet for logs, exec and the like, and is nobody's master."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": KUBELET_CLIENT},
        "subjects": [{"apiGroup": group, "kind": "User", "name": KUBELET_CLIENT}],
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
    }


def unfinished(body: str) -> str:
    """What /readyz?verbose says is not done: the first few, which the others wait for."""
    failed = [line.split()[0][3:] for line in body.splitlines() if line.startswith("[-]")]
    if not failed:
        return body.strip()[:200]
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return "not done yet: " + ", ".join(failed[:3]) + more
