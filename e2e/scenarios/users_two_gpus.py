"""The user's pod that counts: two of eight GPUs, and NVML in it lists these two."""

from testbench.verbs import allocatable, apply, expect, given, manifest, nvml_in, phase, serve, wait_for
from testbench.verbs_selectors import selector

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    serve("gpus", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    apply(manifest("two-gpus", selector("dgx", "NVIDIA-A100-SXM4-40GB")))
    wait_for(phase("gpu-example"), "Running")
    expect(len(given("gpu-example", on="dgx")), 2, "devices that kubelet gave to the pod")
    expect(nvml_in("gpu-example"), given("gpu-example", on="dgx"))
