"""Nodes are labelled as `partita labels show` says, pods land where their selectors say, and labels follow the GPUs."""

from testbench.verbs import apply, bind, delete, expect, field, label, measure, phase, pod, serve, wait_for
from testbench.verbs_labels import shown, there

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
STACKS = ["partita"]
PRODUCT = "nvidia.com/gpu.product"
DRIVER = "nvidia.com/cuda.driver-version.major"


def scenario():
    for node in NODES:
        serve("gpus", on=node)
    wait_for(label(PRODUCT, on="dgx"), "NVIDIA-A100-SXM4-40GB")
    wait_for(label(PRODUCT, on="mixed"), "Tesla-T4")
    for node in NODES:
        expect(there(node), shown(node), f"labels of node {node}")

    # Where their selectors say; nobody names a node.
    for name, product in (("a100", "NVIDIA-A100-SXM4-40GB"), ("t4", "Tesla-T4")):
        chosen = pod(name, limits={"nvidia.com/gpu": 1})
        chosen["spec"]["nodeSelector"] = {PRODUCT: product, DRIVER: shown("dgx")[DRIVER]}
        apply(chosen)
    for name, node in (("a100", "dgx"), ("t4", "mixed")):
        wait_for(phase(name), "Running")
        expect(field("pod", name, "spec", "nodeName"), node)

    # The machine's first GPU goes: another model is what pods can ask for, and nothing is left of it.
    delete("pod", "t4")
    with measure("labels follow the GPUs"):
        bind("mixed", 0, "vfio")
        wait_for(label(PRODUCT, on="mixed"), "Tesla-V100-SXM2-16GB")
    expect(there("mixed"), shown("mixed"), "labels of node mixed without its T4")
    expect("partita.dev/gpu.2.product" in there("mixed"), False, "a label of a third product")
