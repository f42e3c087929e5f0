"""nvidia-mig-parted judges the MIG model: NVIDIA's own default configurations, and bad ones. Then ours, under
its name, is asked the same questions."""

import json
import os
import re

from cases import mig_parted_drop_in
from harness import facts
from harness.node import build_config, spec
from support.refusal import check_refusal
from support.shell import Failure, last_words

# How the program says no.
CANNOT_MAKE = "all orderings failed"
NOT_APPLIED = "Assertion failure: selected configuration not currently applied"

NAME = "mig-parted"
NEEDS_NODE = True


def judge(context, session, node):
    default_configurations(node, session, context.default_configurations)
    modes(node, session, context)
    must_fail(node, session, context)
    several_layouts(node, session, context)
    checkpoints(node, session, context)
    mig_parted_drop_in.judge(context, session, node)


# ---- the default file ----


def default_configurations(node, session, path):
    """NVIDIA's default file: every label that fits the node holds; those for other boards fail."""
    with session.case("the default configurations were read"):
        labels = re.findall(r"^  (all-[\w.+-]+):", facts.read(path), re.M)
        if len(labels) < 80:
            raise Failure(f"{path} has {len(labels)} labels, expected about 81")
    meanings = {label: expected_devices(label, node.facts.product) for label in labels}
    fitting = [label for label, wanted in meanings.items() if wanted is not None]
    for label in some(node, fitting, 3):
        with session.case(label):
            accepts(node, path, label, meanings[label])
    others = [label for label, wanted in meanings.items() if wanted is None]
    for label in some(node, others, 20):
        with session.case(f"{label}, which is for other boards"):
            refuses(node, path, label)


def some(node, names, step):
    """All of them on a node with one GPU, where each costs least, and in `make nightly`; else every so
    many."""
    everything = len(node.facts.gpus) == 1 or os.environ.get("PARTITA_COMPAT_ALL")
    return names if everything else names[::step]


def expected_devices(label, product):
    """What the label means on the node's MIG product: profiles, {} for none, "off", None: no fit."""
    name = label[len("all-"):]
    if name in ("disabled", "enabled"):
        return {"disabled": "off", "enabled": {}}[name]
    if name == "balanced":
        return {product.plain(1).name: 2, product.plain(2).name: 1, product.plain(3).name: 1}
    for candidate in product.profiles.values():
        if candidate.resource == "mig-" + name:
            return {candidate.name: candidate.count}
    return None


def accepts(node, path, label, wanted):
    apply(node, path, label)
    devices = None if wanted == "off" else wanted
    exported = export(node)
    if exported != expected_export(node.facts, {i: devices for i in node.facts.capable}):
        raise Failure(f"export after {label}: {exported}")
    if len(node.facts.capable) == len(node.facts.gpus) or devices is None:
        check_assert(node, path, label)
    elif not assert_fails(node, path, label):
        raise Failure("assert of `devices: all` must fail where a GPU has no MIG")


def refuses(node, path, label):
    """Apply says that it cannot; or it finds nothing that it could do, says that it succeeded, and assert
    says that it is not so (mig-parted drops profiles that no GPU offers)."""
    done = node.mig_parted("apply", "-f", path, "-c", label, timeout=120)
    if done.returncode != 0:
        check_refusal(done, CANNOT_MAKE)
    elif not assert_fails(node, path, label):
        raise Failure(f"apply and assert accept {label}")


# ---- modes ----


def modes(node, session, context):
    everything = {
        "on": [spec(node.facts.capable, {})] + incapable(node.facts),
        "off": [spec("all", None)],
    }
    path = write(context, everything)
    with session.case("mode only: on"):
        apply(node, path, "on", "--mode-only")
        check_assert(node, path, "on", "--mode-only")
        if not assert_fails(node, path, "off", "--mode-only"):
            raise Failure("assert says that MIG is off everywhere just after it was switched on")
    with session.case("mode only: off"):
        apply(node, path, "off", "--mode-only")
        check_assert(node, path, "off")
    with session.case("a pending mode is not the current one"):
        skip_reset(node, path)
    if node.profile == "dgx-a100-40":
        with session.case("mode only, while no driver is loaded"):
            without_driver(node, path, context)


