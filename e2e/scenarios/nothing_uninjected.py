"""A pod that asks for no GPU has what the kernel shows to everybody, and nothing of the driver's files.

On the node they are where a real machine has them: programs of others need no word about it.
"""

from testbench import programs
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

    expect_match(on_node("dgx", "/usr/bin/nvidia-smi -L"), r"^GPU 7: NVIDIA A100-SXM4-40GB \(UUID: GPU-")
    spec = on_node("dgx", f"{programs.path('nvidia-ctk')} cdi generate 2>/dev/null")
    expect_match(spec, r"^ +- hostPath: /usr/lib/\S+/libnvidia-ml\.so\.580\.159\.04$")
    expect_match(spec, r"^ +- hostPath: /usr/bin/nvidia-smi$")
    expect_match(spec, r"^ +(- )?path: /dev/nvidia7$")
