"""Who serves GPUs on the nodes: one stack or another, behind the same words.

A stack has parts by what they serve: "gpus" (the device plugin's resources), "labels" (of nodes) and "claims"
(DRA). A part is a set of programs in a node's namespaces, or pods from images. A scenario says serve("gpus",
on="dgx") and runs unchanged with every stack that has this part.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from support.shell import Failure

from testbench import kinds, namespaces, programs
from testbench.scenario_bench import NotServed

DRIVER_ROOT = "/run/partita-sim"  # where a node has its driver's files
CDI_FOLDER = "/var/run/cdi"
NAMESPACE = "nvidia"
TOKEN_HOURS = 12

Rules = list[dict[str, list[str]]]
Settings = dict[str, Any]
Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of a part: its arguments, and what it may do at the API server (nothing: no access)."""

    name: str
    arguments: Callable[[Any, Settings], list[str]]  # (node, settings) -> arguments
    rules: Rules = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


class Part(Protocol):
    """What a stack has to serve one thing with."""

    settings: frozenset[str]  # names that serve() takes for it
    resources: tuple[str, ...]  # how those begin that it makes allocatable

    def serve(self, cluster: Any, node: Any, settings: Settings) -> None: ...

    def begin_to_withdraw(self, cluster: Any, node: Any) -> None:
        """Begins what withdraw() waits for, unless pods that still run need it to end."""

    def end(self, cluster: Any, node: Any) -> None:
        """Nobody serves any more; what was written for containers stays, and serve() begins anew."""

    def withdraw(self, cluster: Any, node: Any) -> None:
        """Leaves nothing, neither at the API server nor on the node."""

    def processes(self, node: Any) -> list[int]:
        """Of what serves, by their numbers on the node; empty while none runs."""

    def kill(self, node: Any) -> None:
        """SIGKILL to all of it; it is started again as on any machine."""


@dataclasses.dataclass(frozen=True)
class Programs:
    """A part whose programs run as processes in the node's namespaces."""

    programs: list[Program]
    settings: frozenset[str] = frozenset()
    objects: Callable[[], list[Manifest]] = lambda: []  # that the cluster needs first
    definitions: Callable[[], list[Path]] = lambda: []  # files with kinds of objects that it needs
    resources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # that its programs leave on the node, as patterns of the shell
    clean: Callable[[Any, Any], None] = lambda cluster, node: None  # removes what its programs leave in the API
    namespace: str = NAMESPACE  # of their accounts

    def serve(self, cluster: Any, node: Any, settings: Settings) -> None:
        for file in self.definitions():
            checked(cluster.kubectl("apply", "--server-side", "-f", str(file)))
            checked(cluster.kubectl("wait", "-f", str(file), "--for=condition=Established", "--timeout=60s"))
        for manifest in self.objects():
            create(cluster, manifest, self.namespace)
        for program in self.programs:
            command = [str(programs.path(program.name)), *program.arguments(node, settings)]
            if program.rules:
                command.append(f"--kubeconfig={kubeconfig(cluster, node, program, self.namespace)}")
            node.spawn(program.name, command, program.environment)

    def begin_to_withdraw(self, cluster: Any, node: Any) -> None:
        """A device plugin is not asked when a pod ends; a driver of claims is."""
        if self.resources:
            self.end(cluster, node)

    def end(self, cluster: Any, node: Any) -> None:
        for program in reversed(self.programs):
            node.stop(program.name)

    def withdraw(self, cluster: Any, node: Any) -> None:
        self.end(cluster, node)
        self.clean(cluster, node)
        made = self.objects() + [
            made for program in self.programs if program.rules for made in account(program, self.namespace)
        ]
        for manifest in reversed(made):
            remove(cluster, manifest, self.namespace)
        for file in self.definitions():
            checked(cluster.kubectl("delete", "--ignore-not-found", "-f", str(file)))
        remove_files(node, self.files)

    def processes(self, node: Any) -> list[int]:
        known = node.machine.programs()
        states = [known[program.name] for program in self.programs if program.name in known]
        return [state["pid"] for state in states if state["exit"] is None]

    def kill(self, node: Any) -> None:
        for program in self.programs:
            node.kill(program.name)
            node.respawn(program.name)


