"""A node that is cut off keeps its pod, and can be reached again when the cable is back."""

from testbench.verbs import (
    apply, cut_network, exec_in, expect, node_ready, on_node, phase, pod, restore_network, wait_for,
)

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
PING = "busybox ping -c 1 -W 2 control-plane >/dev/null"


def scenario():
    apply(pod("alone", on="mixed"))
    wait_for(phase("alone"), "Running")
    exec_in("alone", "touch /tmp/mark")
    expect(on_node("mixed", f"{PING} && echo reached"), "reached")

    cut_network("mixed")
    expect(on_node("mixed", f"{PING} || echo cut off"), "cut off")
    wait_for(node_ready("mixed"), "Unknown")

    restore_network("mixed")
    wait_for(node_ready("mixed"), "True")
    expect(exec_in("alone", "ls /tmp/mark"), "/tmp/mark")
