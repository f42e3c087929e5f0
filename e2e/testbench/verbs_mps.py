"""Verbs for MPS: programs that use CUDA in pods, and the daemons and servers that they share a device through."""

import dataclasses
import json
import time
from typing import Any

from testbench import kinds
from testbench.scenario_bench import Unexpected, current, step, where
from testbench.stack_partita import NAMESPACE, OWNER, configuration
from testbench.stack_pods import NODE_LABEL, name_of
from testbench.verbs import api, apply, exec_in, given, on_node, phase, pod, run_in
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import POLL_SECONDS, WAIT_SECONDS, Observation, look_up, wait_for

ROOT = "/run/nvidia/mps"
PROGRAM = "cuda-client"  # of the pods' image; says a line for each step
WELL = "0 no error"
REFUSED = "2 out of memory"


# ---- programs in pods ----


def cuda_in(name: str, *steps: str) -> list[str]:
    """What a program in a pod says of each step: cuda_in("a", "context", "alloc 2G") -> ["init: 0 no error", …]."""
    return exec_in(name, f"{PROGRAM} {' '.join(steps)}").splitlines()


def multiprocessors_in(name: str) -> str:
    """How many the program sees of its one device."""
    (device,) = [line for line in cuda_in(name, "devices") if line.startswith("device ")]
    return next(part.split()[0] for part in device.split(", ") if part.endswith(" multiprocessors"))


@dataclasses.dataclass(frozen=True)
class Program:
    """One that lives on in a pod, and uses its device whenever it is asked to."""

    pod: str
    name: str
    pid: str  # in the pod

    @property
    def said(self) -> Observation:
        def look() -> str:
            done = run_in(self.pod, f"cat /tmp/{self.name}.out")
            return "|".join(done.stdout.splitlines()) or done.stderr.strip()

        return Observation(f"what program {self.name} of pod {self.pod} says", look)

    def use(self) -> str:
        """What it says of one more kernel."""
        before = len(self.said.look().split("|"))
        exec_in(self.pod, f"echo >/tmp/{self.name}.in")
        told: list[str] = []

        def one_more(text: str) -> bool:
            told[:] = text.split("|")
            return len(told) > before
        one_more.__doc__ = f"line {before + 1}"
        wait_for(self.said, one_more)
        return told[before]


def begin_program(in_pod: str, name: str, *steps: str, refused: tuple[str, ...] = (), uses: int = 12) -> Program:
    """A program that does the steps and gets no memory for those that are refused, then a kernel each time that it is
    asked to (`use`)."""
    words = " ".join([*steps, *refused, *["wait kernel"] * uses])
    # Open for both ends: it neither waits for somebody who writes, nor ends with him.
    line = f"mkfifo /tmp/{name}.in && {{ {PROGRAM} {words} <>/tmp/{name}.in >/tmp/{name}.out 2>&1 & echo $!; }}"
    begun = Program(in_pod, name, exec_in(in_pod, line))
    told = [f"{done}: {WELL}" for done in ("init", *steps)] + [f"{each}: {REFUSED}" for each in refused]
    wait_for(begun.said, "|".join(told))
    return begun


def kill_program(program: Program) -> None:
    with step(f"kill -9 program {program.name} of pod {program.pod}"):
        exec_in(program.pod, f"kill -9 {program.pid}")


def begin_sharers(*names: str, resource: str, on: str) -> dict[str, list[str]]:
    """Pods with one share each: device -> the names of its pods."""
    pods_of: dict[str, list[str]] = {}
    for name in names:
        apply(pod(name, on=on, limits={resource: 1}, image=CUDA_IMAGE))
        wait_for(phase(name), "Running")
        pods_of.setdefault(given(name, on=on)[0], []).append(name)
    return pods_of


# ---- daemons and servers ----


def daemon_of(device: str, on: str) -> Observation:
    """The process of the control daemon of a device that is shared; empty while none answers."""
    return Observation(f"MPS daemon of {device} on node {on}", lambda: running_daemon(device, on))


