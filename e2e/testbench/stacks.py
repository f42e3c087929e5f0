"""Who serves GPUs on the nodes: one stack or another, behind the same words.

A stack has parts by what they serve: "gpus" (the device plugin's resources), "labels" (of nodes) and "claims"
(DRA). Each part is a set of programs that run in a node's namespaces. A scenario says serve("gpus", on="dgx")
and runs unchanged with every stack that has this part.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.shell import Failure

from testbench import programs
from testbench.scenario_bench import WrongUse

DEFAULT = "nvidia"
DRIVER_ROOT = "/run/partita-sim"  # where a node has its driver's files
CDI_FOLDER = "/var/run/cdi"
NAMESPACE = "nvidia"
TOKEN_HOURS = 12

Rules = list[dict[str, list[str]]]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of a part: its arguments, and what it may do at the API server (nothing: no access)."""

    name: str
    arguments: Callable[[Any, dict[str, str]], list[str]]  # (node, settings) -> arguments
    rules: Rules = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Part:
    programs: list[Program]
    settings: frozenset[str] = frozenset()  # names that serve() takes for it
    objects: Callable[[], list[dict[str, Any]]] = lambda: []  # that the cluster needs first
    definitions: Callable[[], list[Path]] = lambda: []  # files with kinds of objects that it needs
    resources: tuple[str, ...] = ()  # how those begin that it makes allocatable
    clean: Callable[[Any, Any], None] = lambda cluster, node: None  # removes what its programs leave in the API


@dataclasses.dataclass(frozen=True)
class Stack:
    name: str
    parts: dict[str, Part]

    def part(self, what: str) -> Part:
        if what not in self.parts:
            raise Failure(f"{self.name}'s stack does not serve {what!r}; it serves: {', '.join(self.parts)}")
        return self.parts[what]

    def serve(self, what: str, cluster: Any, node: Any, settings: dict[str, str]) -> None:
        part = self.part(what)
        unknown = sorted(settings.keys() - part.settings)
        if unknown:
            raise Failure(f"{self.name}'s {what} have no setting {', '.join(unknown)}")
        for file in part.definitions():
            checked(cluster.kubectl("apply", "--server-side", "-f", str(file)))
            checked(cluster.kubectl("wait", "-f", str(file), "--for=condition=Established", "--timeout=60s"))
        for manifest in part.objects():
            create(cluster, manifest)
        for program in part.programs:
            command = [str(programs.path(program.name)), *program.arguments(node, settings)]
            if program.rules:
                command.append(f"--kubeconfig={kubeconfig(cluster, node, program)}")
            node.spawn(program.name, command, program.environment)

    def withdraw(self, what: str, cluster: Any, node: Any) -> None:
        """Accounts, roles and kinds of objects stay for the next time."""
        part = self.part(what)
        for program in reversed(part.programs):
            node.stop(program.name)
        part.clean(cluster, node)


# ---- access to the API server, as a service account of the program ----


def kubeconfig(cluster: Any, node: Any, program: Program) -> str:
    """A file for the program, with a token of its own account that may do what its rules say."""
    for manifest in account(program):
        create(cluster, manifest)
    token = checked(cluster.kubectl(
        "create", "token", program.name, f"--namespace={NAMESPACE}", f"--duration={TOKEN_HOURS}h"
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


def account(program: Program) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": program.name, "namespace": NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": program.name, "namespace": NAMESPACE},
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


def create(cluster: Any, manifest: dict[str, Any]) -> None:
    checked(cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest)))


def checked(done: Any) -> str:
    if done.returncode != 0:
        raise Failure(f"kubectl: {done.stderr.strip()}")
    return done.stdout


def rule(group: str, resources: str, verbs: str) -> dict[str, list[str]]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


# ---- NVIDIA's programs ----

READ = "get list watch"
NFD = "nfd.k8s-sigs.io"


def hook() -> str:
    return str(programs.path("nvidia-cdi-hook"))


def device_plugin(_: Any, settings: dict[str, str]) -> list[str]:
    return [
        f"--mig-strategy={settings.get('mig', 'none')}", "--device-discovery-strategy=nvml",
        "--device-list-strategy=cdi-cri", f"--driver-root={DRIVER_ROOT}", f"--driver-root-ctr-path={DRIVER_ROOT}",
        f"--nvidia-cdi-hook-path={hook()}",
    ]


