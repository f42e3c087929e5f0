"""Helm upgrades the chart under programs that share a GPU by MPS: they go on, and without MPS the GPU is as before."""

import json

from testbench.verbs import allocatable, apply, delete, expect, given, phase, pod, wait_for
from testbench.verbs_chart import agents, install_chart, upgrade_chart
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_mps import WELL, begin_program, compute_modes, daemon_of

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
GPU = "nvidia.com/gpu"
SHARED = {"version": "v1", "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 2, "devices": ["0"]}]}}}
VALUES = {
    "mps": {"enabled": True},
    "config": {"map": {"default": json.dumps(SHARED)}},
    "agent": {"offer": {"rules": [{"select": {"index": [1, 2, 3, 4, 5, 6, 7]}, "via": "none"}]}},
}
DEFAULT = " ".join(["Default"] * 8)


def scenario():
    install_chart(VALUES)
    wait_for(allocatable(GPU, on="dgx"), 2)
    apply(pod("works", on="dgx", limits={GPU: 1}, image=CUDA_IMAGE))
    wait_for(phase("works"), "Running")
    program, (gpu,) = begin_program("works", "works", "context", "alloc 1G"), given("works", on="dgx")
    daemon, before = daemon_of(gpu, on="dgx").look(), agents().look()

    upgrade_chart({**VALUES, "podAnnotations": {"example.com/round": "two"}})
    expect(agents().look() == before, False, "the same agents after an upgrade")
    wait_for(allocatable(GPU, on="dgx"), 2)
    expect(program.use(), f"kernel: {WELL}", "what the program says after an upgrade")
    expect(daemon_of(gpu, on="dgx"), daemon)

    delete("pod", "works")
    upgrade_chart({**VALUES, "config": {"map": {"default": "version: v1\n"}}})
    wait_for(allocatable(GPU, on="dgx"), 1)
    wait_for(compute_modes("dgx"), DEFAULT)
    expect(daemon_of(gpu, on="dgx"), "")
