"""Objects as a user would write them, short: what a scenario leaves out has the bench's defaults."""

from typing import Any

Manifest = dict[str, Any]

SHELL_IMAGE = "partita.test/shell:1"
# A shell as process 1 does not die of SIGTERM; a second is enough for pods that hold no state.
GRACE_SECONDS = 1
IDLE = "while :; do sleep 3600; done"


def pod(
    name: str, *, on: str = "", runs: str = IDLE, limits: dict[str, int] | None = None,
    claims: dict[str, str] | None = None, restart: str = "Never",
) -> Manifest:
    """A pod with one container. `on` pins it to a node, through the scheduler; `limits` asks for
    resources ({"nvidia.com/gpu": 2}); `claims` gives it ResourceClaims by name in the pod."""
    container: Manifest = {
        "name": "main", "image": SHELL_IMAGE, "imagePullPolicy": "Never", "command": ["sh", "-c", runs],
        "resources": {"limits": {key: str(value) for key, value in (limits or {}).items()}},
    }
    spec: Manifest = {
        "containers": [container], "restartPolicy": restart, "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS, "dnsPolicy": "Default",
    }
    if on:
        spec["nodeSelector"] = {"kubernetes.io/hostname": on}
    if claims:
        spec["resourceClaims"] = [
            {"name": own, "resourceClaimName": claim} for own, claim in claims.items()
        ]
        container["resources"]["claims"] = [{"name": own} for own in claims]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim(name: str, *, of: str = "gpu.nvidia.com", count: int = 1) -> Manifest:
    """A ResourceClaim for `count` devices of a DeviceClass."""
    request = {"name": "devices", "exactly": {"deviceClassName": of, "count": count}}
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }


def describe(manifests: list[Manifest]) -> str:
    """"pod a, resourceclaim shared"."""
    return ", ".join(f"{m['kind'].lower()} {m['metadata']['name']}" for m in manifests)
