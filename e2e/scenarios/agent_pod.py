"""The agent in its own pod writes CDI files for the host's engine, and comes back after kill -9."""

from testbench.verbs import apply, exec_in, expect, expect_match, kill_server, on_node, phase, pod, serve, wait_for
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
HOOK = "/usr/local/nvidia/toolkit/nvidia-cdi-hook"


def scenario():
    serve("agent", on="dgx")
    spec = on_node("dgx", "cat /var/run/cdi/nvidia.yaml")
    expect_match(spec, f"path: {HOOK}", "the hook that the host is to start")
    expect(on_node("dgx", f"{HOOK} 2>&1"), "nvidia-cdi-hook: warning: no hook is named: nothing is done")
    expect("/host/" in spec, False, "paths of the agent's container in a file for the host")
    expect_match(on_node("dgx", "partita status"), "A100-SXM4-40GB")

    kill_server("agent", on="dgx")
    wait_for(agent_restarts("dgx"), 1)
    wait_for(agent_restarts("dgx", ready=True), 1)
    expect(on_node("dgx", "cat /var/run/cdi/nvidia.yaml"), spec)
    apply(pod("none", on="dgx"))
    wait_for(phase("none"), "Running")
    expect(exec_in("none", "ls /dev | grep -c nvidia || true"), "0")
