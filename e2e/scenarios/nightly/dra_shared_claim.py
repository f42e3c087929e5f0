"""Two pods share one claim for one GPU: both see the same GPU, and no other."""

from testbench.verbs import (
    apply, claim, delete, exec_in, expect, field, measure, open_in, phase, pod, published, serve, wait_for,
)

PROGRAMS = ["gpu-kubelet-plugin"]
NODES = {"dgx": "dgx-a100-40"}


def scenario():
    with measure("GPUs are published"):
        serve("claims", on="dgx")
        wait_for(published("gpu.nvidia.com", on="dgx"), 8)
    apply(claim("shared", of="gpu.nvidia.com"))
    with measure("two pods with one claim run"):
        for name in ("first", "second"):
            apply(pod(name, claims={"gpu": "shared"}))
        for name in ("first", "second"):
            wait_for(phase(name), "Running")

    seen = [exec_in(name, "ls /dev/nvidia[0-9]*") for name in ("first", "second")]
    expect(len(seen[0].split()), 1, "number of GPUs in the first pod")
    expect(seen[1], str(seen[0]), "GPU of the second pod")
    minor = (int(seen[0][len("/dev/nvidia"):]) + 1) % 8
    for name in ("first", "second"):
        exec_in(name, f"mknod /tmp/stranger c 195 {minor}")
        expect(open_in(name, seen[0]), "ENXIO")
        expect(open_in(name, "/tmp/stranger"), "EPERM")
        delete("pod", name)
    wait_for(field("resourceclaim", "shared", "status", "reservedFor"), "")
