"""A GPU is exchanged for another model: the pod that waited for it lands there, and nothing is left of the old model."""

from testbench.verbs import (
    apply, delete, exchange_board, expect, field, label, labels, load_driver, measure, on_node, phase, pod, serve, wait_for,
)
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
STACKS = ["partita"]
PRODUCT = "nvidia.com/gpu.product"
A100, A30, T4 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A30", "Tesla-T4"


def on_model(name, product):
    """Nobody names a node."""
    chosen = pod(name, limits={"nvidia.com/gpu": 1})
    chosen["spec"]["nodeSelector"] = {PRODUCT: product}
    return chosen


def scenario():
    for node in NODES:
        serve("gpus", on=node)
    wait_for(label(PRODUCT, on="dgx"), A100)
    wait_for(label(PRODUCT, on="mixed"), T4)
    apply(on_model("a100", A100), on_model("t4", T4), on_model("a30", A30))
    for name, node in (("a100", "dgx"), ("t4", "mixed")):
        wait_for(phase(name), "Running")
        expect(field("pod", name, "spec", "nodeName"), node)
    expect(phase("a30"), "Pending")

    delete("pod", "t4")
    exchange_board("mixed", 0, "A30")
    with measure("labels follow an exchanged GPU, from the driver's load"):
        load_driver("mixed")
        wait_for(label(PRODUCT, on="mixed"), A30, within=60)
    wait_for(phase("a30"), "Running")
    expect(field("pod", "a30", "spec", "nodeName"), "mixed")
    written = labels("nvidia.com/", on="mixed") | labels("partita.dev/", on="mixed")
    expect(sorted(key for key, value in written.items() if T4 in value), [], "labels of the board that went")
    expect(written["nvidia.com/gpu.family"], "ampere")

    # Nobody asks in vain for what is gone, nor loses what is elsewhere.
    apply(on_model("late", T4))
    expect(phase("late"), "Pending")
    expect(phase("a100"), "Running")
    expect(agent_restarts("mixed"), 0)
    delete("pod", "a30")
