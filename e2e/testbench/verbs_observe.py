"""What of a cluster can be looked at again and again."""

import dataclasses
import json
from collections.abc import Callable

from support.shell import Failure

from testbench.scenario_bench import current

CORE = "/api/v1"
RESOURCE_API = "/apis/resource.k8s.io/v1"
COLLECTIONS = {
    "pod": f"{CORE}/namespaces/default/pods",
    "node": f"{CORE}/nodes",
    "resourceclaim": f"{RESOURCE_API}/namespaces/default/resourceclaims",
}


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
    place = f"{COLLECTIONS[kind]}/{name}"
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


def refusal(body: str) -> str:
    """What the API server says in an answer that is an error: an object with a message, or plain text."""
    try:
        return json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.strip()


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
