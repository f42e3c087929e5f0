"""The same as `labels`, for the products that no profile has: two boards of each, whole and in every MIG profile."""

import os

from cases import labels_beside
from harness import facts
from harness.layouts import everywhere
from harness.node import PROFILES, Node

NAME = "labels-products"
NEEDS_NODE = False
FILE = """\
name: {name}
driver:
  version: 580.159.04
  cuda: "13.0"
majors: {{gpu: 195, uvm: 238, nvswitch: 239, nvlink: 240, caps: 241, imex: 242}}
numa:
  - {{node: 0, cpus: 0-15}}
gpus:
  - {{product: {product}, pci: "0000:3b:00.0", numa: 0}}
  - {{product: {product}, pci: "0000:86:00.0", numa: 0}}
"""


def judge(context, session):
    ours = labels_beside.ours_named(context)
    for product in others(os.path.join(context.source, "data")):
        own = context.inside(context.scratch(product))
        path = own.scratch("node.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FILE.format(name="judged", product=product))
        with Node(own, product, session.log, file=path) as node:
            for layout, ways in chosen(node.facts):
                with session.case(f"{product}, {layout.name}: made"):
                    node.apply(layout.specs())
                for strategy in labels_beside.STRATEGIES:
                    for way in ways:
                        with session.case(f"{product}, {layout.name}, strategy {strategy}, {way}"):
                            labels_beside.equal(own, node, ours, f"--mig-strategy={strategy}", way=way)


def others(data):
    known = set().union(*(facts.products_of(facts.node_path(data, profile)) for profile in PROFILES))
    return [name for name in facts.product_names(data) if name not in known]


def chosen(node):
    """Layouts with the ways that are asked on each; in CI the first MIG profile, written as an object."""
    everything = os.environ.get("PARTITA_COMPAT_ALL")
    profiles = list(node.product.profiles.values()) if node.capable else []
    yield everywhere(node, "full GPUs", None), list(labels_beside.WAYS) if everything else ["file"]
    for profile in profiles if everything else profiles[:1]:
        layout = everywhere(node, f"{profile.count} of {profile.name}", {profile.name: profile.count})
        yield layout, list(labels_beside.WAYS) if everything else ["object"]
