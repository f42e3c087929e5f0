"""kill -9 of the agent, an MPS daemon, its server and a client, and an upgrade: others never notice, all comes back."""

from testbench.verbs import allocatable, delete, expect, kill_server, note, now, serve, wait_for, wait_for_return
from testbench.verbs_mps import (
    WELL, begin_program, begin_sharers, compute_modes, cuda_in, daemon_of, kill_process, kill_program, last_word_of,
    multiprocessors_in, roll_out, server_of, stop_sharing, wait_for_another,
)

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
GPU = "nvidia.com/gpu"
SHARES = 4  # two GPUs in two
SHARING = {"mps": {"resources": [{"name": GPU, "replicas": 2}]}}
TWO_GPUS = {"offer": {"rules": [{"select": {"index": [2, 3, 4, 5, 6, 7]}, "via": "none"}]}}
SHARED_MODES = " ".join(["Exclusive_Process"] * 2 + ["Default"] * 6)
MULTIPROCESSORS = "54"  # half of 108
BACK_SECONDS = 5
GOES_ON = f"kernel: {WELL}"
FAULT = "fault: 700 an illegal memory access was encountered"
SERVER_GONE = "kernel: 806 the remote procedural call between the MPS server and the MPS client failed"


def back(words, seconds):
    note(f"s until {words} is back", f"{seconds:.2f}")
    expect(seconds <= BACK_SECONDS, True, f"{words} is back within {BACK_SECONDS} s ({seconds:.2f})")


def expect_work(name):
    """A new program in the pod can do everything, within its share: outside of MPS it would see the whole GPU."""
    expect(cuda_in(name, "context", "alloc 1G", "kernel")[1:], [f"context: {WELL}", f"alloc 1G: {WELL}", GOES_ON])
    expect(multiprocessors_in(name), MULTIPROCESSORS, f"multiprocessors seen in {name}")


def back_at_work(words, name, since):
    """Programs of the pod work again, counted from the death of what they need."""
    wait_for(last_word_of(name, "context", "kernel"), GOES_ON)
    back(words, now() - since)
    expect(multiprocessors_in(name), MULTIPROCESSORS, f"multiprocessors seen in {name}")


def begin_pods():
    """Two on one GPU and one on the other: their names, and those of the GPUs."""
    on_gpu = begin_sharers("pod-1", "pod-2", "pod-3", resource=GPU, on="dgx")
    expect(sorted(map(len, on_gpu.values())), [1, 2], "pods on each GPU")
    return sorted(on_gpu.items(), key=lambda pair: -len(pair[1]))


def scenario():
    serve("gpus", on="dgx", mps=True, config={"sharing": SHARING}, agent=TWO_GPUS)
    wait_for(allocatable(GPU, on="dgx"), SHARES)
    wait_for(compute_modes("dgx"), SHARED_MODES)
    (gpu, (left, right)), (other_gpu, (other,)) = begin_pods()
    programs = [begin_program(name, "works", "context", "alloc 1G") for name in (left, right, other)]
    daemon, server = daemon_of(gpu, on="dgx"), server_of(gpu, on="dgx")
    theirs = daemon_of(other_gpu, on="dgx"), server_of(other_gpu, on="dgx")
    untouched = [each.look() for each in theirs]

    def others_never_noticed():
        expect(programs[2].use(), GOES_ON, "what the program on the other GPU says")
        expect([each.look() for each in theirs], untouched, "daemon and server of the other GPU")

    # The agent alone: nobody notices.
    before = daemon.look(), server.look()
    back("the agent", wait_for_return(kill_server("gpus", on="dgx"), GPU, SHARES).seconds)
    roll_out("dgx")
    wait_for(allocatable(GPU, on="dgx"), SHARES)
    expect([program.use() for program in programs], [GOES_ON] * 3, "programs after a kill and an upgrade of the agent")
    expect((daemon.look(), server.look()), before, "daemon and server after a kill and an upgrade of the agent")

    kill_program(programs[0])
    expect(programs[1].use(), GOES_ON, "what the neighbour of the killed program says")
    expect_work(left)
    others_never_noticed()

    killed, since = kill_process(server, on="dgx"), now()
    expect(programs[1].use(), SERVER_GONE, "what a program says whose server was killed")
    back_at_work("work after a killed server", right, since)
    expect_work(right)
    expect(server.look() in ("", killed), False, "the server is the killed one, or none")
    others_never_noticed()

    killed, since = kill_process(daemon, on="dgx"), now()
    back("a killed daemon", wait_for_another(daemon, killed))
    back_at_work("work after a killed daemon", left, since)
    wait_for(allocatable(GPU, on="dgx"), SHARES)
    others_never_noticed()

    # A daemon with the agent, then a program's fault, which ends all programs of its server.
    killed = kill_process(daemon, on="dgx")
    back("the agent, killed with a daemon,", wait_for_return(kill_server("gpus", on="dgx"), GPU, SHARES).seconds)
    wait_for_another(daemon, killed)
    wait_for(last_word_of(left, "context", "kernel"), GOES_ON)
    expect(multiprocessors_in(left), MULTIPROCESSORS, f"multiprocessors seen in {left}")
    expect(cuda_in(left, "context", "fault")[-1], FAULT, "what a program says that faults")
    back_at_work("work after a program's fault", right, now())
    others_never_noticed()

    expect(compute_modes("dgx"), SHARED_MODES)
    for name in (left, right, other):
        delete("pod", name)
    kill_process(daemon, on="dgx")
    stop_sharing("dgx", agent=TWO_GPUS)
    wait_for(compute_modes("dgx"), " ".join(["Default"] * 8))
