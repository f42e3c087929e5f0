"""Where the API server keeps objects of each kind that the bench handles itself."""

import dataclasses
from typing import Any

from support.shell import Failure


@dataclasses.dataclass(frozen=True)
class Kind:
    api: str  # "/api/v1", "/apis/GROUP/VERSION"
    plural: str
    namespaced: bool = True

    def place(self, namespace: str = "", name: str = "") -> str:
        """The path of an object, or of all of its kind."""
        inside = f"namespaces/{namespace}/" if self.namespaced and namespace else ""
        return f"{self.api}/{inside}{self.plural}" + (f"/{name}" if name else "")


CORE, APPS = "/api/v1", "/apis/apps/v1"
ACCESS, DEVICES = "/apis/rbac.authorization.k8s.io/v1", "/apis/resource.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RUNTIMES = "/apis/node.k8s.io/v1"

KINDS = {
    "configmap": Kind(CORE, "configmaps"),
    "event": Kind(CORE, "events"),
    "namespace": Kind(CORE, "namespaces", namespaced=False),
    "node": Kind(CORE, "nodes", namespaced=False),
    "pod": Kind(CORE, "pods"),
    "serviceaccount": Kind(CORE, "serviceaccounts"),
    "daemonset": Kind(APPS, "daemonsets"),
    "deployment": Kind(APPS, "deployments"),
    "clusterrole": Kind(ACCESS, "clusterroles", namespaced=False),
    "clusterrolebinding": Kind(ACCESS, "clusterrolebindings", namespaced=False),
    "role": Kind(ACCESS, "roles"),
    "rolebinding": Kind(ACCESS, "rolebindings"),
    "validatingadmissionpolicy": Kind(ADMISSION, "validatingadmissionpolicies", namespaced=False),
    "validatingadmissionpolicybinding": Kind(ADMISSION, "validatingadmissionpolicybindings", namespaced=False),
    "runtimeclass": Kind(RUNTIMES, "runtimeclasses", namespaced=False),
    "deviceclass": Kind(DEVICES, "deviceclasses", namespaced=False),
    "resourceclaim": Kind(DEVICES, "resourceclaims"),
    "resourceclaimtemplate": Kind(DEVICES, "resourceclaimtemplates"),
    "resourceslice": Kind(DEVICES, "resourceslices", namespaced=False),
}


def find(kind: str) -> Kind:
    found = KINDS.get(kind.lower())
    if found is None:
        raise Failure(f"the bench does not know objects of kind {kind!r}; it knows: {', '.join(KINDS)}")
    return found


def place_of(manifest: dict[str, Any], namespace: str) -> str:
    """Where an object lies or will lie; `namespace` for those that name none themselves."""
    metadata = manifest["metadata"]
    return find(manifest["kind"]).place(metadata.get("namespace") or namespace, metadata["name"])
