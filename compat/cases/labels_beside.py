"""gpu-feature-discovery beside partita under its name: the same flags on the same node, equal labels, in the file that
NFD's worker reads and in the NodeFeature object."""

import dataclasses
import json
import os

from harness.api_server import ApiServer
from harness.layouts import layouts
from harness.node import PROFILES, Node
from support.shell import Failure

NAME = "labels"
NEEDS_NODE = True
STRATEGIES = ["none", "single", "mixed"]
# By `renameByDefault`.
SHARING = {"not shared": None, "two shares": False, "two shares, renamed": True}
CLUSTER = "5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
# In CI one of so many questions, each time others on each profile; all of them in `make nightly`. Odd, so that no profile
# is asked in one way alone.
STEP = 19
# What remains is what Go's walk over a small map came to last. The walk begins at one of eight places, and three products
# lie in the first three: two of them are last one time in eight each, the other six in eight. After so many looks less
# than one in a hundred million is left for an unlikely one; after 40, as many as were allowed before, one in 200.
MOST_TRIES = 150


@dataclasses.dataclass(frozen=True)
class Kept:
    """A difference that stays: on which nodes, and why. By `tells` one sees what chance has decided."""

    where: str
    holds: object
    tells: tuple
    why: str


KEPT = (
    Kept(
        "nodes with GPUs of several products",
        lambda facts: len({gpu.product.name for gpu in facts.gpus}) > 1,
        # The product is that of the MIG devices where those are described, or said to be wrong.
        ("nvidia.com/gpu.product", "nvidia.com/gpu.family"),
        "every product writes the same keys, and NVIDIA's program leaves to chance, anew at each look, which of "
        "them remains; ours describes the same one each time, so it is held against the look at which NVIDIA's "
        "describes that one",
    ),
)


def judge(context, session, node):
    ours = ours_named(context)
    for layout, questions in chosen(node):
        with session.case(f"{layout.name}: made"):
            node.apply(layout.specs())
        for strategy, sharing, way in questions:
            with session.case(f"{layout.name}, strategy {strategy}, {sharing}, {way}"):
                config = write_config(context, layout, node.facts, SHARING[sharing])
                equal(context, node, ours, f"--mig-strategy={strategy}", *config, way=way)
    shared_by_mps(context, session, node, ours)
    with session.case("the machine's own name, and the driver's defaults"):
        equal(context, node, ours)
    with session.case("the same as an object"):
        equal(context, node, ours, way="object")
    if node.profile == "hgx-h200":
        with session.case("GPUs in a fabric"):
            in_a_fabric(context, session, ours)


def shared_by_mps(context, session, node, ours):
    """Of whole GPUs: NVIDIA's programs share no others so."""
    whole = layouts(node.facts)[0]
    with session.case("whole GPUs: made"):
        node.apply(whole.specs())
    for name, renamed in (("two shares by MPS", False), ("two shares by MPS, renamed", True)):
        with session.case(name):
            equal(context, node, ours, *write_config(context, whole, node.facts, renamed, "mps"))


def chosen(node):
    """Layouts with the questions that are asked on each, in turn."""
    everything = os.environ.get("PARTITA_COMPAT_ALL")
    offset, number = PROFILES.index(node.profile), 0
    for layout in layouts(node.facts):
        questions = []
        for strategy in STRATEGIES:
            for sharing in SHARING:
                for way in WAYS:
                    if everything or number % STEP == offset:
                        questions.append((strategy, sharing, way))
                    number += 1
        if questions:
            yield layout, questions


def ours_named(context):
    """partita goes by the name it is called by."""
    path = context.scratch("gpu-feature-discovery")
    os.symlink(context.partita, path)
    return path


def write_config(context, layout, facts, renamed, kind="timeSlicing"):
    if renamed is None:
        return []
    profiles = facts.product.profiles if layout.slices() else {}
    names = ["nvidia.com/gpu"] + [f"nvidia.com/{profiles[name].resource}" for name in layout.slices()]
    shared = {"renameByDefault": renamed, "resources": [{"name": name, "replicas": 2} for name in names]}
    path = context.scratch("config.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": "v1", "sharing": {kind: shared}}, file)
    return [f"--config-file={path}"]


def equal(context, node, ours, *options, way="file"):
    written = WAYS[way]
    mine = written(context, node, ours, options)
    kept = [each for each in KEPT if each.holds(node.facts)]
    for _ in range(MOST_TRIES if kept else 1):
        theirs = written(context, node, context.programs["gpu-feature-discovery"], options)
        if all(theirs.get(key) == mine.get(key) for each in kept for key in each.tells):
            break
    differences = [
        f"{key} is {mine.get(key, 'absent')!r}, NVIDIA's {theirs.get(key, 'absent')!r}"
        for key in sorted(mine.keys() | theirs.keys())
        if mine.get(key) != theirs.get(key)
    ]
    if differences:
        raise Failure("; ".join(differences))


def labels_by(context, node, program, options):
    output = context.scratch("labels")
    node.check([
        program, "--oneshot", "--use-node-feature-api=false", "--no-timestamp", f"--output-file={output}", *options,
    ])
    with open(output, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if len(lines) < 20:
        raise Failure(f"{program} wrote {len(lines)} labels")
    return dict(line.split("=", 1) for line in lines)


def object_by(context, node, program, options):
    """The labels of the NodeFeature object that is made, and everything else in it."""
    with ApiServer(context, node.log) as api:
        node.check(
            [program, "--oneshot", "--no-timestamp", f"--kubeconfig={api.kubeconfig}", *options],
            env={"NODE_NAME": "n1", "NAMESPACE": "gpu"},
        )
        made = api.objects("nodefeatures", "gpu")
    if len(made) != 1:
        raise Failure(f"{program} made {len(made)} NodeFeature objects")
    (feature,) = made
    labels = feature["spec"].pop("labels")
    if len(labels) < 20:
        raise Failure(f"{program} published {len(labels)} labels")
    metadata = {key: feature["metadata"].get(key) for key in ("name", "namespace", "labels", "ownerReferences")}
    return labels | {"the object": json.dumps(feature | {"metadata": metadata}, sort_keys=True)}


WAYS = {"file": labels_by, "object": object_by}


def in_a_fabric(context, session, ours):
    """The same board where the fabric's manager has named the cluster."""
    own = context.inside(context.scratch("fabric"))
    with open(os.path.join(context.source, "data/nodes/hgx-h200.yaml"), encoding="utf-8") as file:
        text = file.read()
    path = own.scratch("node.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\nfabric_cluster: {CLUSTER}\nfabric_clique: 7\n")
    with Node(own, "hgx-h200", session.log, file=path) as node:
        equal(own, node, ours)
        clique = labels_by(own, node, ours, []).get("nvidia.com/gpu.clique")
        if clique != f"{CLUSTER}.7":
            raise Failure(f"nvidia.com/gpu.clique is {clique!r}")
