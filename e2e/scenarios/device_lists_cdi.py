"""Both ways of naming CDI devices to the engine: inside the pod NVML lists those that kubelet gave, and no other."""

from testbench.verbs import allocatable, apply, delete, expect, given, nvml_in, phase, pod, serve, wait_for, withdraw
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    for strategy in ("cdi-cri", "cdi-annotations"):
        serve("gpus", on="dgx", strategy=strategy)
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
        apply(pod(strategy, on="dgx", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE))
        wait_for(phase(strategy), "Running")
        expect(len(given(strategy, on="dgx")), 2, "GPUs of the pod")
        expect(nvml_in(strategy), given(strategy, on="dgx"))
        delete("pod", strategy)
        withdraw("gpus", on="dgx")
