"""A taint with a key of one's own keeps away who asks for no GPU, and neither agents nor what cleans up after them."""

import json

from testbench.verbs import (
    allocatable, apply, delete, expect, field, kubectl, partition, phase, pod, taints, wait_for,
)
from testbench.verbs_chart import helm, install_chart, restart_agent

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
KEY, STARTER = "example.com/gpu", "partita.dev/agent-not-ready"
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
TAINT = f"{KEY}=present:NoSchedule"
VALUES = {
    "taints": {"enabled": True, "key": KEY, "tolerationPolicy": True}, "cleanup": {"onUninstall": True},
    "migStrategy": "mixed",
}


def tolerations(name):
    """By the policy; Kubernetes gives each pod others."""
    found = json.loads(field("pod", name, "spec", "tolerations").look() or "[]")
    return [toleration for toleration in found if toleration.get("key") in (KEY, None)]


def who_asks_for_gpus_is_let_in():
    ours, all_of_them = {"key": KEY, "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}
    tolerant, in_turn = pod("tolerant", on="dgx", limits={GPU: 1}), pod("in-turn", on="dgx")
    tolerant["spec"]["tolerations"] = [all_of_them]
    in_turn["spec"]["initContainers"] = pod("in-turn", runs="true", limits={GPU: 1})["spec"]["containers"]
    in_turn["spec"]["initContainers"][0]["name"] = "first"
    apply(pod("slice", on="dgx", limits={SLICE: 1}), tolerant, in_turn,
          pod("none", on="dgx"), pod("zero", on="dgx", limits={GPU: 0}))
    for name in ("slice", "tolerant", "in-turn"):
        wait_for(phase(name), "Running")
    for name in ("none", "zero"):
        wait_for(field("pod", name, "status", "conditions", "PodScheduled", "reason"), "Unschedulable")
        expect(tolerations(name), [], f"tolerations of pod {name}")
    for name, has in (("slice", ours), ("in-turn", ours), ("tolerant", all_of_them)):
        expect(tolerations(name), [has], f"tolerations of pod {name}")
        delete("pod", name)


def scenario():
    partition("dgx", gpu=0, want="1g.5gb:7")
    kubectl("taint", "node", "dgx", f"{STARTER}:NoSchedule", words="taint the node before its agent comes")
    install_chart(VALUES)
    wait_for(taints(on="dgx"), TAINT)
    wait_for(allocatable(SLICE, on="dgx"), 7)
    who_asks_for_gpus_is_let_in()
    restart_agent("dgx")
    expect(taints(on="dgx"), TAINT)
    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    expect(taints(on="dgx"), "")
