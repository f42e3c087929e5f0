"""kill -9 of what serves the GPUs, time and again, under a stream of pods: no device is given twice, and no GPU to more
pods than it has replicas.

Two GPUs are whole and two have three replicas each, where the stack can do that; else eight are whole. Twenty kills, or
PARTITA_E2E_KILLS (200 in `make nightly`). Among them kubelet restarts, the API server goes away and, of more than
twenty, the node reboots: then nothing lives on, and whatever comes next must find every GPU free.
Both stacks serve from a pod, so kubelet starts both again, by the same rules. What partita's agent offers is right within
two seconds of its start, or fifteen where it lost kubelet's race, which are counted: by kubelet's list always; by what the
API server has, which kubelet tells with its next status, as the median, and each time in `make nightly`.
"""

import collections
import os
import statistics

from testbench.chance import no_more
from testbench.verbs import (
    allocatable, apply, begin_delete, delete, expect, expect_match, field, given_ids, kill_server, note, noted, now,
    pod, reboot, restart, serve, served_by, start, stop, wait_for, wait_for_return,
)
from testbench.verbs_kills import NOBODYS_ANSWER, REJECTED, Allowed, why_not_noted

NODES = {"dgx": "dgx-a100-40"}
KILLS = int(os.environ.get("PARTITA_E2E_KILLS") or 20)
LIMIT = 60 + 12 * KILLS
REBOOTS = 25  # a turn of so many begins with one
AT_ONCE = 4  # pods that live on; two come with each kill, and those before them go
GPU = "nvidia.com/gpu"
SERVER = "gpus in a pod"
REPLICAS = 3
# NVIDIA's plugin shares all GPUs of a resource or none.
MIXED = {
    "agent": {"offer": {"rules": [{"select": {"index": [4, 5, 6, 7]}, "via": "none"}]}},
    "config": {"sharing": {"timeSlicing": {"resources": [{"name": GPU, "replicas": REPLICAS, "devices": ["0", "1"]}]}}},
}
OFFERED = 8
RIGHT_SECONDS = 2
ALLOWED = Allowed(usual=RIGHT_SECONDS, raced=15)  # where kubelet dropped the one that it had just registered
# Kubelet tells once a second, and takes longer on a busy machine, whoever serves. Of as many kills as in the night, none.
TOLD_LATER = 0 if KILLS >= 200 else 2
LATE = f"returns of which the node told later than {RIGHT_SECONDS} s, of {KILLS}"
REJECTED_PODS = f"pods that kubelet rejected, of {2 * KILLS}"


def settled(phase):
    """Running, or given up"""
    return phase in ("Running", "Failed")


def scenario():
    serve(SERVER, on="dgx", **(MIXED if served_by() == "partita" else {}))
    wait_for(allocatable(GPU, on="dgx"), OFFERED)
    living, unsettled, returns, reboots, rejected, most = [], [], [], [], 0, 0
    for kill in range(KILLS):
        if begins_with_reboot(kill):
            reboots.append(reboot_under(living))
            living = []
        living, leaving = living[-AT_ONCE:], living[:-AT_ONCE]
        for name in leaving:
            begin_delete("pod", name)
        apply(pod(f"before-{kill}", on="dgx", limits={GPU: 1}))
        killed, since = kill_among(kill % 10)
        apply(pod(f"after-{kill}", on="dgx", limits={GPU: 1}))
        returns.append(wait_for_return(killed, GPU, OFFERED, since))
        unsettled += [f"before-{kill}", f"after-{kill}"]
        known = settled_of(unsettled, last=kill == KILLS - 1 or begins_with_reboot(kill + 1))
        taken = [name for name in known if runs(name)]
        unsettled = [name for name in unsettled if name not in known]
        rejected += len(known) - len(taken)
        living += taken
        most = max(most, expect_none_twice(living))
        for name in leaving:
            delete("pod", name)
    note("most pods on one GPU at once", most)
    if served_by() == "partita":
        expect(most > 1, True, "some pods shared a GPU")
    judge(returns, rejected)
    if reboots:
        note("s until allocatable is right after a reboot, each", " ".join(f"{seconds:.1f}" for seconds in reboots))


