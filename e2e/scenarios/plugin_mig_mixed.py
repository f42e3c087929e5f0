"""With the mixed strategy a slice is a resource of its own, and its pod gets the slice's capabilities."""

from testbench.verbs import (
    allocatable, apply, exec_in, expect, on_node, open_in, partition, phase, pod, serve, wait_for,
)

NODES = {"dgx": "dgx-a100-40"}
SLICE = "nvidia.com/mig-1g.5gb"


def scenario():
    partition("dgx", gpu=0, want="1g.5gb:7")
    partition("dgx", gpu=1, want="3g.20gb:2")
    serve("gpus", on="dgx", mig="mixed")
    wait_for(allocatable(SLICE, on="dgx"), 7)
    wait_for(allocatable("nvidia.com/mig-3g.20gb", on="dgx"), 2)
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 6)

    apply(pod("slice", on="dgx", limits={SLICE: 1}))
    wait_for(phase("slice"), "Running")
    expect(exec_in("slice", "ls /dev/nvidia[0-9]*"), "/dev/nvidia0")
    caps = exec_in("slice", "ls /dev/nvidia-caps").split()
    expect(len(caps), 2, "capability nodes of the pod: its GPU instance's and its compute instance's")
    minors = on_node("dgx", "grep '^gpu0/gi' /proc/driver/nvidia-caps/mig-minors")
    owned = [line.split()[0] for line in minors.splitlines() if f"nvidia-cap{line.split()[1]}" in caps]
    instance = owned[0].split("/")[1]
    expect(sorted(owned), [f"gpu0/{instance}/access", f"gpu0/{instance}/ci0/access"], "what they give access to")
    expect(open_in("slice", f"/dev/nvidia-caps/{caps[0]}"), "ENXIO")
