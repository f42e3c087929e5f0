"""Two GPU machines run a pod each, through a kubelet restart and an API server outage."""

from testbench.verbs import (
    apply, exec_in, expect, expect_match, logs, node_ready, on_node, phase, pod, restart, start, stop, wait_for,
)

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
WORK = "grep -lzx '8639[8]' /proc/[0-9]*/cmdline"  # the process of a pod below, seen from its node
BEGAN = "cut -d' ' -f22 /proc/1/stat"


def scenario():
    for node in NODES:
        apply(pod(f"on-{node}", on=node, runs=f"echo hello from {node}; exec sleep 86398"))
    for node in NODES:
        wait_for(phase(f"on-{node}"), "Running")
        expect(logs(f"on-{node}"), f"hello from {node}")
    began = {node: exec_in(f"on-{node}", BEGAN) for node in NODES}
    work = {node: on_node(node, WORK) for node in NODES}

    restart("kubelet", on="dgx")
    wait_for(node_ready("dgx"), "True")

    stop("API server")
    for node in NODES:
        expect_match(node_ready(node).look(), "the API server does not answer", f"what is said of node {node}")
        expect(on_node(node, WORK), work[node])
    start("API server")
    for node in NODES:
        wait_for(node_ready(node), "True")
        expect(exec_in(f"on-{node}", BEGAN), began[node])
    apply(pod("afterwards", on="dgx", runs="echo done"))
    wait_for(phase("afterwards"), "Succeeded")