def skip_reset(node, path):
    """Before Hopper a mode change may wait for a reset; --skip-reset then leaves it waiting."""
    done = node.mig_parted("apply", "-f", path, "-c", "on", "--mode-only", "--skip-reset")
    if done.returncode != 0:
        raise Failure(f"apply --skip-reset: {last_words(done)}")
    waits = node.profile == "dgx-a100-40"
    if assert_fails(node, path, "on", "--mode-only") != waits:
        raise Failure(f"MIG mode after --skip-reset: expected {'pending' if waits else 'on'}")
    apply(node, path, "on", "--mode-only")
    check_assert(node, path, "on", "--mode-only")
    apply(node, path, "off")


def without_driver(node, path, context):
    """GA100 keeps the mode on the board: mig-parted writes it to the simulated registers, partita reads
    it there, and the driver finds it."""
    node.sim("driver", "unload", "--node", node.name)
    try:
        apply(node, path, "on", "--mode-only")
        node.check([context.partita, "mig", "assert", "-f", path, "-c", "on", "--mode-only"])
    finally:
        node.sim("driver", "load", "--node", node.name)
    check_assert(node, path, "on", "--mode-only")
    apply(node, path, "off")


# ---- what must fail ----


def must_fail(node, session, context):
    product, first = node.facts.product, node.facts.capable[0]
    one, three, four, seven = (product.plain(n) for n in (1, 3, 4, 7))
    bad = {
        "one too many": {one.name: one.count + 1},
        "two of the one that exists once": {four.name: 2},
        "the whole GPU and a slice": {seven.name: 1, one.name: 1},
        "three halves": {three.name: 3},
        "a half too much": {four.name: 1, three.name: 2},
        "media extensions twice": {one.name + "+me": 2},
        "a profile of no board": {"5g.50gb": 1},
        "the right slices with the wrong memory": {"1g.33gb": 1},
    }
    for name, devices in bad.items():
        with session.case(f"must fail: {name}"):
            path = write(context, {"bad": [spec([first], devices)]})
            refuses(node, path, "bad")
            leftovers = export(node)
            if leftovers != expected_export(node.facts, {first: {}}):
                raise Failure(f"after the refusal of {devices} the node holds {leftovers}")
    for index, gpu in enumerate(node.facts.gpus):
        if not gpu.product.profiles:
            with session.case(f"must fail: MIG on GPU {index}, {gpu.product.name}"):
                path = write(context, {"bad": [spec([index], {})]})
                done = node.mig_parted("apply", "-f", path, "-c", "bad")
                check_refusal(done, "non MIG-capable")
    with session.case("must fail: a GPU index that does not exist"):
        path = write(context, {"bad": [spec([len(node.facts.gpus)], {})]})
        if not assert_fails(node, path, "bad"):
            raise Failure("assert accepted a GPU that is not there")
    with session.case("assert --valid-config judges the file alone"):
        path = write(context, {"fine": [spec([first], {one.name: 1})]})
        check_assert(node, path, "fine", "--valid-config")


# ---- layouts of several kinds ----


def several_layouts(node, session, context):
    product, capable = node.facts.product, node.facts.capable
    one, two, three, four, seven = (product.plain(n) for n in (1, 2, 3, 4, 7))
    multisets = {
        "4+3": {four.name: 1, three.name: 1},
        "4+2+1": {four.name: 1, two.name: 1, one.name: 1},
        "3+3": {three.name: 2},
        "3+2+2": {three.name: 1, two.name: 2},
        "3+1+1+1+1": {three.name: 1, one.name: 4},
        "2+2+2+1": {two.name: 3, one.name: 1},
        "7": {seven.name: 1},
        "two compute instances share 3g": {f"1c.{three.name}": 1, f"2c.{three.name}": 1},
        "a slice with media extensions": {one.name + "+me": 1, one.name: 6},
    }
    for name in some(node, list(multisets), 3):
        with session.case(f"layout {name}"):
            holds(node, context, {index: multisets[name] for index in capable})
    if len(capable) > 1:
        with session.case("a different layout on each GPU"):
            choices = list(multisets.values()) + [None]
            holds(node, context, {i: choices[n % len(choices)] for n, i in enumerate(capable)})
    with session.case("a layout applied twice changes nothing"):
        path = holds(node, context, {index: {two.name: 3} for index in capable})
        before = minors(node)
        apply(node, path, "layout")
        if minors(node) != before:
            raise Failure("the second apply re-created instances")
    with session.case("everything off"):
        holds(node, context, {index: None for index in capable})


