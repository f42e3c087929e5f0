"""`partita cdi generate` beside `nvidia-ctk cdi generate`, on the same node: the same devices, nodes, mounts, hooks
and environment. Without the one hook that we leave out the files are equal to the byte; every other difference that
we keep stands in KEPT with its reason, and a row that no case meets fails."""

import dataclasses
import json
import os

from harness.layouts import layouts
from support.shell import Failure, check

NAME = "cdi"
NEEDS_NODE = True
DRIVER_ROOT = "/run/partita-sim"
PLACES = {
    "the host's driver": [],
    "a driver root": [f"--driver-root={DRIVER_ROOT}"],
    "a driver root, /dev at the root": [f"--driver-root={DRIVER_ROOT}", "--dev-root=/"],
}
MEMORY_LIMITS = "apply-cuda-memory-limits"


@dataclasses.dataclass(frozen=True)
class Kept:
    """A difference that is meant. `explains` takes one fact that only one of the two has."""

    reason: str
    explains: object


KEPT = {
    "memory limits": Kept(
        "its hook asks NVML, which a static program cannot; it does nothing unless the image's environment asks for it",
        lambda fact, ours: not ours and fact.kind == "hook" and MEMORY_LIMITS in fact.text,
    ),
    "MPS directory": Kept(
        "the reference's file filter rejects the directory that it means to mount",
        lambda fact, ours: ours and fact.kind == "mount" and "/tmp/nvidia-mps" in fact.text,
    ),
    "links inside the root": Kept(
        "the host would follow an absolute link of the driver's root to a file of its own",
        lambda fact, ours: fact.kind == "mount" and '"containerPath": "/usr/bin/nvidia-imex"' in fact.text,
    ),
}
# Not a difference of two files: the reference writes one, we refuse.
REFUSED = "a slice without one of its nodes would be the bare GPU"


@dataclasses.dataclass(frozen=True)
class Fact:
    """One thing that a specification does."""

    where: str
    kind: str
    text: str

    def __str__(self):
        return f"{self.where}: {self.kind} {self.text}"


def judge(context, session, node):
    met = set()
    for layout in layouts(node.facts):
        with session.case(f"{layout.name}: made"):
            node.apply(layout.specs())
        if layout.name == "enabled and empty" and not layout.disabled:
            with session.case(f"{layout.name}: refused with the reason"):
                done = ours_run(context, node, "x.yaml")
                if done.returncode != 1 or "is in MIG mode and has no MIG device" not in done.stderr:
                    raise Failure(f"status {done.returncode}: {done.stderr}")
            continue
        for place, options in PLACES.items():
            for ending in ("yaml", "json"):
                with session.case(f"{layout.name}, {place}: equal bytes, {ending}"):
                    check_bytes(context, node, ending, options)
            with session.case(f"{layout.name}, {place}: every difference is meant"):
                met |= check_kept(context, node, options)
        if layout.name == "balanced":
            with session.case(f"{layout.name}: differences that a tree brings"):
                met |= check_tree(context, node)
            with session.case(f"{layout.name}: a missing node ({REFUSED})"):
                check_missing(context, node)
    with session.case("every difference that is meant is met"):
        if met != KEPT.keys():
            raise Failure(f"nothing of this kind was met: {sorted(KEPT.keys() - met)}")


# ---- the two programs ----


def reference(context, node, name, *options):
    path = context.scratch("reference-" + name)
    node.check([
        context.programs["nvidia-ctk"], "cdi", "generate", "--mode=nvml", f"--output={path}",
        f"--nvidia-cdi-hook-path={context.programs['nvidia-cdi-hook']}", *options,
    ])
    with open(path, "rb") as file:
        return file.read()


def ours_run(context, node, name, *options):
    folder = context.scratch("ours-" + name)  # a folder each: two files of a kind in one are a conflict
    os.makedirs(folder, exist_ok=True)
    return node.run([
        context.partita, "cdi", "generate", f"--hook-path={context.programs['nvidia-cdi-hook']}", *options,
        os.path.join(folder, name),
    ])


def ours(context, node, name, *options):
    done = ours_run(context, node, name, *options)
    if done.returncode != 0:
        raise Failure(f"partita cdi generate exited {done.returncode}: {done.stderr}")
    with open(os.path.join(context.scratch("ours-" + name), name), "rb") as file:
        return file.read()


# ---- comparing ----


def check_bytes(context, node, ending, options):
    name = f"nvidia.{ending}"
    wanted = reference(context, node, name, f"--disable-hook={MEMORY_LIMITS}", *options)
    found = ours(context, node, name, *options)
    if wanted != found:
        place = next((i for i, (a, b) in enumerate(zip(wanted, found)) if a != b), min(len(wanted), len(found)))
        raise Failure(f"at byte {place}: {wanted[place - 40:place + 80]!r}, ours {found[place - 40:place + 80]!r}")


def facts_of(text):
    spec = json.loads(text)
    facts = {Fact("spec", "kind", spec["kind"])}
    scopes = {"common": spec["containerEdits"]}
    scopes |= {f"device {device['name']}": device["containerEdits"] for device in spec["devices"]}
    kinds = {"env": "env", "deviceNodes": "node", "hooks": "hook", "mounts": "mount", "additionalGids": "group"}
    for where, edits in scopes.items():
        for key, values in edits.items():
            facts |= {Fact(where, kinds[key], json.dumps(value, sort_keys=True)) for value in values}
    return facts


def check_kept(context, node, options):
    """Both as they are; the names of the rows that were met."""
    theirs = facts_of(reference(context, node, "nvidia.json", *options))
    found = facts_of(ours(context, node, "nvidia.json", *options))
    met = set()
    for fact in theirs ^ found:
        rows = [name for name, row in KEPT.items() if row.explains(fact, fact in found)]
        if not rows:
            raise Failure(f"{'only ours' if fact in found else 'only the reference'}: {fact}")
        met |= set(rows)
    return met


def check_tree(context, node):
    """A driver's root with an MPS directory and a program that is an absolute link."""
    mps = os.path.join(node.root, "tmp/nvidia-mps")
    link = os.path.join(node.root, "usr/bin/nvidia-imex")
    os.makedirs(mps)
    os.symlink("/usr/bin/nvidia-smi", link)
    try:
        return check_kept(context, node, PLACES["a driver root"])
    finally:
        os.rmdir(mps)
        os.unlink(link)


def check_missing(context, node):
    """In a /dev of its own: of a slice whose node it cannot open the library would not tell at all."""
    dev_root = context.scratch("dev-root")
    os.makedirs(dev_root)
    check(["cp", "-a", os.path.join(node.root, "dev"), dev_root], node.log)
    caps = os.path.join(dev_root, "dev/nvidia-caps")
    newest = max(os.listdir(caps), key=lambda name: int(name.removeprefix("nvidia-cap")))
    os.unlink(os.path.join(caps, newest))
    option = f"--dev-root={dev_root}"
    whole = json.loads(reference(context, node, "nvidia.json", option))
    if all(len(d["containerEdits"]["deviceNodes"]) == 3 for d in whole["devices"] if ":" in d["name"]):
        raise Failure("the reference no longer makes a device of two nodes")
    done = ours_run(context, node, "x.json", option)
    if done.returncode != 1 or f"/dev/nvidia-caps/{newest} is missing" not in done.stderr:
        raise Failure(f"status {done.returncode}: {done.stderr}")
