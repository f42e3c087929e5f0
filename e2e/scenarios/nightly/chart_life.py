"""The chart is installed, upgraded, rolled back and removed by Helm while a pod holds GPUs, and leaves what it says."""

from testbench.verbs import (
    allocatable, apply, expect, expect_match, field, kubectl, label, labels, nvml_in, on_node, phase,
    pod, wait_for,
)
from testbench.verbs_chart import CHART, agents, attempt_helm, helm, install_chart, remove_chart, upgrade_chart
from testbench.verbs_manifests import CUDA_IMAGE

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
OBJECTS = (
    "serviceaccounts,configmaps,daemonsets,jobs,pods,roles,rolebindings,clusterroles,clusterrolebindings,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)


def holds(name, gpus):
    """The pod has the GPUs that it had, and none of its containers was started again."""
    expect(nvml_in(name), gpus, f"GPUs of pod {name}")
    expect(field("pod", name, "status", "containerStatuses", "main", "restartCount"), 0)


def uninstall():
    """As docs/install.md says; nothing of the release is left."""
    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    wait_for(agents(), "")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 0)
    left = kubectl("get", OBJECTS, "--all-namespaces", "--selector=app.kubernetes.io/instance=partita", "--output=name",
                   words="list objects of the release")
    expect(left, "", "objects of the release")


def scenario():
    install_chart()
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    wait_for(label("nvidia.com/gpu.count", on="dgx"), 8)
    apply(pod("holder", on="dgx", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE))
    wait_for(phase("holder"), "Running")
    gpus, first = nvml_in("holder"), agents().look()
    expect(len(gpus), 2, "number of GPUs in the pod")

    # Read by the agent that runs.
    upgrade_chart({"migStrategy": "mixed"})
    expect(agents(), first)
    # Another pod.
    upgrade_chart({"migStrategy": "mixed", "podAnnotations": {"example.com/round": "two"}})
    expect(agents().look() == first, False, "the same agents after an upgrade")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    holds("holder", gpus)
    apply(pod("second", on="dgx", limits={"nvidia.com/gpu": 2}, image=CUDA_IMAGE))
    wait_for(phase("second"), "Running")
    expect(set(gpus) & set(nvml_in("second")), set(), "GPUs that both pods have")

    refused = attempt_helm("upgrade", "partita", str(CHART), "--set", "driver.version=580")
    expect_match(refused.stderr, r"^driver \(gpu-operator\) is refused: partita installs no driver", "what Helm says")

    helm("rollback", "partita", "1", "--wait")
    expect_match(helm("history", "partita"), r"^4\s.*deployed.*Rollback to 1$")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    holds("holder", gpus)

    uninstall()
    holds("holder", gpus)
    # What stays until somebody takes it away, as docs/install.md says; the bench sees that nothing else does.
    expect(on_node("dgx", "ls /var/run/cdi"), "k8s.device-plugin.nvidia.com-gpu.json\nnvidia.yaml")
    expect(label("nvidia.com/gpu.count", on="dgx"), 8)
    remove_chart()
    expect(labels("nvidia.com/", on="dgx"), {})

    # Asked to, it takes along what it wrote to nodes.
    install_chart({"cleanup": {"onUninstall": True}})
    wait_for(label("nvidia.com/gpu.count", on="dgx"), 8)
    uninstall()
    expect(labels("nvidia.com/", on="dgx"), {})
    expect(labels("partita.dev/", on="dgx"), {})
    holds("holder", gpus)
