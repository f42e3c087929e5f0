"""Eight GPUs with five replicas each are forty, and a pod that asks for two of them gets shares of two GPUs."""

from testbench.verbs import allocatable, apply, expect, given, nvml_in, phase, pod, serve, wait_for
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    serve("gpus", on="dgx", replicas=5)
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 40)
    apply(pod("two", on="dgx", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE))
    wait_for(phase("two"), "Running")
    expect(len(given("two", on="dgx")), 2, "GPUs that the pod has shares of")
    expect(nvml_in("two"), given("two", on="dgx"))
