"""A GPU whose slice a pod works on keeps that slice through a change, and partita names the pod."""

from testbench.verbs import (
    allocatable, apply, delete, exec_in, expect, expect_match, namespace, on_node, partition, phase, pod, repartition,
    serve, served_by, wait_for,
)
from testbench.verbs_work import work_in

NODES = {"dgx": "dgx-a100-40"}
SLICE = "nvidia.com/mig-3g.20gb"


def scenario():
    partition("dgx", gpu=2, want="3g.20gb:2")
    serve("gpus", on="dgx", mig="mixed")
    wait_for(allocatable(SLICE, on="dgx"), 2)
    apply(pod("train", on="dgx", limits={SLICE: 1}, runs="exec sleep 86399"))
    wait_for(phase("train"), "Running")
    work_in("train", on="dgx", gpu=2, sleeps=86399)

    whole = "partita mig apply --gpu 2 --yes --want 7g.40gb"
    expect_match(on_node("dgx", f"{whole} 2>&1 || echo status $?"), rf"pod {namespace()}/train \(main\)(.|\n)*status 4")
    expect_match(on_node("dgx", "partita status --gpu 2"), rf"{namespace()}/train \(main\)")

    on_node("dgx", "partita mig apply --gpu 2 --yes --want 3g.20gb,1g.5gb:3")
    expect(exec_in("train", "cat /proc/1/comm"), "sleep")
    if served_by() == "partita":
        return  # it learns a minute later that the pod has gone: layout_under_pods waits for that
    delete("pod", "train")
    repartition("dgx", gpu=2, want="7g.40gb")