def begins_with_reboot(kill):
    return kill % REBOOTS == REBOOTS - 1


def reboot_under(pods):
    """Pods that are never restarted end with the node, and go. The seconds from then on until it offers all."""
    reboot("dgx")
    since = now()
    wait_for(allocatable(GPU, on="dgx"), OFFERED)
    seconds = now() - since
    for name in pods:
        begin_delete("pod", name)
    for name in pods:
        delete("pod", name)
    return seconds


def settled_of(pods, last):
    """Those that are settled, or are to be waited for: all after the last kill, and before a reboot. After an outage
    kubelet says what became of a pod up to ten seconds later, and the stream goes on meanwhile, but for no more than
    two such pods: the node has GPUs for them, and for those that live on."""
    late = [] if last else [name for name in pods if not settled(phase_of(name).look())][-2:]
    return [name for name in pods if name not in late]


def phase_of(name):
    return field("pod", name, "status", "phase")


def kill_among(turn):
    """The kill, and when the outage that came with it was over."""
    if turn == 5:
        stop("API server")
    killed, since = kill_server(SERVER, on="dgx"), 0
    if turn == 5:
        start("API server")
        since = now()
    if turn == 9:
        restart("kubelet", on="dgx")
        since = now()
    return killed, since


def runs(name):
    """Whether kubelet took the pod; one that it rejected is deleted."""
    wait_for(phase_of(name), settled)
    if phase_of(name).look() == "Running":
        return True
    expect(field("pod", name, "status", "reason"), REJECTED)
    expect_match(field("pod", name, "status", "message").look(), NOBODYS_ANSWER, "why kubelet rejected the pod")
    delete("pod", name)
    return False


def expect_none_twice(pods):
    """How many of the pods are on one GPU, at most."""
    devices = [device for name in pods for device in given_ids(name, on="dgx")]
    expect(len(set(devices)), len(pods), "different devices of the pods that run")
    by_gpu = collections.defaultdict(list)
    for device in devices:
        by_gpu[device.split("::")[0]].append(device)
    too_many = {gpu: ids for gpu, ids in by_gpu.items() if len(ids) > replicas_of(ids)}
    expect(too_many, {}, "GPUs with more pods than replicas")
    return max(map(len, by_gpu.values()), default=0)


def replicas_of(ids):
    """Of the GPU whose devices these are: one that somebody has as a whole has no room for another."""
    return REPLICAS if all("::" in device for device in ids) else 1


def judge(returns, rejected):
    raced = [back for back in returns if back.raced]
    seconds = [back.seconds for back in returns]
    note("kills", KILLS)
    note(REJECTED_PODS, rejected)
    note("kubelet's race", len(raced))
    note("s until allocatable is right, median and most", f"{statistics.median(seconds):.2f} {max(seconds):.2f}")
    note("s until kubelet has the list, median", f"{statistics.median(back.listed for back in returns):.3f}")
    late = len(ALLOWED.late(returns))
    note(LATE, late)
    if served_by() == "nvidia":
        return
    limits = f"{ALLOWED.usual} s, or {ALLOWED.raced} s after kubelet's race"
    expect(ALLOWED.late(returns, TOLD_LATER), [], f"lists later than {limits}, or told more than {TOLD_LATER} s after that")
    median = statistics.median(seconds)
    expect(median <= RIGHT_SECONDS, True, f"half of the returns are told within {RIGHT_SECONDS} s ({median:.2f})")
    theirs = noted(REJECTED_PODS, "nvidia")
    if theirs is None:
        note("compared with NVIDIA's plugin", why_not_noted("nvidia"))
        expect(late, 0, LATE)
        return
    note("rejected a kill, with NVIDIA's plugin too", f"{rejected / KILLS:.2f} {theirs / KILLS:.2f}")
    expect(no_more(rejected, theirs, 2 * KILLS), True, f"no more pods rejected than the {theirs} with NVIDIA's plugin")
    their_late = noted(LATE, "nvidia")
    expect(no_more(late, their_late, KILLS), True, f"no more late returns than the {their_late} with NVIDIA's plugin")
