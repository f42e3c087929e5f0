"""Asked to, the agent taints its node, and takes the taint off again; it may do no more with taints than that."""

import json

from testbench.verbs import allocatable, apply, expect, expect_match, field, phase, pod, serve, wait_for
from testbench.verbs_account import answer_to, token_of
from testbench.verbs_mps import agent_pod, reconfigure
from testbench.verbs_observe import CORE, Observation, look_up

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin and feature discovery taint no node
GPU = "nvidia.com/gpu"
TAINT = f"{GPU}=present:NoSchedule"
NODE = f"{CORE}/nodes/dgx"


def taints():
    def look():
        found = look_up(NODE, ("spec", "taints"))
        if found and not found.startswith("["):
            return found
        there = json.loads(found or "[]")
        return " ".join(f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in there)

    return Observation("taints of node dgx", look)


def without_taint_of_ours():
    """Replaces the list: the account may end its own taint, and begin none of others."""
    token = token_of(agent_pod("dgx")["metadata"]["name"])
    other = {"key": "example.com/mine", "effect": "NoSchedule"}
    said = answer_to(token, "PATCH", NODE, {"spec": {"taints": [other]}})
    expect_match(said, f"^(403|422): .*of a node's taints this account may change these only: .*{GPU}")


def scenario():
    serve("gpus", on="dgx", agent={"taints": {"enabled": True}})
    wait_for(taints(), TAINT)
    wait_for(allocatable(GPU, on="dgx"), 8)
    tolerant = pod("tolerant", on="dgx", limits={GPU: 1})
    tolerant["spec"]["tolerations"] = [{"key": GPU, "operator": "Exists"}]
    apply(tolerant, pod("other", on="dgx"))
    wait_for(phase("tolerant"), "Running")
    wait_for(field("pod", "other", "status", "conditions", "PodScheduled", "reason"), "Unschedulable")
    without_taint_of_ours()
    expect(taints(), TAINT)

    # Another agent, which was not the one that put it there.
    reconfigure("dgx")
    wait_for(taints(), "")
    wait_for(phase("other"), "Running")
