"""Labels of four machines with every MIG strategy: those of NVIDIA's feature discovery, through Node Feature Discovery and
without it."""

from testbench.scenario_bench import current, step
from testbench.stack_nvidia import NVIDIA
from testbench.verbs import exchange_board, label, labels, load_driver, partition, serve, wait_for
from testbench.verbs_chart import install_chart, restart_agent, upgrade_chart
from testbench.verbs_observe import Observation

NODES = {"dgx": "dgx-a100-40", "hgx": "hgx-h200", "vm": "h200-vm", "mixed": "mixed"}
STACKS = ["partita"]
PROGRAMS = ["nfd-master", "nfd-api-crds.yaml"]
LIMIT = 600
STRATEGIES = ("none", "single", "mixed")
# One GPU of several in slices, all of one size, a machine of one GPU, and two products in slices beside a whole third.
SLICES = [
    ("dgx", 0, "3g.20gb:2"), ("hgx", 0, "1g.18gb:2,2g.35gb"), ("vm", 0, "1g.18gb:7"),
    ("mixed", 0, "1g.6gb:4"), ("mixed", 2, "2g.10gb:3,1g.5gb"),
]
COUNT, TIME = "nvidia.com/gpu.count", "nvidia.com/gfd.timestamp"
OURS_ALONE = {"nvidia.com/gpu.present"}  # NVIDIA's operator writes it
# Of several products NVIDIA's leaves to chance, anew at each look, which one these describe (docs/labels.md). Any of node
# mixed will do, but one of them.
OF_PRODUCT = ("product", "family", "compute.major", "compute.minor", "memory", "count", "replicas")
PRODUCTS = [
    ("NVIDIA-A30", "ampere", "8", "0", "24576", "1", "0"),
    ("Tesla-V100-SXM2-16GB", "volta", "7", "0", "16384", "1", "1"),
    ("NVIDIA-A100-SXM4-40GB", "ampere", "8", "0", "40960", "1", "0"),
]
# The strategy does not fit the node: it says so of the first GPU in slices, and what it can compute is still anyone's.
UNFIT = [("NVIDIA-A30-MIG-INVALID", *product[1:4], "0", "0", "0") for product in PRODUCTS]
BY_CHANCE = {f"nvidia.com/gpu.{key}" for key in OF_PRODUCT}


def found(node):
    return {key: value for key, value in labels("nvidia.com/", on=node).items() if key != TIME}


def theirs_with(strategy):
    """By node. It describes a node once, and goes."""
    cluster = current().cluster
    seen = {}
    for name in NODES:
        with step(f"NVIDIA's feature discovery labels node {name}, strategy {strategy}"):
            NVIDIA.serve("labels", cluster, cluster.node(name), {"mig": strategy})
        wait_for(label(COUNT, on=name), any_number)
        seen[name] = found(name)
        with step("it goes, and what it wrote"):
            NVIDIA.withdraw("labels", cluster, cluster.node(name))
    return seen


def any_number(text):
    """a number"""
    return text.isdigit()


def differences(name, theirs, strategy):
    """A line for each label that is not NVIDIA's, or an empty text."""
    ours = found(name)
    left = BY_CHANCE if name == "mixed" else set()
    wrong = [f"{key}: {ours.get(key)}, NVIDIA's {theirs.get(key)}" for key in sorted(ours.keys() | theirs.keys())
             if ours.get(key) != theirs.get(key) and key not in left | OURS_ALONE]
    if left:
        may_be = UNFIT if strategy == "single" else PRODUCTS
        for who, said in (("ours", ours), ("NVIDIA's", theirs)):
            product = tuple(said.get(f"nvidia.com/gpu.{key}") for key in OF_PRODUCT)
            wrong += [] if product in may_be else [f"{who} are of no product there: {product}"]
    return "\n".join(wrong)


def expect_same(theirs, strategy):
    for name in NODES:
        words = f"labels of node {name} that are not NVIDIA's"
        told = Observation(words, lambda name=name: differences(name, theirs[name], strategy))
        wait_for(told, "", within=60)


def scenario():
    exchange_board("mixed", 0, "A30")
    load_driver("mixed")
    for name, gpu, slices in SLICES:
        partition(name, gpu=gpu, want=slices)
    theirs = {strategy: theirs_with(strategy) for strategy in STRATEGIES}

    serve("node feature discovery", on="dgx")
    install_chart({"labels": {"backend": "nodefeature"}, "migStrategy": STRATEGIES[0]})
    for backend in ("nodefeature", "node"):
        for strategy in STRATEGIES:
            upgrade_chart({"labels": {"backend": backend}, "migStrategy": strategy})
            for name in NODES:  # kubelet would bring the file within a minute or two
                restart_agent(name)
            expect_same(theirs[strategy], strategy)
