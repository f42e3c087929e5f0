"""The users' pods for MPS, on a GPU and on a slice, and nothing is started by hand: limits are in force inside."""

from testbench.verbs import (
    allocatable, apply, begin_delete, delete, exec_in, expect, expect_match, given, given_ids, manifest, nvml_in,
    partition, phase, serve, wait_for,
)
from testbench.verbs_mps import WELL, begin_program, compute_modes, kill_program, multiprocessors_in, stop_sharing

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
SHARING = {"mps": {"resources": [{"name": GPU, "replicas": 4}, {"name": SLICE, "replicas": 2}]}}
ONE_GPU = {"offer": {"rules": [{"select": {"index": [2, 3, 4, 5, 6, 7]}, "via": "none"}]}}
# Of 40960 MiB and 108 multiprocessors a quarter, of 4864 MiB and 14 a half; in pairs, as the hardware gives them.
USERS = {"mps-gpu": (GPU, "26", "9G", "2G"), "mps-slice": (SLICE, "6", "1G", "2G")}


def scenario():
    partition("dgx", gpu=0, want="1g.5gb")
    serve("gpus", on="dgx", mig="mixed", mps=True, config={"sharing": SHARING}, agent=ONE_GPU)
    wait_for(allocatable(GPU, on="dgx"), 4)
    wait_for(allocatable(SLICE, on="dgx"), 2)
    wait_for(compute_modes("dgx"), " ".join(["Default", "Exclusive_Process", *["Default"] * 6]))
    for name, (resource, multiprocessors, fits, too_much) in USERS.items():
        apply(manifest(name), manifest(name).replace("name: gpu-example", "name: neighbour", 1))
        for each in ("gpu-example", "neighbour"):
            wait_for(phase(each), "Running")
        shares = {each: given_ids(each, on="dgx") for each in ("gpu-example", "neighbour")}
        expect(shares["gpu-example"] == shares["neighbour"], False, "both have one share")
        (device,) = given("gpu-example", on="dgx")
        expect(given("neighbour", on="dgx"), [device])
        expect(nvml_in("gpu-example"), [device])
        expect(exec_in("gpu-example", "echo $CUDA_MPS_PIPE_DIRECTORY"), f"/mps/{resource}/pipe")

        # While one sits at its limit, and is refused more, its neighbour gets all of its own share.
        greedy = begin_program("gpu-example", "greedy", "context", f"alloc {fits}", refused=(f"alloc {too_much}",))
        neighbour = begin_program("neighbour", "works", "context", f"alloc {fits}")
        for program in (greedy, neighbour):
            expect(program.use(), f"kernel: {WELL}", f"what the program in {program.pod} says")
        kill_program(greedy)
        # A limit is the daemon's: who wishes for more gets no more.
        wish = f"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=64G cuda-client context alloc {fits} alloc {too_much}"
        expect_match(exec_in("gpu-example", wish), r": 2 out of memory$")
        for each in ("gpu-example", "neighbour"):
            expect(multiprocessors_in(each), multiprocessors, f"multiprocessors seen in {each}")
        begin_delete("pod", "neighbour")
        for each in ("gpu-example", "neighbour"):
            delete("pod", each)
    stop_sharing("dgx", mig="mixed", agent=ONE_GPU)
    wait_for(compute_modes("dgx"), " ".join(["Default"] * 8))
