"""A driver call hangs: kubelet is answered throughout, and the GPU is taken out until the driver answers again."""

from testbench.verbs import allocatable, apply, delete, expect, fault, measure, phase, pod, serve, wait_for
from testbench.verbs_listed import BACK_SECONDS, measure_listed
from testbench.verbs_observe import agent_restarts

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin asks the driver nothing once it has its list: no hang is noticed
LIMIT = 240
HUNG_SECONDS = 32 + 1  # until kubelet knows: 32 on an idle machine, and this one may be busy
NOTICED_SECONDS = 45


def scenario():
    serve("gpus", on="dgx")
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    out = "a hung GPU is taken out"
    with measure(out), measure_listed(out, "nvidia.com/gpu", on="dgx", most=HUNG_SECONDS):
        hang = fault("call", "*", on="dgx", gpu=1, hang=True)
        for name in ("first", "second"):
            with measure("a pod runs while the driver hangs"):
                apply(pod(name, on="dgx", limits={"nvidia.com/gpu": 1}))
                wait_for(phase(name), "Running", within=10)
            delete("pod", name)
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 7, within=NOTICED_SECONDS)
    apply(pod("third", on="dgx", limits={"nvidia.com/gpu": 7}))
    wait_for(phase("third"), "Running", within=10)

    back = "a GPU that answers again is offered"
    with measure(back), measure_listed(back, "nvidia.com/gpu", on="dgx", most=BACK_SECONDS):
        hang.end()
        wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8, within=30)
    expect(agent_restarts("dgx"), 0)
