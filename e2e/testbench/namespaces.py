"""The Kubernetes namespace that a scenario has for itself."""

import itertools
import re
import time
from typing import Any

from support.shell import Failure

from testbench import kinds

SECONDS = 90
POLL_SECONDS = 0.05
# A shell as process 1 does not die of SIGTERM, and nobody waits for what a test leaves.
GRACE_SECONDS = 1
HELD = ("pod", "resourceclaim")


def make(api: Any, wanted: str) -> str:
    """Returns its name when pods can be made in it."""
    known = {found["metadata"]["name"] for found in api.items(kinds.find("namespace").place())}
    plain = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-")[:50] or "scenario"
    more = (f"{plain}-{n}" for n in itertools.count(2))
    name = next(name for name in itertools.chain([plain], more) if name not in known)
    ensure(api, name)
    return name


def ensure(api: Any, name: str) -> None:
    """Returns when it has what Kubernetes puts into each: pods need the account that they run under."""
    place = kinds.find("namespace").place("", name)
    api.put_object(place, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for kind, own in (("serviceaccount", "default"), ("configmap", "kube-root-ca.crt")):
        wanted = kinds.find(kind).place(name, own)
        until(lambda: api.object(wanted) is not None, f"namespace {name} has no {kind} {own}")


def remove(api: Any, name: str) -> None:
    """Returns when nothing of it is on a node any more. The rest goes by itself: Kubernetes waits five seconds
    before it looks, and nothing new can come meanwhile."""
    api.delete(kinds.find("namespace").place("", name))
    for kind in HELD:
        place = kinds.find(kind).place(name)
        api.delete(place, {"gracePeriodSeconds": GRACE_SECONDS})
        until(lambda: not api.items(place), f"{place.rsplit('/', 1)[1]} of namespace {name} stay")


def settle(api: Any) -> None:
    """Returns when all are gone that were removed."""
    until(lambda: not ending(api), f"namespaces {' '.join(ending(api))} stay")


def ending(api: Any) -> list[str]:
    every = [found["metadata"] for found in api.items(kinds.find("namespace").place())]
    return [metadata["name"] for metadata in every if "deletionTimestamp" in metadata]


def until(done: Any, otherwise: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise Failure(f"{otherwise} after {SECONDS} s")
        time.sleep(POLL_SECONDS)
