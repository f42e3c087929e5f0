"""The keys and certificates of a cluster, made by openssl: one authority signs them all."""

import dataclasses
import json
import subprocess
from pathlib import Path

from support.shell import SetupError
from testbench import addresses

DAYS = 30
AUTHORITY = "ca"
KUBELET_CLIENT = "kube-apiserver-kubelet-client"  # what the API server is to a kubelet


@dataclasses.dataclass(frozen=True)
class Identity:
    """A certificate: `groups` are what Kubernetes takes from its organisations; a server's has names."""

    file: str
    name: str
    groups: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()  # "DNS:…", "IP:…"

    @property
    def subject(self) -> str:
        return "".join(f"/O={group}" for group in self.groups) + f"/CN={self.name}"

    @property
    def extensions(self) -> str:
        lines = ["basicConstraints=CA:FALSE", "keyUsage=digitalSignature,keyEncipherment"]
        lines.append("extendedKeyUsage=clientAuth" + (",serverAuth" if self.serves else ""))
        if self.serves:
            lines.append("subjectAltName=" + ",".join(self.serves))
        return "\n".join(lines) + "\n"


def control_plane_identities() -> list[Identity]:
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc",
             "kubernetes.default.svc.cluster.local", "localhost")
    ips = (addresses.CONTROL_PLANE, addresses.API_SERVICE, "127.0.0.1")
    return [
        Identity("api-server", "kube-apiserver",
                 serves=(*(f"DNS:{name}" for name in names), *(f"IP:{ip}" for ip in ips))),
        Identity("api-server-to-kubelet", KUBELET_CLIENT),
        Identity("admin", "admin", ("system:masters",)),
        Identity("controller-manager", "system:kube-controller-manager"),
        Identity("scheduler", "system:kube-scheduler"),
    ]


def node_identities(node: str, address: str) -> list[Identity]:
    """What the kubelet says it is, in the form that the Node authorizer knows, and what it serves as."""
    return [
        Identity(f"{node}-kubelet", f"system:node:{node}", ("system:nodes",)),
        Identity(f"{node}-kubelet-server", f"system:node:{node}", ("system:nodes",),
                 serves=(f"DNS:{node}", f"IP:{address}")),
    ]


class Pki:
    """Files in one folder: NAME.key and NAME.crt for each identity."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def make_authority(self) -> None:
        self._openssl(
            "req", "-x509", *NEW_KEY, "-keyout", self.key(AUTHORITY), "-out", self.certificate(AUTHORITY),
            "-subj", "/CN=partita-e2e", "-days", str(DAYS), "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )
        service_accounts = self.key("service-accounts")
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", service_accounts)
        self._openssl("pkey", "-in", service_accounts, "-pubout", "-out", self.folder / "service-accounts.pub")

    def issue(self, identity: Identity) -> None:
        request = self.folder / f"{identity.file}.csr"
        extensions = self.folder / f"{identity.file}.ext"
        extensions.write_text(identity.extensions, encoding="utf-8")
        self._openssl(
            "req", *NEW_KEY, "-keyout", self.key(identity.file), "-out", request, "-subj", identity.subject,
        )
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate(AUTHORITY), "-CAkey", self.key(AUTHORITY),
            "-days", str(DAYS), "-extfile", extensions, "-out", self.certificate(identity.file),
        )

    def key(self, name: str) -> Path:
        return key(self.folder, name)

    def certificate(self, name: str) -> Path:
        return certificate(self.folder, name)

    def kubeconfig(self, name: str) -> Path:
        """The file with which the identity `name` talks to the API server."""
        path = self.folder / f"{name}.kubeconfig"
        text = json.dumps(kubeconfig_document(self.folder, name), indent=1)
        path.write_text(text, encoding="utf-8")
        return path

    def _openssl(self, *arguments: str | Path) -> None:
        command = ["openssl", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise SetupError(f"{' '.join(command)}: {done.stderr.strip()}")


def key(folder: Path, name: str) -> Path:
    return folder / f"{name}.key"


def certificate(folder: Path, name: str) -> Path:
    return folder / f"{name}.crt"


def kubeconfig_document(folder: Path, name: str) -> dict:
    server = f"https://{addresses.CONTROL_PLANE}:{addresses.API_PORT}"
    user = {"client-certificate": str(certificate(folder, name)), "client-key": str(key(folder, name))}
    cluster = {"server": server, "certificate-authority": str(certificate(folder, AUTHORITY))}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
        "current-context": "e2e",
    }


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
