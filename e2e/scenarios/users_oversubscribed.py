"""Two replicas of the only GPU: the node offers two, and both pods run on the same one."""

from testbench.verbs import allocatable, apply, expect, given, manifest, nvml_in, phase, serve, wait_for
from testbench.verbs_selectors import selector

NODES = {"vm": "h200-vm"}
CONFIG = """\
version: v1
flags:
  migStrategy: "none"
  failOnInitError: true
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 2
"""


def scenario():
    serve("gpus", on="vm", config=CONFIG)
    wait_for(allocatable("nvidia.com/gpu", on="vm"), 2)
    apply(manifest("oversubscribed", selector("vm", "NVIDIA-H200-SHARED", gpu_replicas=2)))
    for name in ("worker-1", "worker-2"):
        wait_for(phase(name), "Running")
    (first,), (second,) = (given(name, on="vm") for name in ("worker-1", "worker-2"))
    expect(first, second, "GPU of the first pod")
    for name in ("worker-1", "worker-2"):
        expect(nvml_in(name), [first])
