"""MIG is laid out anew under a pod: new resources appear, the pod keeps its slice, and what it holds is not taken."""

from testbench.verbs import (
    allocatable, apply, delete, expect, expect_match, field, given, measure, namespace, nvml_in, on_node, partition,
    phase, pod, repartition, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import agent_restarts
from testbench.verbs_work import work_in

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin lists slices at its start: another layout needs another start
CHANGE = "partita mig apply --gpu 0 --yes --want"


def scenario():
    partition("dgx", gpu=0, want="3g.20gb,1g.5gb:2")
    serve("gpus", on="dgx", mig="mixed")
    wait_for(allocatable("nvidia.com/mig-3g.20gb", on="dgx"), 1)
    wait_for(allocatable("nvidia.com/mig-1g.5gb", on="dgx"), 2)
    apply(pod("idle", on="dgx", limits={"nvidia.com/mig-3g.20gb": 1}, image=CUDA_IMAGE))
    wait_for(phase("idle"), "Running")
    slices = given("idle", on="dgx")

    on_node("dgx", f"{CHANGE} 3g.20gb,2g.10gb")
    wait_for(allocatable("nvidia.com/mig-2g.10gb", on="dgx"), 1)
    wait_for(allocatable("nvidia.com/mig-1g.5gb", on="dgx"), lambda amount: amount in ("", "0"))
    expect(nvml_in("idle"), slices)
    expect(field("pod", "idle", "status", "containerStatuses", "main", "restartCount"), 0)
    expect(agent_restarts("dgx"), 0)
    apply(pod("new", on="dgx", limits={"nvidia.com/mig-2g.10gb": 1}, image=CUDA_IMAGE, runs="exec sleep 86397"))
    wait_for(phase("new"), "Running")
    expect(nvml_in("new"), given("new", on="dgx"))
    work_in("new", on="dgx", gpu=0, sleeps=86397)

    # The idle pod has started nothing on its slice; it was given it, and that is enough.
    refused = on_node("dgx", f"{CHANGE} 7g.40gb 2>&1 || echo status $?")
    expect_match(refused, rf"pod {namespace()}/idle \(main\)(.|\n)*status 4")
    expect(nvml_in("idle"), slices)
    for name in ("idle", "new"):
        delete("pod", name)
    with measure("slices are free after their pods"):
        repartition("dgx", gpu=0, want="7g.40gb")
    wait_for(allocatable("nvidia.com/mig-7g.40gb", on="dgx"), 1)
