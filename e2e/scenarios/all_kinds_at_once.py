"""On one node at the same time: a whole GPU, slices of a second model and shares of a third, all given away."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, given, nvml_in, partition, phase, pod, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"mixed": "mixed"}  # 0: T4, 1: V100, 2: A100
STACKS = ["partita"]  # NVIDIA's plugin shares all GPUs of a resource or none
SHARED = {"name": "nvidia.com/gpu", "rename": "nvidia.com/gpu.shared", "replicas": 3, "devices": ["0"]}
PODS = {"whole": "gpu", "share-1": "gpu.shared", "share-2": "gpu.shared", "share-3": "gpu.shared",
        "small": "mig-1g.5gb", "large": "mig-3g.20gb"}


def scenario():
    partition("mixed", gpu=2, want="3g.20gb,1g.5gb")
    serve("gpus", on="mixed", mig="mixed", config={"sharing": {"timeSlicing": {"resources": [SHARED]}}})
    for resource, amount in {"gpu": 1, "gpu.shared": 3, "mig-1g.5gb": 1, "mig-3g.20gb": 1}.items():
        wait_for(allocatable(f"nvidia.com/{resource}", on="mixed"), amount)
    for name, resource in PODS.items():
        apply(pod(name, on="mixed", limits={f"nvidia.com/{resource}": 1}, image=CUDA_IMAGE))
    for name in PODS:
        wait_for(phase(name), "Running")
    devices = {name: given(name, on="mixed") for name in PODS}
    for name in PODS:
        expect(nvml_in(name), devices[name], f"what NVML lists in pod {name}")
    expect(devices["share-1"] == devices["share-2"] == devices["share-3"], True, "three shares are of one GPU")
    expect(devices["whole"] == devices["share-1"], False, "the whole GPU is the shared one")
    for name in ("small", "large"):
        expect_match(devices[name][0], "^MIG-")
