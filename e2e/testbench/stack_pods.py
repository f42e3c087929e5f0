"""A part of a stack that runs as its users install it: in a pod of its own on each node that a scenario wants it on,
a DaemonSet that is pinned to it. Kubelet looks after it.
"""

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any

from support.shell import Failure

from testbench import kinds
from testbench.stack import Manifest, Settings, remove_files

READY_SECONDS = 60
POLL_SECONDS = 0.05
NODE_LABEL = "partita.test/node"


@dataclasses.dataclass(frozen=True)
class Pods:
    owner: str  # whose it is, for messages
    namespace: str
    program: str  # that serves, where its image has it
    manifests: Callable[[Any, str, Settings], list[Manifest]]  # (cluster, node, settings) -> objects for the node
    containers: tuple[str, ...]
    of_each_node: frozenset[str] = frozenset({"ConfigMap", "DaemonSet"})  # kinds; the others go with the last of them
    settings: frozenset[str] = frozenset()
    resources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # that it leaves on the node, as patterns of the shell
    tidy: Callable[[Any, Any], None] | None = None  # (cluster, node): what it leaves at the API server
    beside: str = ""  # the end of another DaemonSet's name, whose pod outlives this one's, and its program's argument

    def serve(self, cluster: Any, node: Any, settings: Settings) -> None:
        """Returns when its pod is ready."""
        api = cluster.control_plane.api
        wanted = 0
        for manifest in self.manifests(cluster, node.name, settings):
            api.put_object(kinds.place_of(manifest, self.namespace), manifest)
            wanted += manifest["kind"] == "DaemonSet"
        deadline = time.monotonic() + READY_SECONDS
        while missing := self._not_ready(api, node.name, wanted):
            if time.monotonic() > deadline:
                raise Failure(f"{self.owner}'s pod on node {node.name} is not ready after {READY_SECONDS} s: {missing}"
                              f"\n{self._last_words(cluster, node.name)}")
            time.sleep(POLL_SECONDS)

    def begin_to_withdraw(self, cluster: Any, node: Any) -> None:
        """A device plugin is not asked when a pod ends; what runs beside it, pods that still end may need."""
        self._remove(cluster.control_plane.api, name_of(self.owner, node.name))

    def _remove(self, api: Any, name: str) -> None:
        place = kinds.find("daemonset").place(self.namespace, name)
        api.delete(place, {"propagationPolicy": "Foreground"})

    def end(self, cluster: Any, node: Any) -> None:
        api = cluster.control_plane.api
        name = name_of(self.owner, node.name)
        names = [name, *([f"{name}-{self.beside}"] if self.beside else [])]
        for each in names:
            self._remove(api, each)
        deadline = time.monotonic() + READY_SECONDS
        # A DaemonSet goes after its pods; while it is listed, it would look as if it served another node.
        while self._pods(api, node.name) or any(
            api.object(kinds.find("daemonset").place(self.namespace, each)) for each in names
        ):
            if time.monotonic() > deadline:
                raise Failure(f"{self.owner}'s pod on node {node.name} stays after {READY_SECONDS} s")
            time.sleep(POLL_SECONDS)

    def withdraw(self, cluster: Any, node: Any) -> None:
        self.end(cluster, node)
        api = cluster.control_plane.api
        api.delete(kinds.find("configmap").place(self.namespace, name_of(self.owner, node.name)))
        if not api.items(kinds.find("daemonset").place(self.namespace)):
            for manifest in reversed(self.manifests(cluster, node.name, {})):
                if manifest["kind"] not in self.of_each_node | {"Namespace"}:
                    api.delete(kinds.place_of(manifest, self.namespace))
        if self.tidy:
            self.tidy(cluster, node)
        remove_files(node, self.files)

    def processes(self, node: Any) -> list[int]:
        command = ["find", "/proc", "-mindepth", "2", "-maxdepth", "2", "-name", "exe", "-lname", self.program]
        if self.beside:  # the same program by another argument, which serves nothing
            command += ["!", "-execdir", "grep", "-qsz", f"^{self.beside}", "cmdline", ";", "-print"]
        return [int(path.split("/")[2]) for path in node.run(command).stdout.split()]

    def kill(self, node: Any) -> None:
        """SIGKILL; kubelet starts it again."""
        deadline = time.monotonic() + READY_SECONDS
        while not (found := self.processes(node)):  # kubelet is still about to start the next one
            if time.monotonic() > deadline:
                raise Failure(f"{self.program} does not run on node {node.name}")
            time.sleep(POLL_SECONDS)
        node.check(["kill", "-9", *map(str, found)])

    # ---- what became of it ----

    def _pods(self, api: Any, node: str) -> list[Manifest]:
        return api.items(f"{kinds.find('pod').place(self.namespace)}?labelSelector={NODE_LABEL}={node}")

    def _not_ready(self, api: Any, node: str, wanted: int) -> str:
        found = self._pods(api, node)
        if len(found) < wanted:
            missing = "no pod" if wanted == 1 else f"{len(found)} of {wanted} pods"
            return "; ".join([missing, *map(why_not_ready, found)])
        return "; ".join(filter(None, map(why_not_ready, found)))

    def _last_words(self, cluster: Any, node: str) -> str:
        told = []
        for container in self.containers:
            done = cluster.kubectl(
                "logs", f"--namespace={self.namespace}", f"--selector={NODE_LABEL}={node}",
                f"--container={container}", "--tail=15",
            )
            told.append(f"{container}:\n{done.stdout}{done.stderr}")
        return "\n".join(told)


def why_not_ready(pod: Manifest) -> str:
    status = pod["status"]
    ready = {condition["type"]: condition["status"] for condition in status.get("conditions", [])}
    if ready.get("Ready") == "True":
        return ""
    states = [
        f"{container['name']}: {json.dumps(container['state'])}"
        for key in ("initContainerStatuses", "containerStatuses") for container in status.get(key, [])
    ]
    return "; ".join([status.get("phase", ""), *states])


def name_of(owner: str, node: str) -> str:
    """Of the DaemonSet and the ConfigMap for a node."""
    return f"{owner}-{node}"


def pin(spec: Manifest, node: str, config: str) -> None:
    """A DaemonSet's `spec`, for one node and with the configuration for it."""
    label = {NODE_LABEL: node}
    spec["selector"]["matchLabels"].update(label)
    spec["template"]["metadata"]["labels"].update(label)
    pod = spec["template"]["spec"]
    pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    for volume in pod.get("volumes", []):
        if "configMap" in volume:
            volume["configMap"]["name"] = config
