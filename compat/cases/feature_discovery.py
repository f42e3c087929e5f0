"""gpu-feature-discovery judges names, sizes and counts: its labels must be those of the data."""

from harness.facts import label_value
from harness.layouts import layouts
from support.shell import Failure

NAME = "gpu-feature-discovery"
NEEDS_NODE = True
MACHINE = "Compat  Machine (X9/2)"
MACHINE_LABEL = "Compat-Machine-X92"
STRATEGIES = ["none", "single", "mixed"]


def judge(context, session, node):
    with session.case("the machine's own name"):
        check_machine(context, node)
    for layout in layouts(node.facts):
        with session.case(f"{layout.name}: made"):
            node.apply(layout.specs())
        for strategy in STRATEGIES:
            with session.case(f"{layout.name}, strategy {strategy}"):
                compare(discover(context, node, strategy), node.facts, layout, strategy)


def check_machine(context, node):
    """Of /sys/class/dmi, where it looks unless told otherwise."""
    found = read_labels(context, node)["nvidia.com/gpu.machine"]
    wanted = label_value(node.facts.machine) or "unknown"
    if found != wanted:
        raise Failure(f"gpu.machine is {found!r}, not {wanted!r}")


def discover(context, node, strategy):
    machine = context.scratch("machine")
    with open(machine, "w", encoding="utf-8") as file:
        file.write(MACHINE + "\n")
    return read_labels(
        context, node, f"--mig-strategy={strategy}", f"--machine-type-file={machine}",
    )


def read_labels(context, node, *options):
    output = context.scratch("labels")
    node.check([
        context.programs["gpu-feature-discovery"], "--oneshot", "--use-node-feature-api=false",
        "--no-timestamp", f"--output-file={output}", *options,
    ])
    with open(output, encoding="utf-8") as file:
        return dict(line.split("=", 1) for line in file.read().splitlines())


def compare(labels, facts, layout, strategy):
    choices = expected(facts, layout, strategy)
    if labels in choices:
        return
    nearest = min(choices, key=lambda wanted: len(labels.items() ^ wanted.items()))
    problems = [
        f"{key} is {labels.get(key, 'absent')!r}, not {nearest.get(key, 'absent')!r}"
        for key in sorted(labels.keys() | nearest.keys())
        if labels.get(key) != nearest.get(key)
    ]
    raise Failure("; ".join(problems))


def expected(facts, layout, strategy):
    """Every set of labels that is right. GPUs of several products write the same keys, and which of
    them remains is left to chance; whole GPUs win over GPUs in MIG mode."""
    indices = layout.disabled or layout.enabled
    products = {facts.gpus[index].product.name: facts.gpus[index].product for index in indices}
    found = []
    for product in products.values():
        labels = machine_labels(facts)
        labels.update(gpu_labels(facts, product, replicas=1 if layout.disabled else 0))
        labels.update(mig_labels(facts, layout, strategy))
        found.append({f"nvidia.com/{key}": str(value) for key, value in labels.items()})
    return found


def machine_labels(facts):
    major, minor, revision = facts.driver.split(".")
    cuda_major, cuda_minor = facts.cuda.split(".")
    return {
        "cuda.driver.major": major,
        "cuda.driver.minor": minor,
        "cuda.driver.rev": revision,
        "cuda.driver-version.major": major,
        "cuda.driver-version.minor": minor,
        "cuda.driver-version.revision": revision,
        "cuda.driver-version.full": facts.driver,
        "cuda.runtime.major": cuda_major,
        "cuda.runtime.minor": cuda_minor,
        "cuda.runtime-version.major": cuda_major,
        "cuda.runtime-version.minor": cuda_minor,
        "cuda.runtime-version.full": facts.cuda,
        "gpu.machine": MACHINE_LABEL,
        "gpu.mode": mode(facts),
        "mig.capable": "true" if facts.capable else "false",
        "mps.capable": "false",
        "vgpu.present": "false",
    }


def mode(facts):
    classes = {gpu.product.pci_class for gpu in facts.gpus}
    if len(classes) > 1:
        return "unknown"
    return {0x030200: "compute", 0x030000: "graphics"}[classes.pop()]


def gpu_labels(facts, product, replicas):
    return {
        "gpu.product": product.label,
        "gpu.count": sum(gpu.product == product for gpu in facts.gpus),
        "gpu.replicas": replicas,
        "gpu.sharing-strategy": "none",
        "gpu.memory": product.memory_mib,
        "gpu.family": product.family,
        "gpu.compute.major": product.compute[0],
        "gpu.compute.minor": product.compute[1],
    }


def mig_labels(facts, layout, strategy):
    if strategy == "none":
        return {}
    labels = {"mig.strategy": strategy}
    slices = layout.slices()
    if strategy == "mixed":
        for name, count in slices.items():
            profile = facts.product.profiles[name]
            labels.update(slice_labels(facts.product, profile, profile.resource, count))
    elif layout.enabled and (layout.disabled or len(slices) != 1):
        labels.update({
            "gpu.product": facts.product.label + "-MIG-INVALID",
            "gpu.count": 0,
            "gpu.replicas": 0,
            "gpu.sharing-strategy": "",
            "gpu.memory": 0,
        })
    elif layout.enabled:
        ((name, count),) = slices.items()
        labels.update(slice_labels(facts.product, facts.product.profiles[name], "gpu", count))
    return labels


def slice_labels(product, profile, resource, count):
    values = {
        "product": f"{product.label}-MIG-{profile.name.replace('+', '.')}",
        "count": count,
        "replicas": 1,
        "sharing-strategy": "none",
        "memory": profile.memory_mb,
        "multiprocessors": profile.multiprocessors,
        "slices.gi": profile.slices,
        "slices.ci": profile.slices,
        "engines.copy": profile.copy,
        "engines.decoder": profile.decoder,
        "engines.encoder": profile.encoder,
        "engines.jpeg": profile.jpeg,
        "engines.ofa": profile.ofa,
    }
    return {f"{resource}.{key}": value for key, value in values.items()}
