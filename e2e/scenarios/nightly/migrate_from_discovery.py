"""partita's chart takes the place of NVIDIA's feature discovery, beside Node Feature Discovery and then of both
(migrate.md): at the end of no step does a label lack that is still true."""

from testbench.scenario_bench import current, step
from testbench.stack_nfd import NFD
from testbench.stack_nvidia import NVIDIA
from testbench.verbs import expect, kubectl, label, labels, wait_for
from testbench.verbs_account import manager_of
from testbench.verbs_chart import install_chart, upgrade_chart

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PROGRAMS = ["nfd-master", "nfd-api-crds.yaml"]
LIMIT = 300
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
    theirs = found()
    stop("gpu-feature-discovery")
    expect(found(), theirs, "labels while nobody looks")

    # Node Feature Discovery stays.
    install_chart({"labels": {"backend": "nodefeature"}, "migStrategy": "none"})
    remove_object()
    wait_for(label(TIME, on="dgx"), "")
    expect(same(found(), theirs), "", "labels through our object that are not theirs")

    # It goes, too.
    upgrade_chart({"labels": {"backend": "node"}, "migStrategy": "none"})
    wait_for(manager_of(COUNT, on="dgx"), "partita-labels")
    stop("nfd-master")
    expect(same(found(), theirs), "", "labels on the Node that are not theirs")


def same(ours, theirs):
    """Of each label that both have; docs/labels.md says which one has only ours, e2e labels-on-node compares all."""
    return ", ".join(
        f"{key}: {ours.get(key)}, theirs {value}" for key, value in theirs.items() if ours.get(key) != value)
