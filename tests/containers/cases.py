"""What containers ask for, and what must then be inside."""

import dataclasses
from pathlib import Path

from containers.inside import Inside
from containers.node import Facts, Gpu, Slice

Chosen = list[tuple[Gpu, tuple[Slice, ...]]]  # each GPU that is visible, with those of its slices that are

# What an injection adds to the driver's own files: links for GLVND and GBM, the loader's list, an empty place where
# application profiles go (CDI specs of NVIDIA's toolkit 1.20 do the same).
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
GENERATED = (f"{LIBRARIES}/gbm/nvidia-drm_gbm.so", f"{LIBRARIES}/libGLX_indirect.so.0")
GENERATED_BELOW = ("/etc/ld.so.conf.d/", "/etc/nvidia/")
STATE = {f"/run/partita-sim{rest}" for rest in ("", "/sim", "/sim/holders", "/sim/node.yaml", "/sim/state")}


# What of the driver a container gets that asks for no capabilities, by the names of files: NVIDIA's hook of docker
# gives utility and compute (libnvidia-container, nvc_info.c).
UTILITY = ("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "libnvidia-ml", "libnvidia-cfg")
COMPUTE = (
    "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "libcuda", "libcudadebugger", "libnvidia-opencl",
    "libnvidia-gpucomp", "libnvidia-ptxjitcompiler", "libnvidia-allocator", "libnvidia-pkcs11",
    "libnvidia-pkcs11-openssl3", "libnvidia-nvvm",
)


@dataclasses.dataclass(frozen=True)
class Injection:
    """How an engine's containers come to their devices, as far as it shows inside."""

    whole_proc: bool = True  # all of /proc/driver/nvidia, not what was granted alone
    names: tuple[str, ...] = ()  # of files and libraries, without suffixes; none: all that the driver has


CDI = Injection()
RUNTIME = Injection(whole_proc=False)
LEGACY = Injection(whole_proc=False, names=UTILITY + COMPUTE)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    devices: tuple[str, ...]  # "1" a GPU, "6:1" a MIG device, "all"
    forms: tuple[str, ...] = ()  # how each is named: by index where there is none, "uuid", or "old": by instances

    def names(self, facts: Facts) -> tuple[str, ...]:
        forms = self.forms or ("index",) * len(self.devices)
        return tuple(self._name(device, form, facts) for device, form in zip(self.devices, forms, strict=True))

    def _name(self, device: str, form: str, facts: Facts) -> str:
        if form == "index":
            return device
        index, _, place = device.partition(":")
        gpu = facts.gpus[int(index)]
        if not place:
            return gpu.uuid
        part = gpu.slices[int(place)]
        return part.uuid if form == "uuid" else f"MIG-{gpu.uuid}/{part.instance_numbers()}"

    def chosen(self, facts: Facts) -> Chosen:
        """By what "GPU:slice" means."""
        if self.devices == ("all",):
            return [(gpu, gpu.slices) for gpu in facts.gpus]
        parts: dict[int, list[Slice]] = {}
        for device in self.devices:
            index, _, place = device.partition(":")
            own = parts.setdefault(int(index), [])
            if place:
                own.append(facts.gpus[int(index)].slices[int(place)])
        return [(facts.gpus[index], tuple(own)) for index, own in sorted(parts.items())]


CASES = (
    Case("one-gpu", ("1",)),
    Case("two-gpus", ("0", "3")),
    Case("one-slice", ("6:1",)),
    Case("two-slices", ("6:0", "7:1")),
    Case("all", ("all",)),
    Case("none", ()),
    Case("gpu-and-slice-by-uuid", ("2", "7:0"), ("uuid", "uuid")),
)
# Beyond those, for who names devices to NVIDIA's programs: NVIDIA's talk of 2020 on MIG in containers shows this one.
DOCUMENTED = Case("slices-as-documented", ("6:0", "6:1", "7:0", "7:1"), ("index", "index", "index", "old"))
COUNTED = Case("count", ("0", "1"))
BOTH = Case("runtime-and-gpus", ("2", "6:0"))


def problems(case: Case, facts: Facts, inside: Inside, injection: Injection = CDI) -> list[str]:
    """Every difference between what must be inside and what is; none is good."""
    chosen = case.chosen(facts)
    found = [*wrong_nodes(facts, chosen, inside), *wrong_proc(facts, chosen, inside, injection)]
    found += difference("state", STATE, inside.state)
    if not chosen:
        return [*found, *(f"file {path} although nothing was asked for" for path in sorted(inside.files))]
    return [*found, *wrong_files(facts, inside, injection), *wrong_list(chosen, inside)]


def wrong_nodes(facts: Facts, chosen: Chosen, inside: Inside) -> list[str]:
    granted = facts.control_nodes() if chosen else {}
    for gpu, parts in chosen:
        granted |= facts.gpu_node(gpu)
        for part in parts:
            granted |= facts.slice_nodes(part)
    # No driver of the host serves these numbers: ENXIO is what a container gets that may open them.
    expected = {f"{path} {major}:{minor} ENXIO" for path, (major, minor) in granted.items()}
    others = set(facts.all_nodes().values()) - set(granted.values())
    refused = {f"{major}:{minor} EPERM" for major, minor in others}
    return [*difference("node", expected, inside.nodes), *difference("other node", refused, inside.others)]


def wrong_proc(facts: Facts, chosen: Chosen, inside: Inside, injection: Injection) -> list[str]:
    """Who got something is told to make no nodes, and sees what it got alone unless it was CDI that gave it."""
    is_whole = injection.whole_proc or not chosen
    found = difference("proc", facts.proc if is_whole else granted_proc(facts, chosen), inside.proc)
    modify = f"ModifyDeviceFiles: {0 if chosen else 1}"
    return found if modify in inside.params else [*found, f"params lacks {modify!r}: {inside.params}"]


def granted_proc(facts: Facts, chosen: Chosen) -> set[str]:
    """As NVIDIA's hook shows it: three texts, the folders of the GPUs, the files that stand for the slices."""
    top = "/proc/driver/nvidia"
    result = {f"{top}/{name}" for name in ("params", "version", "registry", "gpus")}
    for gpu, parts in chosen:
        own = f"{top}/gpus/{gpu.address}"
        result |= {path for path in facts.proc if path == own or path.startswith(own + "/")}
        for part in parts:
            instance = f"{top}/capabilities/gpu{gpu.index}/mig/{part.instance}/access"
            files = [instance, f"{instance.rsplit('/', 2)[0]}/access"]
            folders = {str(folder) for file in files for folder in Path(file).parents}
            result.update(files, (folder for folder in folders if folder.startswith(top + "/")))
    return result


def wrong_files(facts: Facts, inside: Inside, injection: Injection) -> list[str]:
    """Names for developers ("libcuda.so") are no part of what capabilities give, but for one that CUDA opens."""
    kept = {path for path in inside.files if path not in GENERATED and not path.startswith(GENERATED_BELOW)}
    if injection.names:
        wanted = {path for path in facts.files if is_named(path, injection) and not path.endswith(".so")}
        wanted |= {f"{LIBRARIES}/libcuda.so"} | {path for path in facts.files if path.startswith("/lib/firmware/")}
        libraries = [name for name in facts.libraries if is_named(name, injection)]
    else:
        wanted, libraries = set(facts.files), list(facts.libraries)
    found = difference("file", wanted, kept)
    found += [f"link {path} is missing" for path in GENERATED if path not in inside.files and not injection.names]
    found += difference("in the loader's cache", set(libraries), inside.cached)
    for name in libraries:
        if (place := inside.loader.get(name)) != f"{LIBRARIES}/{name}" and place != f"/lib/x86_64-linux-gnu/{name}":
            found.append(f"the loader finds {name} at {place}")
    return found


def is_named(path: str, injection: Injection) -> bool:
    return path.rpartition("/")[2].partition(".so")[0] in injection.names


def wrong_list(chosen: Chosen, inside: Inside) -> list[str]:
    expected = [(gpu.uuid, tuple((part.profile, part.uuid) for part in parts)) for gpu, parts in chosen]
    return [] if inside.listed == expected else [f"nvidia-smi lists {inside.listed}, not {expected}"]


def difference(what: str, expected: set[str] | frozenset[str], seen: set[str]) -> list[str]:
    missing = [f"{what} {word} is missing" for word in sorted(expected - seen)]
    return missing + [f"{what} {word} should not be there" for word in sorted(seen - expected)]
