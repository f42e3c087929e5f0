"""Feature discovery labels a node with what its GPUs are, and with its slices after partitioning."""

from testbench.verbs import expect, label, labels, partition, serve, wait_for, withdraw

NODES = {"dgx": "dgx-a100-40"}
PROGRAMS = ["nfd-master", "nfd-api-crds.yaml"]


def scenario():
    serve("labels", on="dgx")
    wait_for(label("nvidia.com/gpu.count", on="dgx"), 8)
    found = labels("nvidia.com/", on="dgx")
    for key, wanted in {
        "gpu.product": "NVIDIA-A100-SXM4-40GB", "gpu.memory": "40960", "gpu.family": "ampere",
        "gpu.compute.major": "8", "gpu.compute.minor": "0", "gpu.replicas": "1", "mig.capable": "true",
        "cuda.driver-version.full": "580.159.04", "gpu.machine": "DGXA100-920-23687-2530-000",
    }.items():
        expect(found.get(f"nvidia.com/{key}"), wanted, f"label nvidia.com/{key}")
    withdraw("labels", on="dgx")

    partition("dgx", gpu=0, want="3g.20gb:2")
    serve("labels", on="dgx", mig="mixed")
    wait_for(label("nvidia.com/mig-3g.20gb.count", on="dgx"), 2)
    expect(label("nvidia.com/mig-3g.20gb.product", on="dgx"), "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb")
    expect(label("nvidia.com/mig.strategy", on="dgx"), "mixed")
