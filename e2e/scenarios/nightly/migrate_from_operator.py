"""partita takes the place of NVIDIA's GPU operator, node by node and then of all of it (migrate.md): its real program
and chart; images of what it runs on nodes are not there, so its pods are, and none of their containers."""

import json

from testbench.scenario_bench import current
from testbench.stack_partita import NAMESPACE
from testbench.verbs import (
    allocatable, apply, expect, expect_match, field, given, kubectl, label, labels, nvml_in, partition, phase, pod,
    run_kubectl, wait_for,
)
from testbench.verbs_account import manager_of
from testbench.verbs_chart import agent_on, helm, install_chart, upgrade_chart
from testbench.verbs_labels import set_label
from testbench.verbs_manifests import CUDA_IMAGE, runtime_class
from testbench.verbs_observe import Observation
from testbench.verbs_operator import (
    DEFINITIONS, DEPLOY, NEEDED, PCI, PLACE, RELEASE, chart, install_operator, operands, rounds, told_by,
)
from testbench.verbs_values import complaints, values_in_use

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
STACKS = ["partita"]
PROGRAMS = NEEDED
LIMIT = 600
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-3g.20gb"
PRESENT = "nvidia.com/gpu.present"
KEPT = "nvidia-dcgm-exporter nvidia-driver-daemonset nvidia-operator-validator"
ALL = (
    "gpu-feature-discovery nvidia-container-toolkit-daemonset nvidia-dcgm-exporter nvidia-device-plugin-daemonset "
    "nvidia-driver-daemonset nvidia-mig-manager nvidia-operator-validator"
)
SAID = (
    PRESENT, "nvidia.com/mig.config", "nvidia.com/mig.config.state", *(DEPLOY + operand for operand in (
        "container-toolkit", "dcgm", "dcgm-exporter", "device-plugin", "driver", "gpu-feature-discovery", "mig-manager",
        "node-status-exporter", "operator-validator",
    )),
)
REPLACED = ("device-plugin", "gpu-feature-discovery", "mig-manager", "container-toolkit")
PLAN = "mig plan --model A100-SXM4-40GB --config-file /etc/partita/mig.yaml --selected-config all-1g.5gb".split()
OFF = ("devicePlugin", "gfd", "toolkit", "migManager")
VALUES = {
    "mig": {"strategy": "mixed"},
    "daemonsets": {"tolerations": [{"operator": "Exists"}]},
    "driver": {"upgradePolicy": {"autoUpgrade": False}},
}
COMPLAINTS = "daemonsets.tolerations driver mig.strategy operator"
OURS = {"migStrategy": "mixed", "tolerations": [{"operator": "Exists"}]}


def more_rounds():
    """The operator has looked at everything three times more, and has changed nothing of the Node."""
    before, begun = told_by("dgx"), rounds()
    wait_for(Observation("three more rounds of the operator", lambda: str(rounds() >= begun + 3)), "True")
    expect(told_by("dgx"), before, "who has said what of node dgx, and when")


def label_node(*words, on):
    kubectl("label", "--overwrite", "node", on, *words, words=f"label node {on} {' '.join(words)}")


def take_along():
    """Step 1, while the operator is there. Returns the partition editor's file."""
    expect(complaints(values_in_use(RELEASE, PLACE)), COMPLAINTS, "values to be changed")
    expect(complaints(json.dumps(OURS)), "", "values to be changed")
    return kubectl(
        "get", "configmap", "default-mig-parted-config", f"--namespace={PLACE}",
        r"--output=jsonpath={.data.config\.yaml}", words="the configurations of the MIG manager",
    )


def move_first_node(ours):
    """Node by node: four operands leave, driver, exporter and validator stay; the other node has all of its own."""
    label_node(*(f"{DEPLOY}{operand}=false" for operand in REPLACED), on="dgx")
    wait_for(operands(on="dgx"), KEPT)
    install_chart({**ours, "nodeSelector": {"kubernetes.io/hostname": "dgx"}})
    wait_for(allocatable(GPU, on="dgx"), 7)
    wait_for(allocatable(SLICE, on="dgx"), 2)
    wait_for(label("nvidia.com/gpu.product", on="dgx"), "NVIDIA-A100-SXM4-40GB")
    agent = agent_on("dgx")["metadata"]["name"]
    planned = kubectl(
        "exec", agent, f"--namespace={NAMESPACE}", "--container=agent", "--", "partita", *PLAN,
        words="what the agent would make of a configuration of the MIG manager",
    )
    expect_match(planned, "^plan: 16 steps on 1 GPU", "the plan")
    expect(agent_on("mixed"), {}, "agent on node mixed")
    expect(operands(on="mixed"), ALL)

    expect(sorted(manager_of(PRESENT, on="dgx").look().split()), ["gpu-operator", "partita-labels"], "who says it")
    more_rounds()
    expect({key: labels(DEPLOY, on="dgx").get(DEPLOY + key) for key in REPLACED}, dict.fromkeys(REPLACED, "false"))