def feature_discovery(node: Any, settings: dict[str, str]) -> list[str]:
    return [
        f"--mig-strategy={settings.get('mig', 'none')}", f"--node-name={node.name}",
        f"--namespace={NAMESPACE}", "--device-discovery-strategy=nvml",
    ]


def nfd_master(*_: Any) -> list[str]:
    return ["--resync-period=1h"]


def nfd_definitions() -> list[Path]:
    return [programs.file("nfd-api-crds.yaml")]


def remove_features(cluster: Any, node: Any) -> None:
    """What feature discovery found of a node, and the labels that nfd-master made of it."""
    owner = f"--selector=nfd.node.kubernetes.io/node-name={node.name}"
    checked(cluster.kubectl("delete", f"nodefeatures.{NFD}", f"--namespace={NAMESPACE}", owner))
    found = json.loads(checked(cluster.kubectl("get", "node", node.name, "--output=json")))["metadata"]
    for verb, beginning, key in (
        ("label", "nvidia.com/", "labels"), ("annotate", "nfd.node.kubernetes.io/", "annotations"),
    ):
        gone = [f"{name}-" for name in found.get(key, {}) if name.startswith(beginning)]
        if gone:
            checked(cluster.kubectl(verb, "node", node.name, *gone))


def dra_driver(node: Any, _: dict[str, str]) -> list[str]:
    return [
        f"--node-name={node.name}", f"--namespace={NAMESPACE}", f"--cdi-root={CDI_FOLDER}",
        f"--nvidia-driver-root={DRIVER_ROOT}", f"--container-driver-root={DRIVER_ROOT}",
        f"--nvidia-cdi-hook-path={hook()}", "--image-name=partita.test/none:1",
    ]


def device_classes() -> list[dict[str, Any]]:
    """As NVIDIA's chart makes them. The driver's test comes first: other drivers lack the attribute."""
    return [
        device_class("gpu.nvidia.com", "gpu", {"extendedResourceName": "nvidia.com/gpu"}),
        device_class("mig.nvidia.com", "mig", {}),
    ]


def device_class(name: str, kind: str, more: dict[str, str]) -> dict[str, Any]:
    driver = "gpu.nvidia.com"
    expression = f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'"
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **more},
    }


NVIDIA = Stack("nvidia", {
    "gpus": Part(
        [Program("nvidia-device-plugin", device_plugin)],
        settings=frozenset({"mig"}),
        resources=("nvidia.com/",),
    ),
    "labels": Part(
        [
            Program(
                "gpu-feature-discovery", feature_discovery,
                rules=[
                    rule("", "nodes pods", "get"),
                    rule(NFD, "nodefeatures", f"{READ} create update"),
                ],
            ),
            # Feature discovery writes an object; this makes labels of it.
            Program(
                "nfd-master", nfd_master,
                rules=[
                    rule("", "namespaces", "list watch"),
                    rule("", "nodes nodes/status", "get list patch update"),
                    rule(NFD, "nodefeatures nodefeaturerules nodefeaturegroups", READ),
                    rule(NFD, "nodefeaturegroups/status", "patch update"),
                ],
                environment={"KUBERNETES_NAMESPACE": NAMESPACE},
            ),
        ],
        settings=frozenset({"mig"}),
        definitions=nfd_definitions,
        clean=remove_features,
    ),
    "claims": Part(
        [
            Program(
                "gpu-kubelet-plugin", dra_driver,
                rules=[
                    rule("resource.k8s.io", "resourceclaims", READ),
                    rule("resource.k8s.io", "resourceslices", f"{READ} create update delete"),
                    rule("", "nodes pods", READ),
                ],
            ),
        ],
        objects=device_classes,
    ),
})

STACKS = {stack.name: stack for stack in (NVIDIA,)}


def find(name: str) -> Stack:
    if name not in STACKS:
        raise WrongUse(f"no stack {name!r}; there are: {', '.join(STACKS)}")
    return STACKS[name]
