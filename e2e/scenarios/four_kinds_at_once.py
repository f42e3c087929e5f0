"""On one node at the same time: whole, MIG, time-sliced and MPS GPUs, all given away, each as what it is."""

import json
import shlex

from testbench.verbs import (
    allocatable, apply, begin_delete, delete, expect, expect_match, given, label, nvml_in, on_node, partition, phase,
    pod, serve, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_mps import WELL, begin_program, compute_modes, cuda_in, multiprocessors_in, stop_sharing

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
REST = {"offer": {"rules": [{"select": {"index": [4, 5, 6, 7]}, "via": "none"}]}}  # GPU 0 is in slices, 3 is whole
SHARING = {
    "timeSlicing": {"resources": [
        {"name": "nvidia.com/gpu", "rename": "nvidia.com/gpu.sliced", "replicas": 2, "devices": ["1"]}]},
    "mps": {"resources": [
        {"name": "nvidia.com/gpu", "rename": "nvidia.com/gpu.mps", "replicas": 2, "devices": ["2"]}]},
}
OFFERED = {"gpu": 1, "gpu.sliced": 2, "gpu.mps": 2, "mig-1g.5gb": 1, "mig-3g.20gb": 1}
LABELS = {"mps.capable": "true", "gpu.sharing-strategy": "mps", "mig-1g.5gb.sharing-strategy": "none"}
MODES = ["Default", "Default", "Exclusive_Process", *["Default"] * 5]
PODS = {"whole": "gpu", "sliced-1": "gpu.sliced", "sliced-2": "gpu.sliced", "mps-1": "gpu.mps", "mps-2": "gpu.mps",
        "small": "mig-1g.5gb", "large": "mig-3g.20gb"}
# Of 108 all, half by MPS, and those of 1 and 3 of 7 slices.
MULTIPROCESSORS = {"whole": "108", "sliced-1": "108", "sliced-2": "108", "mps-1": "54", "mps-2": "54", "small": "14",
                   "large": "42"}


def explained(resource):
    """What the node says of a pod that asks for one."""
    asked = json.dumps(pod("asks", limits={resource: 1}))
    return on_node("dgx", ["sh", "-c", f"printf %s {shlex.quote(asked)} | partita explain --width 500 -f -"])


def expect_known():
    """Whoever asks about the node hears which of its GPUs is shared by MPS."""
    for key, value in LABELS.items():
        wait_for(label(f"nvidia.com/{key}", on="dgx"), value)
    status = on_node("dgx", "partita status")
    expect_match(status, r"shared by MPS[^\n]*\n +GPU 2  ready")
    expect_match(status, "compute exclusive process")
    expect_match(on_node("dgx", "partita health"), r"^2 +healthy")


def scenario():
    partition("dgx", gpu=0, want="3g.20gb,1g.5gb")
    serve("gpus", on="dgx", mig="mixed", mps=True, config={"sharing": SHARING}, agent=REST)
    for resource, amount in OFFERED.items():
        wait_for(allocatable(f"nvidia.com/{resource}", on="dgx"), amount)
    expect_match(explained("nvidia.com/gpu.mps"), "share 1 of 2 of GPU 2.*at most 20.0 GiB and 50 % of the SMs")
    for name, resource in PODS.items():
        apply(pod(name, on="dgx", limits={f"nvidia.com/{resource}": 1}, image=CUDA_IMAGE))
    for name in PODS:
        wait_for(phase(name), "Running")
    devices = {name: given(name, on="dgx") for name in PODS}
    for name in PODS:
        expect(nvml_in(name), devices[name], f"what NVML lists in pod {name}")
        expect(multiprocessors_in(name), MULTIPROCESSORS[name], f"multiprocessors seen in pod {name}")
    for kind in ("sliced", "mps"):
        expect(devices[f"{kind}-1"], devices[f"{kind}-2"], "the GPU of two shares")
    expect(len({device for each in devices.values() for device in each}), 5, "devices that are given away")
    for name in ("small", "large"):
        expect_match(devices[name][0], "^MIG-")

    # All at work at once; a limit is on a share of MPS alone.
    programs = [begin_program(name, "works", "context", "alloc 1G") for name in PODS]
    expect([program.use() for program in programs], [f"kernel: {WELL}"] * len(PODS), "what the programs say")
    expect(cuda_in("mps-1", "context", "alloc 30G")[-1], "alloc 30G: 2 out of memory")
    expect(cuda_in("sliced-1", "context", "alloc 30G")[-1], f"alloc 30G: {WELL}")
    expect(compute_modes("dgx"), " ".join(MODES))
    expect_known()
    # Who holds a share keeps its domain.
    for name in PODS:
        begin_delete("pod", name)
    for name in PODS:
        delete("pod", name)
    stop_sharing("dgx", mig="mixed", agent=REST)
    wait_for(compute_modes("dgx"), " ".join(["Default"] * 8))
