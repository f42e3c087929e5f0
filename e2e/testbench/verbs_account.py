"""Verbs for what a service account may do: asked with its own token, and with its rights taken away one by one."""

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

from testbench import kinds
from testbench.api_client import refusal
from testbench.scenario_bench import Seen, step
from testbench.stack_partita import NAMESPACE
from testbench.verbs import api, kubectl
from testbench.verbs_observe import Observation

ACCOUNT = "partita"
Right = tuple[str, str, str]  # group, resource, verb
Place = tuple[str, int]  # of a role, and of a rule in it


def rights_of(roles: list[tuple[str, str, str]]) -> dict[Right, list[Place]]:
    """What the roles (kind, namespace, name) allow, by right: where it is allowed."""
    found: dict[Right, list[Place]] = {}
    for kind, namespace, name in roles:
        place = kinds.find(kind).place(namespace, name)
        for number, rule in enumerate(api().object(place)["rules"]):
            for right in rights_in(rule):
                found.setdefault(right, []).append((place, number))
    return found


def rights_in(rule: dict[str, Any]) -> list[Right]:
    return [
        (group, resource, verb)
        for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
    ]


@contextlib.contextmanager
def without(right: Right, places: list[Place]) -> Iterator[None]:
    """The right is taken from its roles for the time of the block."""
    roles = {place: api().object(place)["rules"] for place, _ in places}
    try:
        for place, rules in roles.items():
            api().patch(place, {"rules": [lacking(right, rule) for rule in rules]})
        yield
    finally:
        for place, rules in roles.items():
            api().patch(place, {"rules": rules})


def lacking(right: Right, rule: dict[str, Any]) -> dict[str, Any]:
    """The rule without the verb; one that has several resources is none of ours."""
    made = copy.deepcopy(rule)
    if right in rights_in(rule):
        made["verbs"] = [verb for verb in rule["verbs"] if verb != right[2]] or ["none"]
    return made


def manager_of(key: str, on: str) -> Observation:
    """Who has said a label of a node, by the names of their field managers."""
    def look() -> str:
        managed = (api().object(f"/api/v1/nodes/{on}") or {}).get("metadata", {}).get("managedFields", [])
        return " ".join(
            entry["manager"] for entry in managed
            if f"f:{key}" in entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:labels", {})
        )

    return Observation(f"who has said label {key} of node {on}", look)


# ---- asked with its token ----


def token_of(pod: str = "") -> str:
    """One for the account: as kubelet gets it for a pod, or as anybody makes one who may."""
    bound = ["--bound-object-kind=Pod", f"--bound-object-name={pod}"] if pod else []
    words = f"make a token{f' for pod {pod}' if pod else ''}"
    return kubectl("create", "token", ACCOUNT, f"--namespace={NAMESPACE}", *bound, words=words).strip()


def answer_to(token: str, method: str, path: str, changes: dict[str, Any] | None = None) -> Seen:
    """What the API server says to whoever has the token: "200", or the status and why not."""
    words = f"{method} {path} as the agent's account"
    with step(words):
        client = api().as_owner_of(token)
        kind = {"Content-Type": "application/strategic-merge-patch+json"} if method == "PATCH" else {}
        try:
            status, body = client.request(method, path, json.dumps(changes) if changes else None, kind)
        finally:
            client.close()
        return Seen(str(status) if status < 400 else f"{status}: {refusal(body)}", words)
