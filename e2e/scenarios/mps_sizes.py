"""Shares by MPS of a named size, and several shares in one container: each has the limits that it asked for."""

from testbench.verbs import (
    allocatable, apply, begin_delete, delete, expect, given, given_ids, nvml_in, phase, pod, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_mps import WELL, compute_modes, cuda_in, multiprocessors_in, stop_sharing

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's has no sizes, and refuses more than one share by MPS
GPU, SMALL, LARGE = "nvidia.com/gpu", "nvidia.com/gpu.small", "nvidia.com/gpu.large"
SIZES = [
    {"name": "small", "replicas": 4, "memory": "8Gi", "threads": 10},
    {"name": "large", "replicas": 1, "memory": "20%", "threads": 50},
]
SHARING = {"mps": {"failRequestsGreaterThanOne": False, "resources": [
    {"name": GPU, "devices": ["1"], "shares": SIZES}, {"name": GPU, "devices": ["2"], "replicas": 4}]}}
TWO_GPUS = {"offer": {"rules": [{"select": {"index": [0, 3, 4, 5, 6, 7]}, "via": "none"}]}}
OFFERED = {GPU: 4, SMALL: 4, LARGE: 1}
# Of 40 GiB and of 108 multiprocessors, in pairs, as the hardware gives them.
PODS = {
    "small": (SMALL, 1, "10", "7G"), "two-small": (SMALL, 2, "20", "15G"), "large": (LARGE, 1, "54", "7G"),
    "two-quarters": (GPU, 2, "54", "19G"),
}


def scenario():
    serve("gpus", on="dgx", mps=True, config={"sharing": SHARING}, agent=TWO_GPUS)
    for resource, amount in OFFERED.items():
        wait_for(allocatable(resource, on="dgx"), amount)
    for name, (resource, shares, _, _) in PODS.items():
        apply(pod(name, on="dgx", limits={resource: shares}, image=CUDA_IMAGE))
    for name, (_, shares, multiprocessors, fits) in PODS.items():
        wait_for(phase(name), "Running")
        expect(len(given_ids(name, on="dgx")), shares, f"shares of {name}")
        expect(nvml_in(name), given(name, on="dgx"))
        expect(multiprocessors_in(name), multiprocessors, f"multiprocessors seen in {name}")
        said = cuda_in(name, "context", f"alloc {fits}", "alloc 2G", "kernel")
        expect(said[1:], [f"context: {WELL}", f"alloc {fits}: {WELL}", "alloc 2G: 2 out of memory", f"kernel: {WELL}"],
               f"what a program in {name} says that takes more than its share")
    expect(len({gpu for name in ("small", "two-small", "large") for gpu in given(name, on="dgx")}), 1,
           "GPUs of the shares of the two sizes")
    for name in PODS:
        begin_delete("pod", name)
    for name in PODS:
        delete("pod", name)
    stop_sharing("dgx", agent=TWO_GPUS)
    wait_for(compute_modes("dgx"), " ".join(["Default"] * 8))
