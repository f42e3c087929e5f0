"""The agent taints its node when asked, takes that off again, and the taint of before it came; it may do no more."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, field, kubectl, phase, pod, serve, taints, wait_for,
)
from testbench.verbs_account import answer_to, token_of
from testbench.verbs_mps import agent_pod, reconfigure
from testbench.verbs_observe import CORE

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin and feature discovery taint no node
GPU = "nvidia.com/gpu"
TAINT = f"{GPU}=present:NoSchedule"
STARTER = "partita.dev/agent-not-ready"
NODE = f"{CORE}/nodes/dgx"


def without_taint_of_ours():
    """Replaces the list: the account may end its own taint, and begin none of others."""
    token = token_of(agent_pod("dgx")["metadata"]["name"])
    other = {"key": "example.com/mine", "effect": "NoSchedule"}
    said = answer_to(token, "PATCH", NODE, {"spec": {"taints": [other]}})
    expect_match(said, f"^(403|422): .*of a node's taints this account may change these only: .*{GPU}")


def scenario():
    # As a pool's template has it: the agent is let in, and nobody else takes it off.
    kubectl("taint", "node", "dgx", f"{STARTER}:NoSchedule", words="taint the node before its agent comes")
    serve("gpus", on="dgx", agent={"taints": {"enabled": True}})
    wait_for(taints(on="dgx"), TAINT)
    wait_for(allocatable(GPU, on="dgx"), 8)
    tolerant = pod("tolerant", on="dgx", limits={GPU: 1})
    tolerant["spec"]["tolerations"] = [{"key": GPU, "operator": "Exists"}]
    apply(tolerant, pod("other", on="dgx"))
    wait_for(phase("tolerant"), "Running")
    wait_for(field("pod", "other", "status", "conditions", "PodScheduled", "reason"), "Unschedulable")
    without_taint_of_ours()
    expect(taints(on="dgx"), TAINT)

    # Another agent, which was not the one that put it there.
    reconfigure("dgx")
    wait_for(taints(on="dgx"), "")
    wait_for(phase("other"), "Running")
