"""A GPU is exchanged for another model: the pod that waited for it lands there, and nothing is left of the old one."""

import statistics

from testbench.verbs import (
    apply, delete, exchange_board, expect, field, label, load_driver, note, now, phase, pod, serve, wait_for,
)
from testbench.verbs_labels import shown, there
from testbench.verbs_observe import agent_restarts, driver_answers

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
STACKS = ["partita"]
PRODUCT = "nvidia.com/gpu.product"
A100, A30, T4 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A30", "Tesla-T4"
MEDIAN_SECONDS = 2  # of three: one may be late on a busy machine


def on_model(name, product):
    """Nobody names a node."""
    chosen = pod(name, limits={"nvidia.com/gpu": 1})
    chosen["spec"]["nodeSelector"] = {PRODUCT: product}
    return chosen


def exchange(board, product):
    """The seconds from the driver's word, to whoever asks it, to the labels."""
    exchange_board("mixed", 0, board)
    load_driver("mixed")
    wait_for(driver_answers("mixed"), "yes")
    begun = now()
    wait_for(label(PRODUCT, on="mixed"), product, within=60)
    return now() - begun


def scenario():
    for node in NODES:
        serve("gpus", on=node)
    wait_for(label(PRODUCT, on="dgx"), A100)
    wait_for(label(PRODUCT, on="mixed"), T4)
    apply(on_model("a100", A100), on_model("t4", T4))
    for name, node in (("a100", "dgx"), ("t4", "mixed")):
        wait_for(phase(name), "Running")
        expect(field("pod", name, "spec", "nodeName"), node)
    delete("pod", "t4")
    seconds = [exchange("A30", A30), exchange("T4", T4)]
    apply(on_model("a30", A30))
    expect(phase("a30"), "Pending")
    seconds.append(exchange("A30", A30))
    told = " ".join(f"{each:.2f}" for each in seconds)
    note("s from the driver's word to the labels", told)
    expect(statistics.median(seconds) <= MEDIAN_SECONDS, True, f"labels follow within {MEDIAN_SECONDS} s ({told})")
    wait_for(phase("a30"), "Running")
    expect(field("pod", "a30", "spec", "nodeName"), "mixed")
    expect(there("mixed"), shown("mixed"), "labels of node mixed without its T4")
    expect(label("nvidia.com/gpu.family", on="mixed"), "ampere")

    # Nobody asks in vain for what is gone, nor loses what is elsewhere.
    apply(on_model("late", T4))
    expect(phase("late"), "Pending")
    expect(phase("a100"), "Running")
    expect(agent_restarts("mixed"), 0)
    delete("pod", "a30")
