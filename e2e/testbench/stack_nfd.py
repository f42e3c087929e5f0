"""Node Feature Discovery. Its master makes labels of objects that feature discovery, or partita, writes; its worker makes
such an object of files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbench import programs
from testbench.stack import Program, Programs, checked, rule

READ = "get list watch"
NFD = "nfd.k8s-sigs.io"


def arguments(*_: Any) -> list[str]:
    return ["--resync-period=1h"]


def master(namespace: str) -> Program:
    return Program(
        "nfd-master", arguments,
        rules=[
            rule("", "namespaces", "list watch"),
            rule("", "nodes nodes/status", "get list patch update"),
            rule(NFD, "nodefeatures nodefeaturerules nodefeaturegroups", READ),
            rule(NFD, "nodefeaturegroups/status", "patch update"),
        ],
        environment={"KUBERNETES_NAMESPACE": namespace},
    )


def worker(namespace: str) -> Program:
    """Of its sources the files alone, which it reads every second, not every minute. Its port is not the master's."""
    def arguments_of_worker(*_: Any) -> list[str]:
        often = json.dumps({"core": {"sleepInterval": "1s"}})
        return [
            "--feature-sources=local", "--label-sources=local", "--no-owner-refs", "--port=8081", f"--options={often}",
        ]

    return Program(
        "nfd-worker", arguments_of_worker, rules=[rule(NFD, "nodefeatures", "create get update")],
        environment={"KUBERNETES_NAMESPACE": namespace},
    )


def definitions() -> list[Path]:
    return [programs.file("nfd-api-crds.yaml")]


def remover(namespace: str) -> Callable[[Any, Any], None]:
    """Of what was found of a node, and the labels that nfd-master made of it."""
    def remove(cluster: Any, node: Any) -> None:
        owner = f"--selector=nfd.node.kubernetes.io/node-name={node.name}"
        checked(cluster.kubectl("delete", f"nodefeatures.{NFD}", f"--namespace={namespace}", owner))
        found = json.loads(checked(cluster.kubectl("get", "node", node.name, "--output=json")))["metadata"]
        for verb, beginning, key in (
            ("label", "nvidia.com/", "labels"), ("annotate", "nfd.node.kubernetes.io/", "annotations"),
        ):
            gone = [f"{name}-" for name in found.get(key, {}) if name.startswith(beginning)]
            if gone:
                checked(cluster.kubectl(verb, "node", node.name, *gone))

    return remove


def alone(namespace: str) -> Programs:
    """For a stack that writes the objects itself."""
    return Programs([master(namespace)], namespace=namespace, definitions=definitions, clean=remover(namespace))


def with_worker(namespace: str) -> Programs:
    """For one that writes a file."""
    parts = [master(namespace), worker(namespace)]
    return Programs(parts, namespace=namespace, definitions=definitions, clean=remover(namespace))