def holds(node, context, layout):
    """Applies a layout by GPU index, asserts it and compares the export. Returns the file's path."""
    specs = [spec([index], devices) for index, devices in layout.items()] + incapable(node.facts)
    path = write(context, {"layout": specs})
    apply(node, path, "layout")
    check_assert(node, path, "layout")
    exported = export(node)
    if exported != expected_export(node.facts, layout):
        raise Failure(f"export: {exported}")
    return path


def checkpoints(node, session, context):
    """Checkpoint and restore: the one path of mig-parted that names placements."""
    product, capable = node.facts.product, node.facts.capable
    layout = {index: {product.plain(3).name: 1, product.plain(1).name: 2} for index in capable}
    with session.case("checkpoint and restore"):
        holds(node, context, layout)
        path = context.scratch("checkpoint.json")
        run_or_fail(node, "checkpoint", "-f", path)
        before = minors(node)
        holds(node, context, {index: {product.plain(7).name: 1} for index in capable})
        run_or_fail(node, "restore", "-f", path)
        if export(node) != expected_export(node.facts, layout):
            raise Failure(f"restored: {export(node)}")
        if minors(node) != before:
            raise Failure("the instances did not return to their placements")
        holds(node, context, {index: None for index in capable})


# ---- words ----


def incapable(node_facts):
    rest = [i for i in range(len(node_facts.gpus)) if i not in node_facts.capable]
    return [spec(rest, None)] if rest else []


def write(context, configs):
    path = context.scratch("mig-config.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(build_config(configs))
    return path


def run_or_fail(node, *arguments):
    done = node.mig_parted(*arguments, timeout=120)
    if done.returncode != 0:
        raise Failure(f"mig-parted {arguments[0]}: {last_words(done)}")
    return done


def apply(node, path, label, *options):
    run_or_fail(node, "apply", "-f", path, "-c", label, *options)


def check_assert(node, path, label, *options):
    run_or_fail(node, "assert", "-f", path, "-c", label, *options)


def assert_fails(node, path, label, *options):
    """True: it says that another configuration is there. Whatever else it says is no answer."""
    done = node.mig_parted("assert", "-f", path, "-c", label, *options)
    if done.returncode == 0:
        return False
    check_refusal(done, NOT_APPLIED)
    return True


def export(node):
    """GPU index -> devices (None: MIG off), from mig-parted's own export."""
    return layout_of(json.loads(run_or_fail(node, "export", "-o", "json").stdout), node)


def layout_of(document, node):
    """The same from an exported document."""
    state = {}
    for entry in document["mig-configs"]["current"]:
        devices = dict(entry.get("mig-devices") or {}) if entry["mig-enabled"] else None
        for index in matching(entry, node.facts):
            state[index] = devices
    return state


def matching(entry, node_facts):
    filters = entry.get("device-filter") or [gpu.product.device_id for gpu in node_facts.gpus]
    filters = [filters] if isinstance(filters, str) else filters
    indices = range(len(node_facts.gpus)) if entry["devices"] == "all" else entry["devices"]
    filters = [one.upper() for one in filters]
    return [i for i in indices if node_facts.gpus[i].product.device_id.upper() in filters]


def expected_export(node_facts, layout):
    return {index: layout.get(index) for index in range(len(node_facts.gpus))}


def minors(node):
    """The capability minors of the instances there are: equal minors, equal instance ids."""
    return node.check(["ls", "/dev/nvidia-caps"]).stdout.split()
