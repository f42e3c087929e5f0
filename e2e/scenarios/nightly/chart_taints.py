"""A taint with the installer's own key keeps neither the next agent away, nor what cleans up after the last one."""

from testbench.verbs import allocatable, expect, kubectl, taints, wait_for
from testbench.verbs_chart import helm, install_chart, restart_agent

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
KEY, STARTER = "example.com/gpu", "partita.dev/agent-not-ready"
TAINT = f"{KEY}=present:NoSchedule"


def scenario():
    kubectl("taint", "node", "dgx", f"{STARTER}:NoSchedule", words="taint the node before its agent comes")
    install_chart({"taints": {"enabled": True, "key": KEY}, "cleanup": {"onUninstall": True}})
    wait_for(taints(on="dgx"), TAINT)
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    restart_agent("dgx")
    expect(taints(on="dgx"), TAINT)
    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    expect(taints(on="dgx"), "")
