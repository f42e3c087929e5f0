"""Containers are started again by what kubelet remembers of their pods, without asking anybody: the devices are the same.

While nobody serves the GPUs, and after another load of the driver.
"""

from testbench.verbs import (
    allocatable, apply, attempt_in, dismiss, expect, field, given, nvml_in, partition, phase, pod, reload_driver,
    repartition, serve, served_by, wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40"}
SERVER = "gpus in a pod"
GPU, SHARE = "nvidia.com/gpu", "nvidia.com/gpu.shared"
SLICE, SHARE_OF_SLICE = "nvidia.com/mig-3g.20gb", "nvidia.com/mig-1g.5gb.shared"
LAYOUT = "3g.20gb,1g.5gb:2"
# NVIDIA's plugin shares all whole GPUs or none.
OF_GPU_1 = [{"name": GPU, "replicas": 2, "devices": ["1"]}]
OF_SLICES = [{"name": "nvidia.com/mig-1g.5gb", "replicas": 2}]
OFFERED = {GPU: 7, SLICE: 1, SHARE_OF_SLICE: 4}
HOLDERS = {"whole": GPU, "slice": SLICE, "share-of-slice": SHARE_OF_SLICE}


def begin():
    ours = served_by() == "partita"
    shared = {"renameByDefault": True, "resources": [*OF_SLICES, *(OF_GPU_1 if ours else [])]}
    serve(SERVER, on="dgx", mig="mixed", config={"sharing": {"timeSlicing": shared}})
    for resource, amount in {**OFFERED, **({GPU: 6, SHARE: 2} if ours else {})}.items():
        wait_for(allocatable(resource, on="dgx"), amount)


def hold():
    """What each pod was given, by its name."""
    holders = {**HOLDERS, **({"share": SHARE} if served_by() == "partita" else {})}
    for name, resource in holders.items():
        apply(pod(name, on="dgx", limits={resource: 1}, image=CUDA_IMAGE, restart="Always"))
    for name in holders:
        wait_for(phase(name), "Running")
    return {name: given(name, on="dgx") for name in holders}


def reload():
    """Slices go with the driver that made them; the same layout has the same ones."""
    reload_driver("dgx")
    if served_by() == "partita":
        wait_for(allocatable(SLICE, on="dgx"), 0)
    repartition("dgx", gpu=0, want=LAYOUT)


def start_again(held, times):
    for name in held:
        attempt_in(name, "kill 1")
    for name, devices in held.items():
        wait_for(of_container(name, "restartCount"), times)
        wait_for(of_container(name, "ready"), "true")
        expect(given(name, on="dgx"), devices, f"devices of pod {name}")
        expect(nvml_in(name), devices, f"what NVML lists in pod {name}")


def of_container(name, key):
    return field("pod", name, "status", "containerStatuses", "main", key)


def scenario():
    partition("dgx", gpu=0, want=LAYOUT)
    begin()
    held = hold()
    for name, devices in held.items():
        expect(nvml_in(name), devices, f"what NVML lists in pod {name}")

    dismiss(SERVER, on="dgx")
    start_again(held, times=1)

    if served_by() == "nvidia":  # its plugin keeps its session with the driver that went
        reload()
        begin()
    else:
        begin()
        reload()
        expect(agent_restarts("dgx"), 0)
    start_again(held, times=2)
