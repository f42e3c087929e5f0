"""What a scenario can leave to the next one in a cluster that they share: objects, what is said of a node, what
was done to its simulated hardware, and files that programs serving GPUs write. Taken before a scenario and after
it, when every verb has undone its work; what differs fails it, and a failed scenario's cluster is not used again.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from testbench import namespaces

# Made and renewed by Kubernetes itself, at any time.
PASSING = {"events", "leases", "componentstatuses", "controllerrevisions", "endpointslices", "endpoints"}
ONLY_NAMES = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# Of the simulated machine: goes on by itself, or counts what has happened.
COUNTED = {"clock", "events", "boot", "root", "resets", "loads"}
FOLDERS = (
    "/etc/cdi", "/etc/partita", "/run/partita", "/usr/local/nvidia", "/var/lib/kubelet/device-plugins",
    "/var/lib/partita", "/var/run/cdi",
)
KUBERNETES_OWN = "node.kubernetes.io/"  # taints that come and go with a node's readiness
KUBELETS_OWN = {
    "/var/lib/kubelet/device-plugins/kubelet.sock", "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
}
# Its checkpoint, half written by one that was killed.
KUBELETS_UNFINISHED = re.compile(r"/var/lib/kubelet/device-plugins/\.\d+")

Traces = dict[str, str]  # what -> how it is


def take(cluster: Any) -> Traces:
    found = dict(objects(cluster.control_plane.api))
    for name, node in cluster.nodes.items():
        found.update(of_node(name, cluster.control_plane.api.object(f"/api/v1/nodes/{name}") or {}))
        found.update(of_machine(name, json.loads(cluster.simulator.show(name))))
        found.update((f"file {path} of node {name}", "there") for path in files(node))
    return found


def compare(before: Traces, after: Traces) -> list[str]:
    """A line for each difference."""
    told = []
    for what in sorted(before.keys() | after.keys()):
        was, now = before.get(what), after.get(what)
        if was == now:
            continue
        told.append(
            f"{what} is new: {now}" if was is None else f"{what} is gone: {was}" if now is None
            else f"{what} was {was}, is {now}"
        )
    return told


# ---- objects ----


def objects(api: Any) -> Iterable[tuple[str, str]]:
    """But for namespaces that were removed, and go by themselves with what is in them."""
    going = namespaces.ending(api)
    for place in collections(api):
        kind = place.rsplit("/", 1)[1]
        for item in api.items(place, ONLY_NAMES):
            metadata = item["metadata"]
            namespace = metadata.get("namespace", "")
            if (namespace or metadata["name"]) in going:
                continue
            yield f"{kind} {f'{namespace}/' if namespace else ''}{metadata['name']}", "there"


def collections(api: Any) -> list[str]:
    """The path of every kind of object that can be listed; asked anew each time, for kinds come and go."""
    versions = ["/api/v1"]
    groups = api.object("/apis") or {"groups": []}
    versions += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups["groups"]]
    return [
        f"{version}/{kind['name']}"
        for version in versions for kind in (api.object(version) or {}).get("resources", [])
        if "list" in kind["verbs"] and kind["name"] not in PASSING
    ]


# ---- nodes ----


def of_node(name: str, node: dict[str, Any]) -> Iterable[tuple[str, str]]:
    metadata, spec, status = (node.get(key, {}) for key in ("metadata", "spec", "status"))
    for key, value in metadata.get("labels", {}).items():
        yield f"label {key} of node {name}", value
    for key, value in metadata.get("annotations", {}).items():
        yield f"annotation {key} of node {name}", value
    for taint in spec.get("taints", []):
        if taint["key"].startswith(KUBERNETES_OWN):
            continue
        yield f"taint {taint['key']} of node {name}", f"{taint.get('value', '')}:{taint['effect']}"
    yield f"schedulability of node {name}", "no" if spec.get("unschedulable") else "yes"
    # The capacity says nothing: kubelet keeps that of a resource which nobody serves any more for five minutes,
    # and the resource as 0 for ever.
    for resource, amount in status.get("allocatable", {}).items():
        if "/" in resource and amount != "0":
            yield f"allocatable {resource} of node {name}", amount


def of_machine(name: str, shown: Any, place: str = "") -> Iterable[tuple[str, str]]:
    """Everything that `partita-sim show` says, but for what counts or passes; a path of keys for each value."""
    pairs = shown.items() if isinstance(shown, dict) else enumerate(shown) if isinstance(shown, list) else None
    if pairs is None:
        yield f"{place} of node {name}'s machine", json.dumps(shown)
        return
    for key, value in pairs:
        if key not in COUNTED:
            yield from of_machine(name, value, f"{place}.{key}" if place else str(key))


def files(node: Any) -> list[str]:
    done = node.run(["find", *FOLDERS, "-not", "-type", "d"])  # a folder that is not there is as good as an empty one
    return [
        path for path in done.stdout.split("\n")
        if path and path not in KUBELETS_OWN and not KUBELETS_UNFINISHED.fullmatch(path)
    ]
