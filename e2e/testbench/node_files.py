"""What kubelet and containerd of a node are told, as the texts of their configuration files."""

import json
from pathlib import Path
from typing import Any

from testbench import addresses, network
from testbench import pki as pki_files
from testbench.addresses import NodeAddresses
from testbench.pki import AUTHORITY, Pki

SANDBOX_IMAGE = "partita.test/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CONTAINERD_CONFIG = "/etc/containerd/config.toml"
KUBELET_CONFIG = "/etc/kubernetes/kubelet.json"
BASE_SPEC = "/etc/containerd/base-spec.json"
STATE = "/run/partita-sim/sim"
RUNC = "/usr/sbin/runc"
# For pods of the class that names this handler; a stack that has such a runtime puts it there.
RUNTIME_HANDLER = "nvidia"
RUNTIME = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
RUNTIME_CONFIG = "/etc/nvidia-container-runtime/config.toml"
KUBELET_ACCESS = "/etc/kubernetes/kubelet.kubeconfig"
KEYS = Path("/etc/kubernetes/pki")

# What a kubelet would otherwise write to the one kernel that all nodes and the host share.
KERNEL_SETTINGS = {
    "/proc/sys/vm/overcommit_memory": "1\n",
    "/proc/sys/vm/panic_on_oom": "0\n",
    "/proc/sys/kernel/panic": "10\n",
    "/proc/sys/kernel/panic_on_oops": "1\n",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000\n",
    "/proc/sys/kernel/keys/root_maxbytes": "25000000\n",
}


def files(
    node: str, pki: Pki, cgroup: str, snapshotter: str, base_spec: dict[str, Any], plan: dict[str, NodeAddresses],
    control_plane: str,
) -> dict[str, str]:
    """Path on the node -> text."""
    return {
        **keys_of(node, pki),
        "/etc/hosts": addresses.hosts_file(control_plane, plan),
        "/etc/hostname": node + "\n",
        "/etc/resolv.conf": "",
        CONTAINERD_CONFIG: containerd(snapshotter),
        BASE_SPEC: json.dumps(with_hardware(base_spec), indent=1),
        RUNTIME_CONFIG: "accept-nvidia-visible-devices-as-volume-mounts = true\n",
        KUBELET_CONFIG: json.dumps(kubelet(node, cgroup), indent=1),
        "/etc/cni/net.d/10-pods.conflist": json.dumps(network.pod_network(plan[node]), indent=1),
    }


def keys_of(node: str, pki: Pki) -> dict[str, str]:
    """A node holds its own keys, and of the cluster's others none."""
    client, server = f"{node}-kubelet", f"{node}-kubelet-server"
    own = [pki.certificate(AUTHORITY)]
    own += [path(name) for name in (client, server) for path in (pki.certificate, pki.key)]
    access = json.dumps(pki_files.kubeconfig_document(KEYS, client), indent=1)
    return {KUBELET_ACCESS: access, **{str(KEYS / path.name): path.read_text(encoding="utf-8") for path in own}}


def kubelet(node: str, cgroup: str) -> dict[str, Any]:
    identity = f"{node}-kubelet-server"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki_files.certificate(KEYS, AUTHORITY))},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki_files.certificate(KEYS, identity)),
        "tlsPrivateKeyFile": str(pki_files.key(KEYS, identity)),
        "readOnlyPort": 0,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "oomScoreAdj": 0,  # a lower one than its parent's needs CAP_SYS_RESOURCE
        "makeIPTablesUtilChains": False,
        "protectKernelDefaults": True,
        "resolvConf": "",
        "localStorageCapacityIsolation": False,
        # The disk is the host's: how full it is says nothing about the node.
        "evictionHard": {name: "0%" for name in ("imagefs.available", "nodefs.available", "nodefs.inodesFree")},
        "imageGCHighThresholdPercent": 100,
        "featureGates": {"DRADeviceTaintRules": True},
        # A program that is killed twenty times on purpose is no reason to wait for minutes.
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        # What changes is told within a second; what does not, as seldom as always.
        "nodeStatusUpdateFrequency": "1s",
        "nodeStatusReportFrequency": "5m",
        "nodeLeaseDurationSeconds": 8,  # renewed at a quarter of it, far within the grace period
        "logging": {"verbosity": 2},
    }


def containerd(snapshotter: str) -> str:
    runtime = "plugins.'io.containerd.cri.v1.runtime'"
    runtimes = "".join(
        handler(f"{runtime}.containerd.runtimes.{name}", path)
        for name, path in {"runc": RUNC, RUNTIME_HANDLER: RUNTIME}.items()
    )
    return f"""\
version = 3
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.differ.v1.erofs",
]

[grpc]
  address = "{CONTAINERD_SOCKET}"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "{snapshotter}"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{SANDBOX_IMAGE}"

[{runtime}]
  restrict_oom_score_adj = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [{runtime}.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "/etc/cni/net.d"
{runtimes}"""


def handler(table: str, program: str) -> str:
    return f"""\
  [{table}]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "{BASE_SPEC}"
    [{table}.options]
      BinaryName = "{program}"
"""


def with_hardware(base_spec: dict[str, Any]) -> dict[str, Any]:
    """What the kernel of a machine with a driver shows in every container: the hardware, by the state that
    stands for it, and /proc/driver. Libraries, nodes and programs are for those who inject."""
    mount = {"destination": STATE, "type": "bind", "source": STATE, "options": ["rbind", "rw"]}
    hooks = {"createContainer": [driver_in_proc(), *base_spec.get("hooks", {}).get("createContainer", [])]}
    return {
        **base_spec,
        "mounts": [*base_spec["mounts"], mount],
        "hooks": {**base_spec.get("hooks", {}), **hooks},
    }


def driver_in_proc() -> dict[str, Any]:
    """A loaded driver shows its /proc/driver/nvidia in every container, and NVIDIA's own hooks look there.
    runc refuses mounts below /proc; its hooks of this kind run in the container's root folder, before it
    becomes the root (runc 1.1, libcontainer/rootfs_linux.go)."""
    return {"path": "/bin/mount", "args": ["mount", "--bind", "/proc/driver", "proc/driver"]}
