"""The users' pods for time-slicing: a share of a GPU and a share of a slice, under the names of shared ones."""

from testbench.verbs import (
    allocatable, apply, delete, expect, given, manifest, nvml_in, partition, phase, serve, wait_for,
)
from testbench.verbs_selectors import selector

NODES = {"dgx": "dgx-a100-40"}
SHARING = {"timeSlicing": {"renameByDefault": True, "resources": [
    {"name": "nvidia.com/gpu", "replicas": 10}, {"name": "nvidia.com/mig-1g.5gb", "replicas": 10},
]}}


def scenario():
    partition("dgx", gpu=0, want="1g.5gb:7")
    serve("gpus", on="dgx", mig="mixed", config={"sharing": SHARING})
    wait_for(allocatable("nvidia.com/gpu.shared", on="dgx"), 70)
    wait_for(allocatable("nvidia.com/mig-1g.5gb.shared", on="dgx"), 70)
    # Shares under names of their own leave the product's as it is.
    select = selector("dgx", "NVIDIA-A100-SXM4-40GB", gpu_replicas=10)
    for name in ("shared-gpu", "shared-slice"):
        apply(manifest(name, select))
        wait_for(phase("gpu-example"), "Running")
        (device,) = given("gpu-example", on="dgx")
        expect(nvml_in("gpu-example"), [device])
        delete("pod", "gpu-example")
