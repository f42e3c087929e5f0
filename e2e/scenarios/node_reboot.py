"""A node that reboots comes back under a new boot id, with its GPUs, and restarts its pods; no GPU is given twice.

A pod with a GPU gets it again without anybody being asked, or kubelet rejects it, whoever serves: it takes its pods up
before what serves the GPUs has registered.
"""

import json

from testbench.verbs import (
    allocatable, apply, boot_id, delete, exec_in, expect, expect_match, field, given, node_ready, note, nvml_in, on_node,
    phase, pod, reboot, serve, wait_for,
)
from testbench.verbs_kills import NOBODYS_ANSWER, REJECTED
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"mixed": "mixed"}
GPU = "nvidia.com/gpu"
GPUS = 3
HOLDERS = ["holder-1", "holder-2"]


def scenario():
    serve("gpus in a pod", on="mixed")
    wait_for(allocatable(GPU, on="mixed"), GPUS)
    apply(pod("keeper", on="mixed", restart="Always"))
    for name in HOLDERS:
        apply(pod(name, on="mixed", restart="Always", limits={GPU: 1}, image=CUDA_IMAGE))
    for name in ("keeper", *HOLDERS):
        wait_for(phase(name), "Running")
    first_boot, gpus = boot_id("mixed").look(), on_node("mixed", "nvidia-smi -L")
    before = {name: given(name, on="mixed") for name in HOLDERS}

    reboot("mixed")

    def another(seen):
        """another than before"""
        return seen not in ("", first_boot)

    wait_for(boot_id("mixed"), another)
    wait_for(node_ready("mixed"), "True")
    expect(on_node("mixed", "nvidia-smi -L"), gpus)
    wait_for(allocatable(GPU, on="mixed"), GPUS)
    wait_for(field("pod", "keeper", "status", "containerStatuses", "main", "restartCount"), 1)
    wait_for(field("pod", "keeper", "status", "conditions", "Ready", "status"), "True")
    expect(exec_in("keeper", "echo alive"), "alive")

    kept = [name for name in HOLDERS if runs_again(name)]
    note(f"pods with a GPU that run again after a reboot, of {len(HOLDERS)}", len(kept))
    for name in kept:
        expect(given(name, on="mixed"), before[name], f"the GPU of pod {name}")
    new = [f"new-{number}" for number in range(GPUS - len(kept))]
    for name in new:
        apply(pod(name, on="mixed", limits={GPU: 1}, image=CUDA_IMAGE))
    for name in new:
        wait_for(phase(name), "Running")
    devices = {name: given(name, on="mixed") for name in kept + new}
    expect(len({device for one in devices.values() for device in one}), GPUS, "different GPUs of the pods that run")
    for name in kept + new:
        expect(nvml_in(name), devices[name], f"what NVML lists in pod {name}")


def settled(status):
    """started again, or given up"""
    seen = json.loads(status) if status.startswith("{") else {}
    again = [one for one in seen.get("containerStatuses", []) if one["restartCount"] > 0 and one["ready"]]
    return seen.get("phase") == "Failed" or bool(again)


def runs_again(name):
    """False: kubelet rejected it, and not for an answer of anybody's; it is deleted."""
    wait_for(field("pod", name, "status"), settled)
    if phase(name).look() == "Running":
        return True
    expect(field("pod", name, "status", "reason"), REJECTED)
    expect_match(field("pod", name, "status", "message").look(), NOBODYS_ANSWER, "why kubelet rejected the pod")
    delete("pod", name)
    return False
