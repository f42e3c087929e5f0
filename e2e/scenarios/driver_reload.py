"""The driver is reloaded under the agent: the GPUs are offered again, under the same names, without a restart."""

from testbench.verbs import (
    allocatable, apply, expect, given, measure, nvml_in, phase, pod, reload_driver, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin keeps its session with the driver that went until somebody restarts it


def scenario():
    serve("gpus", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    reload_driver("dgx")
    with measure("GPUs are offered after a reload"):
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8, within=40)
    apply(pod("all", on="dgx", limits={"nvidia.com/gpu": 8}, image=CUDA_IMAGE))
    wait_for(phase("all"), "Running")
    expect(nvml_in("all"), given("all", on="dgx"))
    expect(agent_restarts("dgx"), 0)
