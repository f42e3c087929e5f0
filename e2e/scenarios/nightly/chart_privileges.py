"""What each privilege of the agent's pod is for: without it something stops, and comes back with it."""

import contextlib
import copy
import json

from testbench import kinds
from testbench.verbs import (
    allocatable, api, apply, expect, namespace, note, now, on_node, phase, pod, wait_for, workload,
)
from testbench.verbs_chart import agent_on, install_chart, owners
from testbench.verbs_gpus import carry_out
from testbench.verbs_observe import Observation

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 600
GPU = "nvidia.com/gpu"
DAEMONSET = kinds.find("daemonset").place("partita", "partita")
# An agent that lacks nothing does each of these within two.
PATIENCE_SECONDS = 8
WAITS = ("PodInitializing", "ContainerCreating")


# ---- what is taken ----


def mount(path, of="containers"):
    def take(pod):
        (container,) = pod[of]
        left = [each for each in container["volumeMounts"] if each["mountPath"] != path]
        expect(len(container["volumeMounts"]) - len(left), 1, f"mounts at {path}")
        container["volumeMounts"] = left
    return take


def host_pid(pod):
    pod["hostPID"] = False


def privileged(pod):
    pod["containers"][0]["securityContext"]["privileged"] = False


@contextlib.contextmanager
def without(take):
    """For the time of the block. GPUs that could not be read in it are a fault that came back: those are held back for a
    minute and more, unless somebody says that it is over."""
    whole = api().object(DAEMONSET)["spec"]["template"]["spec"]
    less = copy.deepcopy(whole)
    take(less)
    roll_out(less)
    yield
    roll_out(whole)
    wait_for(answers(), "yes")
    on_node("dgx", "partita health clear all || :")  # mostly there is nothing to clear


def roll_out(pod):
    """Returns when the next agent runs, or cannot."""
    before = name_of(agent_on("dgx"))

    def look():
        found = agent_on("dgx")
        if name_of(found) in ("", before):
            return "the one before"
        kinds_of_status = ("initContainerStatuses", "containerStatuses")
        states = [state for key in kinds_of_status for state in found["status"].get(key, [])]
        return "there" if any(is_beyond(state) for state in states) else "about to start"

    api().patch(DAEMONSET, {"spec": {"template": {"spec": pod}}})
    wait_for(Observation("the next agent", look), "there")


def is_beyond(status):
    """The agent runs, or a container of its pod cannot start or has failed."""
    state = status["state"]
    reason = state.get("waiting", {}).get("reason", WAITS[0])
    failed = state.get("terminated", {}).get("exitCode", 0) != 0 or status["restartCount"] > 0
    return failed or reason not in WAITS or (status["name"] == "agent" and "running" in state)


def name_of(pod):
    return pod.get("metadata", {}).get("name", "")


# ---- what stops ----


def gpus():
    return allocatable(GPU, on="dgx")


def ready():
    def look():
        states = agent_on("dgx").get("status", {}).get("conditions", [])
        return {state["type"]: state["status"] for state in states}.get("Ready", "")
    return Observation("whether the agent is ready", look)


def users_of_gpu():
    """By the agent, where it answers."""
    def look():
        gpu = json.loads(carry_out("dgx", "ask for the status", "partita", "status", "--output", "json"))["gpus"][7]
        return f"{len(gpu.get('processes', []))}"
    return Observation("processes that the agent sees on GPU 7", look)


def knows_holder():
    def look():
        said = owners(on="dgx").look()
        return "yes" if f"pod {namespace()}/late (main)" in said else said
    return Observation("whether the agent knows what pod late holds", look)


def answers():
    def look():
        said = owners(on="dgx").look()
        return "no" if "Traceback" in said else "yes"
    return Observation("whether commands of the node reach the agent", look)


def on_disk(path):
    return Observation(f"whether {path} is there", lambda: on_node("dgx", f"[ -e {path} ] && echo yes || echo no"))


def nothing():
    pass


def wait_for_answer():
    """Where the agent does not, the command looks itself."""
    wait_for(answers(), "yes")


def give_to_pod():
    apply(pod("late", on="dgx", limits={GPU: 1}))
    wait_for(phase("late"), "Running")


def remove(path):
    return lambda: on_node("dgx", f"rm {path}")


CDI = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"
HOOK = "/usr/local/nvidia/toolkit/partita-hook"
# What is taken -> what is done without it, and what is not seen then: not with this value.
NEEDS = {
    "hostPID": (host_pid, wait_for_answer, users_of_gpu, "1"),
    "privileged": (privileged, nothing, gpus, "8"),
    "/host": (mount("/host"), nothing, gpus, "8"),
    "/etc/partita": (mount("/etc/partita"), nothing, gpus, "8"),
    "/var/lib/kubelet/device-plugins": (mount("/var/lib/kubelet/device-plugins"), nothing, gpus, "8"),
    "/var/lib/kubelet/pod-resources": (mount("/var/lib/kubelet/pod-resources"), give_to_pod, knows_holder, "yes"),
    "/var/run/cdi": (mount("/var/run/cdi"), remove(CDI), lambda: on_disk(CDI), "yes"),
    "/var/lib/partita": (mount("/var/lib/partita"), nothing, ready, "True"),
    "/run/partita": (mount("/run/partita"), nothing, answers, "yes"),
    "/usr/local/nvidia": (mount("/usr/local/nvidia", "initContainers"), remove(HOOK), lambda: on_disk(HOOK), "yes"),
}


def expect_lost(seen, good):
    """It does not come however long one looks."""
    end = now() + PATIENCE_SECONDS

    def look():
        value = seen.look()
        return "there" if value == good else "looked for long enough" if now() > end else "not there"

    def decided(told):
        """there, or looked for long enough"""
        return told != "not there"
    wait_for(Observation(f"{seen.words}: {good}", look), decided)
    expect(seen.look() == good, False, f"{seen.words}: {good}")


def scenario():
    install_chart({"migStrategy": "mixed", "nodeSelector": {"kubernetes.io/hostname": "dgx"}})
    wait_for(gpus(), 8)
    workload("dgx", gpu=7, memory="1GiB")
    wait_for(users_of_gpu(), 1)
    for name, (take, provoke, seen, good) in NEEDS.items():
        with without(take):
            provoke()
            expect_lost(seen(), good)
        wait_for(seen(), good)
    note("privileges without which something stops", len(NEEDS))
