"""What partita's agent may do at the API server, where a scenario serves it with a token."""

from typing import Any

from testbench import kinds
from testbench.scenario_bench import current, step
from testbench.verbs import api, namespace

ACCESS = "rbac.authorization.k8s.io"
ACCOUNT = {"kind": "ServiceAccount", "name": "partita", "namespace": "partita"}


def rule(group: str, resources: str, verbs: str) -> dict[str, list[str]]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


# As docs/config-by-label.md lists them.
CONFIG_BY_LABEL = [
    rule("", "nodes", "list watch"),
    rule("", "nodes/status", "patch"),
    rule("events.k8s.io", "events", "create patch"),
]


def allow(name: str, rules: list[dict[str, list[str]]]) -> None:
    """The agent's account has these rights until the scenario ends."""
    name = f"{name}-{namespace()}"
    words = f"allow {name}"
    objects: list[dict[str, Any]] = [
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": [ACCOUNT],
         "roleRef": {"apiGroup": ACCESS, "kind": "ClusterRole", "name": name}},
    ]

    def forbid() -> None:
        for manifest in reversed(objects):
            api().delete(kinds.place_of(manifest, ""))

    with step(words):
        current().undo_at_end(words, forbid)
        for manifest in objects:
            api().put_object(kinds.place_of(manifest, ""), manifest)
