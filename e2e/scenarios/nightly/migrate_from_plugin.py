"""partita's chart takes the place of NVIDIA's device plugin and gives it back while a pod holds GPUs (migrate.md)."""

from testbench.scenario_bench import current, step
from testbench.stack_nvidia import NVIDIA
from testbench.verbs import (
    allocatable, apply, delete, expect, field, given, namespace, nvml_in, phase, pod, wait_for,
)
from testbench.verbs_chart import agents, helm, install_chart, owners
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
GPU = "nvidia.com/gpu"


def install_plugin():
    with step("NVIDIA's device plugin serves node dgx"):
        current().undo_at_end("serve by NVIDIA's device plugin", remove_plugin)
        NVIDIA.serve("gpus", current().cluster, current().cluster.node("dgx"), {})
    wait_for(allocatable(GPU, on="dgx"), 8)


def remove_plugin():
    NVIDIA.withdraw("gpus", current().cluster, current().cluster.node("dgx"))


def stop_plugin():
    """As `helm uninstall` does: what it wrote for containers stays."""
    with step("NVIDIA's device plugin ends"):
        current().cluster.node("dgx").stop("nvidia-device-plugin")
    wait_for(allocatable(GPU, on="dgx"), 0)


def gets_the_others(name, held):
    """A pod with all GPUs that nobody holds runs, and has none that somebody does."""
    apply(pod(name, on="dgx", limits={GPU: 8 - len(held)}, image=CUDA_IMAGE))
    wait_for(phase(name), "Running")
    expect(nvml_in(name), given(name, on="dgx"))
    expect(set(nvml_in(name)) & set(held), set(), "GPUs that both pods have")
    delete("pod", name)


def holds(name, gpus):
    expect(nvml_in(name), gpus, f"GPUs of pod {name}")
    expect(field("pod", name, "status", "containerStatuses", "main", "restartCount"), 0)


def scenario():
    install_plugin()
    apply(pod("holder", on="dgx", limits={GPU: 2}, image=CUDA_IMAGE))
    wait_for(phase("holder"), "Running")
    held = nvml_in("holder")
    expect(len(held), 2, "number of GPUs in the pod")

    stop_plugin()
    install_chart()
    wait_for(allocatable(GPU, on="dgx"), 8)
    holds("holder", held)
    gets_the_others("rest", held)
    # From kubelet it has learnt who holds what was given out before it came.
    wait_for(owners(on="dgx"), ", ".join([f"pod {namespace()}/holder (main)"] * len(held)))

    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    wait_for(agents(), "")
    wait_for(allocatable(GPU, on="dgx"), 0)
    install_plugin()
    holds("holder", held)
    gets_the_others("rest", held)