@dataclasses.dataclass(frozen=True)
class Stack:
    name: str
    parts: dict[str, Part]
    namespace: str = ""  # that its parts lie in; it stays for the life of a cluster
    images: Callable[[Path], list[Path]] = lambda build: []  # archives that nodes need, from a build folder

    def prepare(self, cluster: Any) -> None:
        """Once in a cluster. A namespace that goes needs seconds, in which its name cannot be used."""
        if self.namespace:
            namespaces.ensure(cluster.control_plane.api, self.namespace)

    def part(self, what: str) -> Part:
        if what not in self.parts:
            raise NotServed(f"{self.name}'s stack does not serve {what!r}; it serves: {', '.join(self.parts)}")
        return self.parts[what]

    def check(self, what: str, settings: Settings) -> None:
        """NotServed, if it cannot be done."""
        unknown = sorted(settings.keys() - self.part(what).settings)
        if unknown:
            raise NotServed(f"{self.name}'s {what} have no setting {', '.join(unknown)}")

    def serve(self, what: str, cluster: Any, node: Any, settings: Settings) -> None:
        self.check(what, settings)
        self.part(what).serve(cluster, node, settings)

    def withdraw(self, what: str, cluster: Any, node: Any) -> None:
        self.part(what).withdraw(cluster, node)


def plugin_document(settings: Settings) -> str:
    """What the settings of "gpus" say, as the device plugin's configuration file (v1); JSON is YAML, too.
    `config` is a document of the scenario's own; `mig`, `replicas` and `strategy` (of device lists) are its most
    frequent words."""
    if isinstance(settings.get("config"), str):
        return settings["config"]
    document = {"version": "v1", **(settings.get("config") or {})}
    if "mig" in settings:
        document["flags"] = {**document.get("flags", {}), "migStrategy": settings["mig"]}
    if "strategy" in settings:
        flags = document.get("flags", {})
        document["flags"] = {**flags, "plugin": {**flags.get("plugin", {}), "deviceListStrategy": settings["strategy"]}}
    if "replicas" in settings:
        shared = [{"name": "nvidia.com/gpu", "replicas": settings["replicas"]}]
        document["sharing"] = {"timeSlicing": {"resources": shared}}
    return json.dumps(document, indent=1)


def remove_files(node: Any, patterns: tuple[str, ...]) -> None:
    if patterns:
        node.check(["sh", "-c", f"rm -rf {' '.join(patterns)}"])


# ---- access to the API server, as a service account of the program ----


def kubeconfig(cluster: Any, node: Any, program: Program, namespace: str) -> str:
    """A file for the program, with a token of its own account that may do what its rules say."""
    for manifest in account(program, namespace):
        create(cluster, manifest, namespace)
    token = checked(cluster.kubectl(
        "create", "token", program.name, f"--namespace={namespace}", f"--duration={TOKEN_HOURS}h"
    ))
    config = json.loads(checked(cluster.kubectl("config", "view", "--raw", "--flatten", "--output=json")))
    config["users"] = [{"name": program.name, "user": {"token": token.strip()}}]
    config["contexts"] = [
        {"name": "own", "context": {"cluster": config["clusters"][0]["name"], "user": program.name}}
    ]
    config["current-context"] = "own"
    path = node.machine.folder / f"{program.name}.kubeconfig"  # outlives a reboot of the node
    path.touch(mode=0o600)
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def account(program: Program, namespace: str) -> list[Manifest]:
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": program.name, "namespace": namespace}
    return [
        {
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": program.name, "namespace": namespace},
        },
        {
            "apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": program.name},
            "rules": program.rules,
        },
        {
            "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": program.name},
            "subjects": [subject], "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": program.name},
        },
    ]


def create(cluster: Any, manifest: Manifest, namespace: str) -> None:
    cluster.control_plane.api.put_object(kinds.place_of(manifest, namespace), manifest)


def remove(cluster: Any, manifest: Manifest, namespace: str) -> None:
    cluster.control_plane.api.delete(kinds.place_of(manifest, namespace))


def checked(done: Any) -> str:
    if done.returncode != 0:
        raise Failure(f"kubectl: {done.stderr.strip()}")
    return done.stdout


def rule(group: str, resources: str, verbs: str) -> dict[str, list[str]]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
