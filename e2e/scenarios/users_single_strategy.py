"""The users' pod for MIG, single strategy: what the node calls a GPU is a slice."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, given, manifest, nvml_in, partition, phase, serve, wait_for,
)
from testbench.verbs_selectors import selector

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    for gpu in range(8):
        partition("dgx", gpu=gpu, want="1g.5gb:7")
    serve("gpus", on="dgx", mig="single")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 56)
    apply(manifest("one-gpu", selector("dgx", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", gpu_count=56)))
    wait_for(phase("gpu-example"), "Running")
    (device,) = given("gpu-example", on="dgx")
    expect_match(device, "^MIG-")
    expect(nvml_in("gpu-example"), [device])
