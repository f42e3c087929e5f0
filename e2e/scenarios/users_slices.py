"""The users' pods for MIG, mixed strategy: one slice; and a GPU with slices of three sizes in one container."""

from testbench.verbs import (
    allocatable, apply, delete, expect, given, manifest, nvml_in, partition, phase, serve, wait_for,
)
from testbench.verbs_selectors import selector

NODES = {"dgx": "dgx-a100-40"}
# Of eight GPUs four stay whole: 8 x 1g.5gb, 4 x 2g.10gb and 4 x 3g.20gb.
LAYOUT = "1g.5gb:2,2g.10gb,3g.20gb"
OFFER = {"mig-1g.5gb": 8, "mig-2g.10gb": 4, "mig-3g.20gb": 4, "gpu": 4}


def scenario():
    for gpu in range(4):
        partition("dgx", gpu=gpu, want=LAYOUT)
    serve("gpus", on="dgx", mig="mixed")
    for resource, amount in OFFER.items():
        wait_for(allocatable(f"nvidia.com/{resource}", on="dgx"), amount)

    select = selector("dgx", "NVIDIA-A100-SXM4-40GB")
    for name, devices in (("slice", 1), ("four-kinds", 4)):
        apply(manifest(name, select))
        wait_for(phase("gpu-example"), "Running")
        expect(len(given("gpu-example", on="dgx")), devices, f"devices that kubelet gave to the pod of {name}")
        expect(nvml_in("gpu-example"), given("gpu-example", on="dgx"))
        delete("pod", "gpu-example")
