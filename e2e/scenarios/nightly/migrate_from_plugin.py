"""partita's chart takes the place of NVIDIA's device plugin and gives it back while a pod holds GPUs (migrate.md): the
values of its release, its ConfigMap and the label of the node go along."""

import json

from testbench import kinds, programs
from testbench.scenario_bench import current, step
from testbench.stack_nvidia import NVIDIA
from testbench.stack_partita import NAMESPACE
from testbench.verbs import (
    allocatable, api, apply, delete, expect, expect_match, field, given, namespace, nvml_in, phase, pod, wait_for,
)
from testbench.verbs_chart import agents, attempt_helm, helm, install_chart, owners
from testbench.verbs_labels import set_label
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_values import complaints, values_in_use

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PROGRAMS = ["nvidia-device-plugin-chart"]
LIMIT = 300
GPU = "nvidia.com/gpu"
SELECTS = "nvidia.com/device-plugin.config"
RELEASE = "nvidia-device-plugin"
SHARED = {"sharing": {"timeSlicing": {"resources": [{"name": GPU, "replicas": 2}]}}}
CONFIGS = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin-configs", "namespace": NAMESPACE},
    "data": {
        "whole": json.dumps({"version": "v1"}), "shared": json.dumps({"version": "v1", **SHARED}),
    },
}
TAKEN = {"config": {"name": "plugin-configs", "default": "shared"}, "tolerations": [{"operator": "Exists"}]}
REFUSED = {"failOnInitError": "false", "runtimeClassName": "nvidia"}


def install_release():
    """NVIDIA's chart. Its pods want a label of Node Feature Discovery and find no node: its program is started by the
    bench."""
    place = current().cluster.folder / "plugin-values.json"
    place.write_text(json.dumps({**TAKEN, **REFUSED}), encoding="utf-8")
    current().undo_at_end("install the plugin's chart", lambda: attempt_helm(
        "uninstall", RELEASE, "--ignore-not-found"))
    helm("install", RELEASE, str(programs.file("nvidia-device-plugin-chart")), f"--values={place}")


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


def select_whole():
    """The node's configuration, from before and by label: the default is another."""
    apply(CONFIGS)
    current().undo_at_end("make the plugin's ConfigMap", lambda: api().delete(kinds.place_of(CONFIGS, NAMESPACE)))
    current().undo_at_end("select a configuration", lambda: set_label(SELECTS, None, on="dgx"))
    set_label(SELECTS, "whole", on="dgx")


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
    select_whole()
    install_release()
    install_plugin()
    apply(pod("holder", on="dgx", limits={GPU: 2}, image=CUDA_IMAGE))
    wait_for(phase("holder"), "Running")
    held = nvml_in("holder")
    expect(len(held), 2, "number of GPUs in the pod")

    # The values of its release, without what our chart does not take: it names all of that.
    values = values_in_use(RELEASE)
    expect_match(values, "^runtimeClassName: nvidia$", "values of the release")
    expect(complaints(values), "failOnInitError runtimeClassName", "values to be changed")
    expect(complaints(json.dumps(TAKEN)), "", "values to be changed")

    helm("uninstall", RELEASE, "--wait", "--cascade=foreground")
    stop_plugin()
    install_chart(TAKEN)
    wait_for(allocatable(GPU, on="dgx"), 8)
    holds("holder", held)
    gets_the_others("rest", held)
    # From kubelet it has learnt who holds what was given out before it came.
    wait_for(owners(on="dgx"), ", ".join([f"pod {namespace()}/holder (main)"] * len(held)))

    # The other configuration is in that ConfigMap, too: what is held whole is not shared.
    set_label(SELECTS, "shared", on="dgx")
    wait_for(allocatable(GPU, on="dgx"), 2 * (8 - len(held)))
    set_label(SELECTS, "whole", on="dgx")
    wait_for(allocatable(GPU, on="dgx"), 8)
    holds("holder", held)

    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    wait_for(agents(), "")
    wait_for(allocatable(GPU, on="dgx"), 0)
    install_plugin()
    holds("holder", held)
    gets_the_others("rest", held)
