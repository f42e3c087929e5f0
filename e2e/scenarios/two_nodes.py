"""Two GPU machines run a pod each, through a kubelet restart and an API server outage."""

from testbench.verbs import apply, exec_in, expect, logs, node_ready, phase, pod, restart, start, stop, wait_for

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}


def scenario():
    for node in NODES:
        apply(pod(f"on-{node}", on=node, runs=f"echo hello from {node}; exec sleep 3600"))
    for node in NODES:
        wait_for(phase(f"on-{node}"), "Running")
        expect(logs(f"on-{node}"), f"hello from {node}")
    started = {node: exec_in(f"on-{node}", "stat -c %Y /proc/1") for node in NODES}

    restart("kubelet", on="dgx")
    wait_for(node_ready("dgx"), "True")

    stop("API server")
    start("API server")
    for node in NODES:
        wait_for(node_ready(node), "True")
        expect(exec_in(f"on-{node}", "stat -c %Y /proc/1"), started[node])
    apply(pod("afterwards", on="dgx", runs="echo done"))
    wait_for(phase("afterwards"), "Succeeded")