def keep_the_driver():
    """Step 2: the operator has the driver alone to do, and what looks at it."""
    helm("upgrade", RELEASE, chart(), f"--namespace={PLACE}", "--reuse-values",
         *(f"--set={part}.enabled=false" for part in OFF))
    for node in NODES:
        wait_for(operands(on=node), KEPT)


def lose_node_feature_discovery():
    """Without its label on a node the operator takes all of its own off, the driver's too."""
    set_label(PCI, None, on="mixed")
    wait_for(label(f"{DEPLOY}driver", on="mixed"), "")
    wait_for(operands(on="mixed"), "")
    set_label(PCI, "true", on="mixed")
    wait_for(operands(on="mixed"), KEPT)
    wait_for(label(PRESENT, on="mixed"), "true")


def remove_operator():
    """Step 3: all of it goes but for its kinds of objects and what it said of nodes."""
    helm("uninstall", RELEASE, f"--namespace={PLACE}")
    for node in NODES:
        wait_for(operands(on=node), "")
    wait_for(field("runtimeclass", "nvidia", "handler"), gone)
    left = kubectl("get", "crd", *DEFINITIONS, "--output=name", words="its kinds of objects")
    expect(len(left.split()), len(DEFINITIONS), "number of its kinds of objects that are left")
    expect(labels(DEPLOY, on="dgx")[f"{DEPLOY}driver"], "true", "a label of the operator's")
    kubectl("delete", "crd", *DEFINITIONS, words="remove its kinds of objects")


def gone(seen):
    """gone"""
    return seen.startswith("HTTP 404")


def keep_runtime_class():
    """Step 4: it has gone with the operator. Pods that name it run again, by the programs that partita put there."""
    current().undo_at_end("keep the RuntimeClass", lambda: run_kubectl("delete", "runtimeclass", "nvidia"))
    apply(runtime_class("nvidia"))
    apply(pod("of-the-class", on="dgx", limits={GPU: 1}, image=CUDA_IMAGE, runtime="nvidia"))
    wait_for(phase("of-the-class"), "Running")
    expect(nvml_in("of-the-class"), given("of-the-class", on="dgx"))


def remove_labels(on):
    """Step 6: what the operator has said goes, and what we say as well is ours alone."""
    label_node(*(f"{key}-" for key in SAID), on=on)
    expect(labels(DEPLOY, on=on), {})
    expect(labels("nvidia.com/mig.config", on=on), {})
    wait_for(manager_of(PRESENT, on=on), "partita-labels")
    expect(label(PRESENT, on=on), "true")


def scenario():
    partition("dgx", gpu=0, want="3g.20gb:2")
    for node in NODES:  # as its feature discovery says: that is what MIG manager is put on a node by
        set_label("nvidia.com/mig.capable", "true", on=node)
    install_operator(VALUES, on="mixed")
    for node in NODES:
        wait_for(label(PRESENT, on=node), "true")
        wait_for(operands(on=node), ALL)
    expect(field("runtimeclass", "nvidia", "handler"), "nvidia")

    ours = {**OURS, "mig": {"config": take_along()}}
    move_first_node(ours)
    apply(pod("holder", on="dgx", limits={GPU: 1, SLICE: 1}, image=CUDA_IMAGE))
    wait_for(phase("holder"), "Running")
    held = nvml_in("holder")

    upgrade_chart(ours)
    keep_the_driver()
    wait_for(allocatable(GPU, on="mixed"), 3)
    more_rounds()
    lose_node_feature_discovery()

    remove_operator()
    keep_runtime_class()
    for node in NODES:
        remove_labels(node)
    expect(nvml_in("holder"), held)
    expect(allocatable(SLICE, on="dgx"), 2)