def running_daemon(device: str, on: str) -> str:
    """By its own file, if that process is one."""
    node = current().cluster.node(on)
    pid = node.run(["cat", f"{ROOT}/{device}/pipe/nvidia-cuda-mps-control.pid"]).stdout.strip()
    if not pid or "nvidia-cuda-mps-control" not in node.run(["cat", f"/proc/{pid}/cmdline"]).stdout:
        return ""
    return pid


def server_of(device: str, on: str) -> Observation:
    """The server that has the device's programs: a child of the daemon. Empty before the first of them."""
    def look() -> str:
        daemon = running_daemon(device, on)
        children = current().cluster.node(on).run(["cat", f"/proc/{daemon}/task/{daemon}/children"]).stdout
        return children.strip() if daemon else ""

    return Observation(f"MPS server of {device} on node {on}", look)


def kill_process(observed: Observation, on: str) -> str:
    """SIGKILL to the process that is seen there; its number."""
    with step(f"kill -9 {observed.words}"):
        pid = observed.look()
        if not pid:
            raise Unexpected(f"{observed.words} runs", "no process", where())
        on_node(on, f"kill -9 {pid}")
        return pid


def wait_for_another(observed: Observation, than: str, within: float = WAIT_SECONDS) -> float:
    """Until another process is there; the seconds that it took."""
    begin = time.monotonic()

    def another(pid: str) -> bool:
        return pid not in ("", than)
    another.__doc__ = f"another than {than}"
    wait_for(observed, another, within)
    return time.monotonic() - begin


def last_word_of(name: str, *steps: str) -> Observation:
    """What a new program in a pod says of its last step, time and again."""
    return Observation(f"{PROGRAM} {' '.join(steps)} in pod {name}", lambda: cuda_in(name, *steps)[-1])


def compute_modes(on: str) -> Observation:
    """Of all GPUs of a node, in their order."""
    def look() -> str:
        query = ["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"]
        return " ".join(current().cluster.node(on).run(query).stdout.split())

    return Observation(f"compute modes of node {on}", look)


# ---- the agent, while daemons go on ----


def agent_pod(on: str) -> dict[str, Any]:
    found = look_up(f"{kinds.find('pod').place(NAMESPACE)}?labelSelector={NODE_LABEL}={on}", ("items",))
    pods = json.loads(found) if found.startswith("[") else []
    own = [
        pod for pod in pods
        if "deletionTimestamp" not in pod["metadata"] and any(c["name"] == "agent" for c in pod["spec"]["containers"])
    ]
    return own[0] if own else {}


def roll_out(on: str) -> None:
    """The agent's DaemonSet gets another template, as by an upgrade of the chart; until the next pod is ready."""
    before = agent_pod(on)["metadata"]["name"]
    place = kinds.find("daemonset").place(NAMESPACE, name_of(OWNER, on))
    with step(f"roll out another agent on node {on}"):
        annotations = {"example.com/round": str(time.time())}
        api().patch(place, {"spec": {"template": {"metadata": {"annotations": annotations}}}})
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_ready(agent_pod(on), before):
            if time.monotonic() > deadline:
                raise Unexpected(f"another agent's pod than {before}, ready", str(agent_pod(on).get("status")), where())
            time.sleep(POLL_SECONDS)


def is_ready(pod: dict[str, Any], before: str) -> bool:
    states = {state["type"]: state["status"] for state in pod.get("status", {}).get("conditions", [])}
    return pod.get("metadata", {}).get("name", before) != before and states.get("Ready") == "True"


def reconfigure(on: str, **settings: Any) -> None:
    """The agent's next process has these settings (of serve) and no others."""
    with step(f"configure the agent on node {on} anew"):
        place = kinds.find("configmap").place(NAMESPACE, name_of(OWNER, on))
        api().patch(place, {"data": configuration(settings)})
    roll_out(on)


def stop_sharing(on: str, **settings: Any) -> None:
    """Nothing is shared by MPS any more: daemons end, and GPUs are as they were before."""
    reconfigure(on, mps=True, **settings)
