"""partita's chart takes the place of NVIDIA's feature discovery, beside Node Feature Discovery and then of both
(migrate.md): at the end of no step does a label lack that is still true."""

from testbench import programs
from testbench.scenario_bench import current, step
from testbench.stack import Programs
from testbench.stack_nfd import NFD, worker
from testbench.stack_nvidia import NVIDIA
from testbench.verbs import apply, expect, kubectl, label, labels, on_node, phase, pod, wait_for
from testbench.verbs_account import manager_of
from testbench.verbs_chart import install_chart, upgrade_chart

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PROGRAMS = ["nfd-master", "nfd-worker", "nfd-api-crds.yaml"]
LIMIT = 300
WORKER = Programs([worker(NVIDIA.namespace)], namespace=NVIDIA.namespace)
FEATURES, PCI = "feature.node.kubernetes.io/", "feature.node.kubernetes.io/pci-10de.present"
FOLDER = "/etc/kubernetes/node-feature-discovery/features.d"
COUNT, TIME = "nvidia.com/gpu.count", "nvidia.com/gfd.timestamp"


def install_discovery():
    cluster = current().cluster
    with step("NVIDIA's feature discovery labels node dgx"):
        current().undo_at_end("label by NVIDIA's feature discovery", remove_discovery)
        NVIDIA.prepare(cluster)
        NVIDIA.serve("labels", cluster, cluster.node("dgx"), {})
    wait_for(label(COUNT, on="dgx"), 8)


def remove_discovery():
    NVIDIA.withdraw("labels", current().cluster, current().cluster.node("dgx"))


def install_worker():
    """It reads a file here: the bench's machines show nothing in sysfs that its other sources would find."""
    cluster, node = current().cluster, current().cluster.node("dgx")
    with step("Node Feature Discovery's worker labels node dgx"):
        current().undo_at_end("label by Node Feature Discovery's worker", lambda: remove_worker(cluster, node))
        on_node("dgx", f"mkdir -p {FOLDER} && echo {PCI}=true >{FOLDER}/pci")
        WORKER.serve(cluster, node, {})
    wait_for(label(PCI, on="dgx"), "true")


def remove_worker(cluster, node):
    WORKER.withdraw(cluster, node)
    node.check(["rm", "-r", FOLDER])


def prune():
    """What Node Feature Discovery's chart ends with, when it is uninstalled."""
    node = current().cluster.node("dgx")
    with step("`nfd-master -prune` takes off what Node Feature Discovery said of nodes"):
        access = f"--kubeconfig={node.machine.folder}/nfd-master.kubeconfig"
        node.check([str(programs.path("nfd-master")), "-prune", access], env={"KUBERNETES_NAMESPACE": NVIDIA.namespace})


def wanting(name, key):
    """A pod for nodes that have GPUs, by a label."""
    made = pod(name)
    made["spec"]["nodeSelector"] = {key: "true"}
    return made


def stop(program):
    with step(f"{program} ends"):
        current().cluster.node("dgx").stop(program)


def remove_object():
    """As the third step says: that of the old one, in its namespace."""
    kubectl("delete", f"nodefeatures.{NFD}", "nvidia-features-for-dgx", "--namespace=nvidia",
            words="remove the object of the old one")


def found():
    return {key: value for key, value in labels("nvidia.com/", on="dgx").items() if key != TIME}


def scenario():
    install_discovery()
    install_worker()
    theirs = found()
    stop("gpu-feature-discovery")
    expect(found(), theirs, "labels while nobody looks")

    # Node Feature Discovery stays.
    install_chart({"labels": {"backend": "nodefeature"}, "migStrategy": "none"})
    remove_object()
    wait_for(label(TIME, on="dgx"), "")
    expect(same(found(), theirs), "", "labels through our object that are not theirs")

    # It goes, too. Whoever wants GPUs by its label has to want them by another.
    upgrade_chart({"labels": {"backend": "node"}, "migStrategy": "none"})
    wait_for(manager_of(COUNT, on="dgx"), "partita-labels")
    expect(label(PCI, on="dgx"), "true")
    stop("nfd-worker")
    stop("nfd-master")
    expect(label(PCI, on="dgx"), "true")
    prune()
    expect(labels(FEATURES, on="dgx"), {})
    expect(same(found(), theirs), "", "labels on the Node that are not theirs")
    apply(wanting("by-its-label", PCI), wanting("by-ours", "nvidia.com/gpu.present"))
    wait_for(phase("by-ours"), "Running")
    expect(phase("by-its-label"), "Pending")


def same(ours, theirs):
    """Of each label that both have; docs/labels.md says which one has only ours, e2e labels-on-node compares all."""
    return ", ".join(
        f"{key}: {ours.get(key)}, theirs {value}" for key, value in theirs.items() if ours.get(key) != value)
