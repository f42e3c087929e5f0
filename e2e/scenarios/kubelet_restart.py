"""A pod that asks for two of eight GPUs keeps them while kubelet restarts."""

from testbench.verbs import allocatable, apply, exec_in, expect, phase, pod, restart, serve, wait_for

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    serve("gpus", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    apply(pod("two", on="dgx", limits={"nvidia.com/gpu": 2}))
    wait_for(phase("two"), "Running")
    before = exec_in("two", "ls /dev/nvidia[0-9]*")
    expect(len(before.split()), 2, "number of GPUs in the pod")

    restart("kubelet", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    expect(exec_in("two", "ls /dev/nvidia[0-9]*"), before)
