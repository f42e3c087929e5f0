"""Devices that the container's runtime finds in its environment or mounts: containerd has our runtime as a handler, and
inside the pod NVML lists those that kubelet gave, and no other."""

from testbench.node_files import RUNTIME_HANDLER
from testbench.verbs import (
    allocatable, apply, delete, exec_in, expect, given, nvml_in, phase, pod, serve, wait_for, withdraw,
)
from testbench.verbs_manifests import CUDA_IMAGE, runtime_class

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's runtime is not among the bench's programs


def scenario():
    apply(runtime_class(RUNTIME_HANDLER))
    for strategy in ("envvar", "volume-mounts"):
        serve("gpus", on="dgx", strategy=strategy)
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
        for name, runtime in {strategy: RUNTIME_HANDLER, f"{strategy}-without": ""}.items():
            apply(pod(name, on="dgx", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE, runtime=runtime))
            wait_for(phase(name), "Running")
        expect(len(given(strategy, on="dgx")), 2, "GPUs of the pod")
        expect(nvml_in(strategy), given(strategy, on="dgx"))
        # It was the runtime: without it the pod has but a name.
        expect(exec_in(f"{strategy}-without", "ls /dev | grep -c nvidia || true"), "0")
        for name in (strategy, f"{strategy}-without"):
            delete("pod", name)
        withdraw("gpus", on="dgx")
    delete("runtimeclass", RUNTIME_HANDLER)
