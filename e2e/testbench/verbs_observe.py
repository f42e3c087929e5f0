"""What of a cluster can be looked at again and again."""

import dataclasses
import json
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from support.shell import Failure

from testbench import kinds
from testbench.api_client import refusal
from testbench.scenario_bench import Unexpected, current, step, where

WAIT_SECONDS = 90
POLL_SECONDS = 0.05
CORE = "/api/v1"
RESOURCE_API = "/apis/resource.k8s.io/v1"


@dataclasses.dataclass(frozen=True)
class Observation:
    """Something that can be looked at again and again; `explain` says more when it stays wrong."""

    words: str
    look: Callable[[], str]
    explain: Callable[[], str] = lambda: ""
    final: frozenset[str] = frozenset()  # once seen, it stays


def field(kind: str, name: str, *keys: str, words: str = "") -> Observation:
    """One field of an object: field("pod", "a", "status", "podIP"); in a list of conditions a key is the
    type of one of them, in one of containers its name. What is not there is an empty text."""
    place = kinds.find(kind).place(current().namespace, name)
    return Observation(
        words or f"{'.'.join(keys)} of {kind} {name}", lambda: look_up(place, keys),
        lambda: events_of(name),
    )


def look_up(place: str, keys: tuple[str, ...]) -> str:
    """Asks the API itself: a kubectl for every look would keep the machine busy."""
    try:
        status, body = current().cluster.control_plane.api.get(place)
    except OSError as error:
        return f"the API server does not answer: {error}"
    if status != 200:
        return f"HTTP {status}: {refusal(body)}"
    value = json.loads(body)
    for key in keys:
        if isinstance(value, list):
            value = {item.get("type") or item.get("name"): item for item in value}
        value = (value or {}).get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def phase(name: str) -> Observation:
    """Pending, Running, Succeeded or Failed."""
    found = field("pod", name, "status", "phase", words=f"phase of pod {name}")
    return dataclasses.replace(found, final=frozenset({"Succeeded", "Failed"}))


def allocatable(resource: str, on: str) -> Observation:
    words = f"allocatable {resource} of node {on}"
    return field("node", on, "status", "allocatable", resource, words=words)


def capacity(resource: str, on: str) -> Observation:
    return field("node", on, "status", "capacity", resource, words=f"capacity {resource} of node {on}")


def node_ready(node: str) -> Observation:
    """True, False, or Unknown when nothing was heard of the node for some time."""
    keys = ("status", "conditions", "Ready", "status")
    return field("node", node, *keys, words=f"readiness of node {node}")


def offered(beginning: str, on: str) -> Observation:
    """How much a node has to give of all resources whose names begin so."""
    words = f"allocatable {beginning}* of node {on}"
    whole = field("node", on, "status", "allocatable")
    return dataclasses.replace(whole, words=words, look=lambda: total(whole.look(), beginning))


def total(resources: str, beginning: str) -> str:
    if not resources.startswith("{"):
        return resources
    found = [amount for name, amount in json.loads(resources).items() if name.startswith(beginning)]
    return str(sum(map(int, found)))


def label(key: str, on: str) -> Observation:
    return field("node", on, "metadata", "labels", key, words=f"label {key} of node {on}")


def labels(beginning: str, on: str) -> dict[str, str]:
    """The labels of a node whose keys begin so."""
    text = field("node", on, "metadata", "labels").look()
    if not text.startswith("{"):
        raise Failure(f"labels of node {on}: {text}")
    return {key: value for key, value in json.loads(text).items() if key.startswith(beginning)}


def taints(on: str) -> Observation:
    """KEY=VALUE:EFFECT, in their order."""
    def look() -> str:
        found = look_up(f"{CORE}/nodes/{on}", ("spec", "taints"))
        if found and not found.startswith("["):
            return found
        there = json.loads(found or "[]")
        return " ".join(f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in there)

    return Observation(f"taints of node {on}", look)


def published(driver: str, on: str) -> Observation:
    """How many devices a DRA driver offers on a node."""
    words = f"devices that {driver} publishes for node {on}"
    return Observation(words, lambda: count_devices(driver, on))


def count_devices(driver: str, node: str) -> str:
    found = look_up(f"{RESOURCE_API}/resourceslices", ("items",))
    if not found.startswith("["):
        return found
    specs = [item["spec"] for item in json.loads(found)]
    mine = [spec for spec in specs if spec["driver"] == driver and spec.get("nodeName") == node]
    return str(sum(len(spec.get("devices", [])) for spec in mine))


def agent_restarts(on: str, ready: bool = False) -> Observation:
    """How often partita's agent was started again in its pod; with `ready`, nothing while it is not."""
    place = f"{CORE}/namespaces/partita/pods?labelSelector=partita.test/node={on}"

    def look() -> str:
        found = look_up(place, ("items",))
        pods = json.loads(found) if found.startswith("[") else []
        states = [
            state for pod in pods for state in pod["status"].get("containerStatuses", []) if state["name"] == "agent"
        ]
        return ", ".join(str(state["restartCount"]) for state in states if state["ready"] or not ready)

    return Observation(f"restarts of {'the ready ' if ready else ''}agent on node {on}", look)


def driver_answers(node: str) -> Observation:
    """yes, or what a program of a node hears that asks it through NVML."""
    def look() -> str:
        done = current().cluster.node(node).run(["nvidia-smi", "-L"])
        return "yes" if done.returncode == 0 else (done.stdout + done.stderr).strip()

    return Observation(f"whether the driver of node {node} answers", look)


def boot_id(node: str) -> Observation:
    return field("node", node, "status", "nodeInfo", "bootID", words=f"boot id of node {node}")


def events_of(name: str) -> str:
    """What Kubernetes said last about an object, which mostly is why it is not as wanted."""
    path = f"{CORE}/events?fieldSelector=involvedObject.name={name}"
    try:
        status, body = current().cluster.control_plane.api.get(path)
    except OSError:
        return ""
    if status != 200:
        return f"no events: HTTP {status}: {refusal(body)}"
    items = json.loads(body).get("items") or []
    events = [f"{event.get('reason', '')}: {event.get('message', '')}" for event in items]
    return "last events: " + " | ".join(events[-4:]) if events else "no events"


# ---- waiting ----


def wait_for(what: Observation, wanted: Any, within: float = WAIT_SECONDS) -> None:
    """Looks until the wanted value is seen; `wanted` may be a function that says yes or no."""
    words = f"wait for {what.words}: {told(wanted)}"
    deadline = time.monotonic() + within
    with step(words):
        while True:
            seen = what.look()
            if wanted(seen) if callable(wanted) else seen == str(wanted):
                return
            if seen in what.final or time.monotonic() > deadline:
                more = [text for text in (seen or "nothing", what.explain(), *deaths()) if text]
                expected = f"{what.words}: {told(wanted)} within {within:g} s"
                raise Unexpected(expected, "; ".join(more), where())
            time.sleep(POLL_SECONDS)


def deaths() -> Iterator[str]:
    """Programs of the nodes that ended by themselves: the likely reason why something does not come true."""
    for name, machine in current().cluster.machines().items():
        try:
            programs = machine.programs()
        except Failure as failure:
            yield str(failure)
            continue
        for program, state in programs.items():
            if state["exit"] not in (None, 0, -signal.SIGTERM, -signal.SIGKILL):
                last = machine.last_words(program, 1).splitlines()[-1].strip()
                yield f"{program} on {name} has exited with status {state['exit']}: {last}"


def told(wanted: Any) -> str:
    return (wanted.__doc__ or wanted.__name__) if callable(wanted) else str(wanted) or "nothing"
