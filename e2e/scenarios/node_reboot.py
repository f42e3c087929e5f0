"""A node that reboots comes back under a new boot id, with its GPUs, and restarts its pods."""

from testbench.verbs import (
    allocatable, apply, boot_id, exec_in, expect, field, node_ready, on_node, phase, pod, reboot, serve, wait_for,
)

NODES = {"mixed": "mixed"}


def scenario():
    serve("gpus", on="mixed")
    wait_for(allocatable("nvidia.com/gpu", on="mixed"), 3)
    apply(pod("keeper", on="mixed", restart="Always"))
    wait_for(phase("keeper"), "Running")
    first_boot, gpus = boot_id("mixed").look(), on_node("mixed", "nvidia-smi -L")

    reboot("mixed")

    def another(seen):
        """another than before"""
        return seen not in ("", first_boot)

    wait_for(boot_id("mixed"), another)
    wait_for(node_ready("mixed"), "True")
    expect(on_node("mixed", "nvidia-smi -L"), gpus)
    wait_for(allocatable("nvidia.com/gpu", on="mixed"), 3)
    wait_for(field("pod", "keeper", "status", "containerStatuses", "main", "restartCount"), 1)
    wait_for(field("pod", "keeper", "status", "conditions", "Ready", "status"), "True")
    expect(exec_in("keeper", "echo alive"), "alive")
