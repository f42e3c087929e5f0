"""A GPU falls off the bus and returns: it alone is taken out, and it is back without anybody's help."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, fault, given, measure, nvml_in, on_node, phase, pod, serve, wait_for,
)
from testbench.verbs_listed import BACK_SECONDS, OUT_SECONDS, measure_listed
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # what NVIDIA's plugin takes out stays out until somebody restarts it


def scenario():
    serve("gpus", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    out = "a lost GPU is taken out"
    with measure(out), measure_listed(out, "nvidia.com/gpu", on="dgx", most=OUT_SECONDS):
        lost = fault("lost", on="dgx", gpu=2)
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 7, within=5)
    expect_match(on_node("dgx", "partita health || [ $? -eq 3 ]"), "lost|79")
    apply(pod("seven", on="dgx", limits={"nvidia.com/gpu": 7}, image=CUDA_IMAGE))
    wait_for(phase("seven"), "Running")

    back = "a GPU that returned is offered"
    with measure(back), measure_listed(back, "nvidia.com/gpu", on="dgx", most=BACK_SECONDS):
        lost.end()
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8, within=40)
    expect(nvml_in("seven"), given("seven", on="dgx"))
    expect(agent_restarts("dgx"), 0)
