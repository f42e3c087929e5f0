"""A pod that asks for two of eight GPUs sees two, and can open no other."""

from testbench.verbs import allocatable, apply, exec_in, expect, measure, open_in, phase, pod, serve, wait_for

NODES = {"dgx": "dgx-a100-40"}
CONTROL = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}


def scenario():
    with measure("GPUs are allocatable"):
        serve("gpus", on="dgx")
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    with measure("a pod with two GPUs runs"):
        apply(pod("two", on="dgx", limits={"nvidia.com/gpu": 2}))
        wait_for(phase("two"), "Running")

    gpus = exec_in("two", "ls /dev/nvidia[0-9]*").split()
    expect(len(gpus), 2, "number of GPUs in the pod")
    nodes = set(exec_in("two", "ls -d /dev/nvidia*").split())
    expect(nodes - set(gpus), CONTROL, "other nodes of the driver in the pod")

    minor = next(n for n in range(8) if f"/dev/nvidia{n}" not in gpus)
    exec_in("two", f"mknod /tmp/stranger c 195 {minor}")
    expect(open_in("two", gpus[0]), "ENXIO")  # granted; a simulated GPU has no driver behind its number
    expect(open_in("two", "/tmp/stranger"), "EPERM")

    apply(pod("none", on="dgx"))
    wait_for(phase("none"), "Running")
    expect(exec_in("none", "ls /dev | grep -c nvidia || true"), "0")
