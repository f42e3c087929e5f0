"""A pod that asks for no GPU has what the kernel shows to everybody, and nothing of the driver's files."""

from testbench.verbs import apply, exec_in, expect, expect_match, on_node, phase, pod, wait_for

NODES = {"dgx": "dgx-a100-40"}
STATE = "find /run/partita-sim -type f | sort"
FILES = r"find / -path /proc -prune -o -path /sys -prune -o \( -name '*nvidia*' -o -name 'libcuda*' \) -print"


def scenario():
    apply(pod("none", on="dgx"))
    wait_for(phase("none"), "Running")
    expect(exec_in("none", FILES), "", "files of the driver in the pod")
    state = [f"/run/partita-sim/sim/{name}" for name in ("holders", "node.yaml", "state")]
    expect(exec_in("none", STATE).split(), state, "what stands for the hardware")
    for path in ("version", "gpus", "capabilities"):
        look = f"cd /proc/driver/nvidia && find {path} | sort"
        expect(exec_in("none", look), on_node("dgx", look), f"{path} below /proc/driver/nvidia")
    expect_match(exec_in("none", "cat /proc/driver/nvidia/version"), "580.159.04")
