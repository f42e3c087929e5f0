"""An XID that the administrator calls fatal takes one slice out, and it comes back when its cause is gone."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, fault, measure, on_node, partition, phase, pod, serve, wait_for, workload,
)
from testbench.verbs_listed import BACK_SECONDS, OUT_SECONDS, measure_listed

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin knows no policy of an XID, and what it takes out stays out
SLICE = "nvidia.com/mig-1g.5gb"
MADE = "ls /proc/driver/nvidia/capabilities/gpu0/mig | grep -o '[0-9]*$' | sort -n | head -1"


def scenario():
    partition("dgx", gpu=0, want="1g.5gb:7")
    serve("gpus", on="dgx", mig="mixed", agent={"health": {"xids": {"31": "reset"}}})
    wait_for(allocatable(SLICE, on="dgx"), 7)
    instance = on_node("dgx", MADE)
    work = workload("dgx", gpu=0, mig=f"{instance}:0", memory="1GiB")

    out = "an XID takes its slice out"
    with measure(out), measure_listed(out, SLICE, on="dgx", most=OUT_SECONDS):
        fault("xid", 31, on="dgx", gpu=0, gi=instance, ci=0)
        wait_for(allocatable(SLICE, on="dgx"), 6, within=5)
    expect(allocatable("nvidia.com/gpu", on="dgx"), 7)
    expect_match(on_node("dgx", "partita health || [ $? -eq 3 ]"), "31")
    apply(pod("neighbour", on="dgx", limits={SLICE: 1}))
    wait_for(phase("neighbour"), "Running")

    back = "a slice is back after its cause"
    with measure(back), measure_listed(back, SLICE, on="dgx", most=BACK_SECONDS):
        work.end()
        wait_for(allocatable(SLICE, on="dgx"), 7, within=15)
