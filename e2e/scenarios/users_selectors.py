"""The users' pods that select a node by product and CUDA versions, by today's labels and by those that they replaced."""

import json
import shlex

from testbench.verbs import (
    apply, delete, expect, expect_match, field, given, label, labels, nvml_in, on_node, phase, pod, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PRODUCT = "nvidia.com/gpu.product"
REPLACED = {
    "nvidia.com/cuda.runtime": "nvidia.com/cuda.runtime-version.full",
    "nvidia.com/cuda.driver": "nvidia.com/cuda.driver-version.full",
}


def explained(manifest):
    """What the node says of a pod that would not run there."""
    asked = f"printf %s {shlex.quote(json.dumps(manifest))} | partita explain --width 500 -f -; test $? -eq 3"
    return on_node("dgx", ["sh", "-c", asked])


def scenario():
    serve("gpus", on="dgx")
    wait_for(label(PRODUCT, on="dgx"), "NVIDIA-A100-SXM4-40GB")
    there = labels("nvidia.com/", on="dgx")

    today = pod("gpu-example", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE)
    today["spec"]["nodeSelector"] = {key: there[key] for key in (PRODUCT, *REPLACED.values())}
    apply(today)
    wait_for(phase("gpu-example"), "Running")
    expect(field("pod", "gpu-example", "spec", "nodeName"), "dgx")
    expect(nvml_in("gpu-example"), given("gpu-example", on="dgx"))
    delete("pod", "gpu-example")

    # As the documents print it. Nobody writes these labels any more: the pod waits, and the node says for what.
    old = pod("old-example", limits={"nvidia.com/gpu": 2})
    old["spec"]["nodeSelector"] = {PRODUCT: there[PRODUCT]} | {key: there[now] for key, now in REPLACED.items()}
    apply(old)
    wait_for(field("pod", "old-example", "status", "conditions", "PodScheduled", "reason"), "Unschedulable")
    said = explained(old)
    for now in REPLACED.values():
        expect_match(said, f"write {now}, which replaced it; here it is {there[now]}")
