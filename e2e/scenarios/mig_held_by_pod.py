"""A GPU whose slice a pod works on keeps that slice through a change, and partita names the pod."""

from testbench.verbs import (
    allocatable, apply, delete, exec_in, expect, expect_match, on_node, partition, phase, pod, serve, wait_for,
)

NODES = {"dgx": "dgx-a100-40"}
SLICE = "nvidia.com/mig-3g.20gb"


def scenario():
    partition("dgx", gpu=2, want="3g.20gb:2")
    serve("gpus", on="dgx", mig="mixed")
    wait_for(allocatable(SLICE, on="dgx"), 2)
    apply(pod("train", on="dgx", limits={SLICE: 1}, runs="exec sleep 86399"))
    wait_for(phase("train"), "Running")
    work_on_slice()

    whole = "partita mig apply --gpu 2 --yes --want 7g.40gb"
    expect_match(on_node("dgx", f"{whole} 2>&1 || echo status $?"), r"pod default/train \(main\)(.|\n)*status 4")
    expect_match(on_node("dgx", "partita status --gpu 2"), r"default/train \(main\)")

    on_node("dgx", "partita mig apply --gpu 2 --yes --want 3g.20gb,1g.5gb:3")
    expect(exec_in("train", "cat /proc/1/comm"), "sleep")
    delete("pod", "train")
    on_node("dgx", whole)


def work_on_slice():
    """The container's process uses the slice that it was given, as CUDA would."""
    node = exec_in("train", "ls /dev/nvidia-caps | head -1").removeprefix("nvidia-cap")
    instance = on_node("dgx", f"sed -n 's|^gpu2/gi\\([0-9]*\\)/.* {node}$|\\1|p' /proc/driver/nvidia-caps/mig-minors")
    process = on_node("dgx", "grep -lzx '8639[9]' /proc/[0-9]*/cmdline | cut -d/ -f3")
    on_node("dgx", f"partita-sim workload start --gpu 2 --mig {instance}:0 --memory 4GiB --pid {process}")
