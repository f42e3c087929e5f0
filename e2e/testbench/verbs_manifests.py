"""Objects as a user would write them, short: what a scenario leaves out has the bench's defaults."""

from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

SHELL_IMAGE = "partita.test/shell:1"
CUDA_IMAGE = "partita.test/cuda:1"  # with a C library, for what a driver injects
MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"
GRACE_SECONDS = 1  # enough for pods that hold no state
IDLE = "trap exit TERM; sleep 86400 & wait"  # a shell as process 1 would not die of SIGTERM by itself


def pod(
    name: str, *, on: str = "", runs: str = IDLE, limits: dict[str, int] | None = None,
    claims: dict[str, str] | None = None, restart: str = "Never", image: str = SHELL_IMAGE, runtime: str = "",
) -> Manifest:
    """A pod with one container. `on` pins it to a node, through the scheduler; `limits` asks for
    resources ({"nvidia.com/gpu": 2}); `claims` gives it ResourceClaims by name in the pod; `runtime` is a
    RuntimeClass."""
    container: Manifest = {
        "name": "main", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-c", runs],
        "resources": {"limits": {key: str(value) for key, value in (limits or {}).items()}},
    }
    spec: Manifest = {
        "containers": [container], "restartPolicy": restart, "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS, "dnsPolicy": "Default",
    }
    if on:
        spec["nodeSelector"] = {"kubernetes.io/hostname": on}
    if runtime:
        spec["runtimeClassName"] = runtime
    if claims:
        spec["resourceClaims"] = [
            {"name": own, "resourceClaimName": claim} for own, claim in claims.items()
        ]
        container["resources"]["claims"] = [{"name": own} for own in claims]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def manifest(name: str, select: dict[str, str] | None = None) -> str:
    """One of the pods that users write, or several, as YAML; for a node with these labels, which they say last."""
    text = (MANIFESTS / f"{name}.yaml").read_text(encoding="utf-8")
    if not select:
        return text
    chosen = "  nodeSelector:\n" + "".join(f'    {key}: "{value}"\n' for key, value in select.items())
    return "---\n".join(one + chosen for one in text.split("---\n"))


def runtime_class(handler: str) -> Manifest:
    """For pods whose containers a handler of containerd's configuration makes. It is no namespace's: delete it."""
    return {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": handler}, "handler": handler,
    }


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
