"""Helm upgrades the chart under programs that share a GPU by MPS: they go on, and without MPS the GPU is as before."""

import json

from testbench.verbs import allocatable, delete, expect, wait_for
from testbench.verbs_chart import agents, install_chart, upgrade_chart
from testbench.verbs_mps import (
    WELL, begin_program, begin_sharers, compute_modes, daemon_of, kill_process, server_of, wait_for_another,
)

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
GPU = "nvidia.com/gpu"
SHARED = {"version": "v1", "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 2, "devices": ["0", "1"]}]}}}
VALUES = {
    "mps": {"enabled": True},
    "config": {"map": {"default": json.dumps(SHARED)}},
    "agent": {"offer": {"rules": [{"select": {"index": [2, 3, 4, 5, 6, 7]}, "via": "none"}]}},
}
DEFAULT = " ".join(["Default"] * 8)


PODS = ("pod-1", "pod-2", "pod-3")
GOES_ON = f"kernel: {WELL}"


def scenario():
    install_chart(VALUES)
    wait_for(allocatable(GPU, on="dgx"), 4)
    pods_of = begin_sharers(*PODS, resource=GPU, on="dgx")
    expect(len(pods_of), 2, "GPUs that are shared")
    programs = {name: begin_program(name, "works", "context", "alloc 1G") for name in PODS}
    processes = [of(gpu, on="dgx") for gpu in pods_of for of in (daemon_of, server_of)]
    there, before = [each.look() for each in processes], agents().look()

    upgrade_chart({**VALUES, "podAnnotations": {"example.com/round": "two"}})
    expect(agents().look() == before, False, "the same agents after an upgrade")
    wait_for(allocatable(GPU, on="dgx"), 4)
    for program in programs.values():
        expect(program.use(), GOES_ON, f"what the program in {program.pod} says after an upgrade")
    expect([each.look() for each in processes], there, "daemons and servers after an upgrade")

    # A daemon dies under an upgrade: the other domain's programs notice neither.
    first, second = pods_of
    killed = kill_process(daemon_of(first, on="dgx"), on="dgx")
    upgrade_chart({**VALUES, "podAnnotations": {"example.com/round": "three"}})
    wait_for_another(daemon_of(first, on="dgx"), killed)
    wait_for(allocatable(GPU, on="dgx"), 4)
    for name in pods_of[second]:
        expect(programs[name].use(), GOES_ON, f"what the program in {name} says")
    expect([each.look() for each in processes[2:]], there[2:], "daemon and server of the other GPU")

    for name in PODS:
        delete("pod", name)
    upgrade_chart({**VALUES, "config": {"map": {"default": "version: v1\n"}}})
    wait_for(allocatable(GPU, on="dgx"), 2)
    wait_for(compute_modes("dgx"), DEFAULT)
    for gpu in pods_of:
        expect(daemon_of(gpu, on="dgx"), "")
