"""The layouts on which the node-level judges look: GPU index -> {profile: count}, None for MIG off."""

import dataclasses

from harness.node import spec


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    gpus: dict  # index -> None or {profile name: count}

    @property
    def enabled(self):
        return [index for index, devices in self.gpus.items() if devices is not None]

    @property
    def disabled(self):
        return [index for index, devices in self.gpus.items() if devices is None]

    def slices(self):
        """Profile name -> how many of it the whole node has."""
        total = {}
        for devices in self.gpus.values():
            for name, count in (devices or {}).items():
                total[name] = total.get(name, 0) + count
        return total

    def specs(self):
        """For Node.apply()."""
        return [spec([index], devices) for index, devices in self.gpus.items()]


def layouts(facts):
    """Full GPUs; equal slices; a mixture of slices; media extensions; enabled and empty; half."""
    product = facts.product
    one, two, three, four = (product.plain(n) for n in (1, 2, 3, 4))
    found = [
        everywhere(facts, "full GPUs", None),
        everywhere(facts, "equal slices", {one.name: one.count}),
        everywhere(facts, "balanced", {one.name: 2, two.name: 1, three.name: 1}),
        everywhere(facts, "media extensions", {one.name + "+me": 1}),
        everywhere(facts, "enabled and empty", {}),
    ]
    if len(facts.capable) > 1:
        half = everywhere(facts, "half of the GPUs", None).gpus
        for index in facts.capable[::2]:
            half[index] = {four.name: 1, three.name: 1}
        found.append(Layout("half of the GPUs", half))
    return found


def everywhere(facts, name, devices):
    gpus = {i: devices if i in facts.capable else None for i in range(len(facts.gpus))}
    return Layout(name, gpus)
