"""How the users' pods say what node they want: by the labels of its GPUs."""

from testbench.verbs_kills import served_by
from testbench.verbs_observe import label, labels, wait_for

PRODUCT = "nvidia.com/gpu.product"
# What the users' documents call cuda.runtime and cuda.driver (users_selectors.py has those).
VERSIONS = ("nvidia.com/cuda.runtime-version.full", "nvidia.com/cuda.driver-version.full")


def selector(on: str, product: str, **more: int) -> dict[str, str]:
    """The node's product, once it says that one, its CUDA versions, and more labels (gpu_replicas=2) that it must have
    with these values. Empty where the stack's device plugin writes no labels: nightly/gfd_labels.py has NVIDIA's."""
    if served_by() != "partita":
        return {}
    wanted = {PRODUCT: product} | {f"nvidia.com/{key.replace('_', '.')}": str(value) for key, value in more.items()}
    for key, value in wanted.items():
        wait_for(label(key, on=on), value)
    there = labels("nvidia.com/", on=on)
    return wanted | {key: there[key] for key in VERSIONS}
