"""What containers ask for, and what must then be inside."""

import dataclasses
from collections.abc import Sequence

from containers.inside import Inside
from containers.node import Facts, Gpu, Slice

# What an injection adds to the driver's own files: links for GLVND and GBM, the loader's list, an empty place where
# application profiles go (CDI specs of NVIDIA's toolkit 1.20 do the same).
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
GENERATED = (f"{LIBRARIES}/gbm/nvidia-drm_gbm.so", f"{LIBRARIES}/libGLX_indirect.so.0")
GENERATED_BELOW = ("/etc/ld.so.conf.d/", "/etc/nvidia/")
STATE = {f"/run/partita-sim{rest}" for rest in ("", "/sim", "/sim/holders", "/sim/node.yaml", "/sim/state")}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    devices: tuple[str, ...]  # "1" a GPU, "6:1" a MIG device, "all"
    is_by_uuid: bool = False  # how they are named

    def names(self, facts: Facts) -> tuple[str, ...]:
        return tuple(self._uuid(device, facts) if self.is_by_uuid else device for device in self.devices)

    def _uuid(self, device: str, facts: Facts) -> str:
        index, _, place = device.partition(":")
        gpu = facts.gpus[int(index)]
        return gpu.slices[int(place)].uuid if place else gpu.uuid

    def chosen(self, facts: Facts) -> list[tuple[Gpu, tuple[Slice, ...]]]:
        """Each GPU that is visible, with those of its slices that are: by what "GPU:slice" means."""
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
    Case("gpu-and-slice-by-uuid", ("2", "7:0"), is_by_uuid=True),
)


def problems(case: Case, facts: Facts, inside: Inside) -> list[str]:
    """Every difference between what must be inside and what is; none is good."""
    chosen = case.chosen(facts)
    found = [*wrong_nodes(facts, chosen, inside), *wrong_proc(facts, bool(chosen), inside)]
    found += difference("state", STATE, inside.state)
    if not chosen:
        return [*found, *(f"file {path} although nothing was asked for" for path in sorted(inside.files))]
    return [*found, *wrong_files(facts, inside), *wrong_list(chosen, inside)]


def wrong_nodes(facts: Facts, chosen: Sequence[tuple[Gpu, tuple[Slice, ...]]], inside: Inside) -> list[str]:
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


def wrong_proc(facts: Facts, is_protected: bool, inside: Inside) -> list[str]:
    """A container that CDI alone has made sees all of it, but is told to make no nodes."""
    found = difference("proc", facts.proc, inside.proc)
    modify = f"ModifyDeviceFiles: {0 if is_protected else 1}"
    return found if modify in inside.params else [*found, f"params lacks {modify!r}: {inside.params}"]


def wrong_files(facts: Facts, inside: Inside) -> list[str]:
    kept = {path for path in inside.files if path not in GENERATED and not path.startswith(GENERATED_BELOW)}
    found = difference("file", facts.files, kept)
    found += [f"link {path} is missing" for path in GENERATED if path not in inside.files]
    found += difference("in the loader's cache", frozenset(facts.libraries), inside.cached)
    for name in facts.libraries:
        if (place := inside.loader.get(name)) != f"{LIBRARIES}/{name}" and place != f"/lib/x86_64-linux-gnu/{name}":
            found.append(f"the loader finds {name} at {place}")
    return found


def wrong_list(chosen: Sequence[tuple[Gpu, tuple[Slice, ...]]], inside: Inside) -> list[str]:
    expected = [(gpu.uuid, tuple((part.profile, part.uuid) for part in parts)) for gpu, parts in chosen]
    return [] if inside.listed == expected else [f"nvidia-smi lists {inside.listed}, not {expected}"]


def difference(what: str, expected: set[str] | frozenset[str], seen: set[str]) -> list[str]:
    missing = [f"{what} {word} is missing" for word in sorted(expected - seen)]
    return missing + [f"{what} {word} should not be there" for word in sorted(seen - expected)]
