"""Uninstalled while a GPU is shared by MPS, the chart leaves it exclusive, and `partita mps restore` puts it back."""

import json
import re

from testbench.stack import DRIVER_ROOT
from testbench.stack_partita import CHART
from testbench.verbs import allocatable, expect, kubectl, on_node, wait_for
from testbench.verbs_chart import helm, install_chart
from testbench.verbs_mps import compute_modes

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
GPU = "nvidia.com/gpu"
SHARED = {"version": "v1", "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 2, "devices": ["0"]}]}}}
# On other nodes of the cluster GPU 0 would be shared too.
VALUES = {
    "mps": {"enabled": True}, "config": {"map": {"default": json.dumps(SHARED)}},
    "nodeSelector": {"kubernetes.io/hostname": "dgx"},
}
EXCLUSIVE, DEFAULT = " ".join(["Exclusive_Process", *["Default"] * 7]), " ".join(["Default"] * 8)


def image():
    version = re.search(r"^appVersion: (.*)$", (CHART / "Chart.yaml").read_text(encoding="utf-8"), re.M)[1]
    return f"partita.dev/partita:{version}"


def scenario():
    install_chart(VALUES)
    wait_for(compute_modes("dgx"), EXCLUSIVE)
    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    wait_for(allocatable(GPU, on="dgx"), 0)
    expect(compute_modes("dgx"), EXCLUSIVE)

    # As docs/install.md says; the node has no partita of its own.
    kubectl(
        "debug", "node/dgx", f"--image={image()}", "--image-pull-policy=Never", "--profile=sysadmin", "--quiet", "--",
        "partita", "mps", "restore", "--host-root=/host", f"--driver-root=/host{DRIVER_ROOT}",
        words="put the modes back from a pod",
    )
    wait_for(compute_modes("dgx"), DEFAULT)
    on_node("dgx", "umount /run/nvidia/mps/*/shm")
