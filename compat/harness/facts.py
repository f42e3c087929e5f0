"""What a profile's node is made of, read from data/: the source of every expectation.

The files of data/products and data/nodes keep one fact a line, so that the few facts needed here can
be read without a YAML library. A fact that is not found is an error, never a default.
"""

import dataclasses
import os
import re

# A GPU instance filled by one compute instance: compute-instance profile by slice count. (Profile 7,
# one slice with every multiprocessor of a double-memory instance, is never what mig-parted asks for.)
WHOLE_INSTANCE = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}

FAMILIES = {(7, 0): "volta", (7, 5): "turing", (8, 0): "ampere", (9, 0): "hopper"}


@dataclasses.dataclass(frozen=True)
class Profile:
    """A MIG profile as one slice of it appears when a single compute instance fills it."""

    name: str  # "1g.10gb+me"
    count: int
    slices: int
    memory_mb: int
    multiprocessors: int
    copy: int
    decoder: int
    encoder: int
    jpeg: int
    ofa: int

    @property
    def resource(self):
        return "mig-" + self.name.replace("+", ".")


def label_value(name):
    """A name as a label value: what labels may not hold removed, words joined by dashes."""
    return "-".join(re.sub(r"[^A-Za-z0-9-_. ]", "", name).split())


@dataclasses.dataclass(frozen=True)
class Product:
    name: str
    device_id: str  # "0x20B010DE", as in mig-parted's device filters
    memory_mib: int
    compute: tuple  # (8, 0)
    pci_class: int
    profiles: dict  # name -> Profile; empty: no MIG

    @property
    def label(self):
        return label_value(self.name)

    @property
    def family(self):
        return FAMILIES[self.compute]

    def plain(self, slices):
        """The ordinary profile of that many slices: the one that fits most often."""
        candidates = [p for p in self.profiles.values() if p.slices == slices and "+" not in p.name]
        return max(candidates, key=lambda p: p.count)


@dataclasses.dataclass(frozen=True)
class Gpu:
    product: Product
    pci: str  # "0000:07:00.0"
    numa: int


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    driver: str
    cuda: str
    caps_major: int
    machine: str  # the DMI product name; empty where the machine has none
    gpus: tuple

    @property
    def capable(self):
        return [index for index, gpu in enumerate(self.gpus) if gpu.product.profiles]

    @property
    def product(self):
        """The product of the GPUs that can do MIG (every profile has exactly one such product)."""
        return self.gpus[self.capable[0]].product


def node_path(data, profile):
    return os.path.join(data, "nodes", profile + ".yaml")


def product_names(data):
    """As node files call them."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(os.path.join(data, "products")))


def products_of(path):
    return set(re.findall(r"product: ([\w.-]+)", read(path)))


def read_node(data, path):
    text = read(path)
    gpus = []
    for entry in re.split(r"^ *- (?=\{?product:)", text.split("\ngpus:", 1)[1], flags=re.M)[1:]:
        product = read_product(data, find(r"product: ([\w.-]+)", entry, path))
        pci = find(r"pci: \"?([0-9a-f:.]+)", entry, path)
        gpus.append(Gpu(product, pci, int(find(r"numa: (-?\d+)", entry, path))))
    return NodeFacts(
        driver=find(r"^ +version: ([\d.]+)", text, path),
        cuda=find(r'^ +cuda: "([\d.]+)"', text, path),
        caps_major=int(find(r"caps: (\d+)", text, path)),
        machine=(re.search(r"^dmi: .*product_name: ([^,}]+)", text, re.M) or ("", ""))[1],
        gpus=tuple(gpus),
    )


def read_product(data, name):
    path = os.path.join(data, "products", name + ".yaml")
    text = read(path)

    def fact(key):
        return find(rf'^{key}: \{{value: "?([^,"]+)"?, source:', text, path)

    rows = re.findall(r"^ +- \{(.*)\}", text, re.M)
    instances = [row(r) for r in rows if r.startswith("name:")]
    computes = [row(r) for r in rows if r.startswith("in:")]
    profiles = {}
    for gi in instances:
        profiles[gi["name"]] = Profile(
            name=gi["name"],
            count=int(gi["count"]),
            slices=int(gi["slices"]),
            memory_mb=int(gi["memory_mb"]),
            multiprocessors=whole_instance_multiprocessors(gi, computes),
            copy=int(gi["ce"]),
            decoder=int(gi["dec"]),
            encoder=int(gi["enc"]),
            jpeg=int(gi["jpeg"]),
            ofa=int(gi["ofa"]),
        )
    return Product(
        name=fact("name"),
        device_id=fact("pci_device_id"),
        memory_mib=int(fact("memory_total")) >> 20,
        compute=tuple(map(int, fact("compute_capability").split("."))),
        pci_class=int(fact("pci_class"), 16),
        profiles=profiles,
    )


def whole_instance_multiprocessors(gi, computes):
    for ci in computes:
        inside = gi["constant"] in re.findall(r"\d+", ci["in"])
        if inside and int(ci["id"]) == WHOLE_INSTANCE[int(gi["slices"])]:
            return int(ci["sm"])
    raise ValueError(f"no compute-instance profile fills {gi['name']}")


def row(text):
    """A flow mapping `a: 1, b: [1, 2]` with neither nested mappings nor quoted commas."""
    return {key: value for key, value in re.findall(r"(\w+): (\[[^\]]*\]|[^,]*)", text)}


def find(pattern, text, where):
    match = re.search(pattern, text, re.M)
    if not match:
        raise ValueError(f"{where}: nothing matches {pattern!r}")
    return match[1]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
