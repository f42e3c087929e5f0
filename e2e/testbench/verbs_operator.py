"""Verbs for NVIDIA's GPU operator: its own chart, and its program in a pod from an image made here. Images of what it
runs on nodes cannot be pulled on the bench: its DaemonSets and their pods are there, no container of theirs is."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.oci_archive import Entry, archive, file, folder, tar

from testbench import programs
from testbench.images import PATH
from testbench.scenario_bench import current, step
from testbench.stack import checked
from testbench.verbs_chart import attempt_helm, helm
from testbench.verbs_observe import CORE, Observation, look_up

NEEDED = ["gpu-operator", "gpu-operator-chart", "gpu-operator-assets", "gpu-operator-manifests"]
RELEASE = PLACE = "gpu-operator"  # and its namespace
IMAGE = "partita.test/gpu-operator:1"
FOLDER = "opt/gpu-operator"  # where its image has what it makes objects of
DEPLOY = "nvidia.com/gpu.deploy."
DEFINITIONS = ("clusterpolicies.nvidia.com", "nvidiadrivers.nvidia.com")
NFD = "feature.node.kubernetes.io/"
PCI = f"{NFD}pci-10de.present"
# By these it finds GPUs, and images for the driver.
FEATURES = {
    PCI: "true", f"{NFD}kernel-version.full": "6.1.0", f"{NFD}system-os_release.ID": "debian",
    f"{NFD}system-os_release.VERSION_ID": "12",
}
ROUND = "ClusterPolicy step completed"
LAST_STATE = "state-cc-manager"


def install_operator(values: dict[str, Any], on: str) -> None:
    """With its program on that node. Nodes have what Node Feature Discovery says of a GPU."""
    bring_image(on)
    current().undo_at_end("install the operator", remove_operator)
    for node in current().cluster.nodes:
        set_labels(node, FEATURES)
    repository, name, version = IMAGE.replace("/", ":").split(":")
    own = {"repository": repository, "image": name, "version": version,
           "nodeSelector": {"kubernetes.io/hostname": on}, "affinity": None}
    file_of_values = current().cluster.folder / "operator-values.json"
    file_of_values.write_text(json.dumps({**values, "operator": own, "nfd": {"enabled": False}}), encoding="utf-8")
    helm("install", RELEASE, chart(), f"--namespace={PLACE}", "--create-namespace", f"--values={file_of_values}")


def chart() -> str:
    return str(programs.file("gpu-operator-chart"))


def bring_image(node: str) -> None:
    with step(f"the operator's image on node {node}"):
        place = current().cluster.node(node).machine.folder / "gpu-operator.tar"
        place.write_bytes(image())
        checked_on(node, "images", "import", "--local", str(place))
        place.unlink()
        current().undo_at_end(f"the operator's image on node {node}", lambda: checked_on(node, "images", "rm", IMAGE))


def checked_on(node: str, *arguments: str) -> None:
    current().cluster.node(node).check([str(programs.path("ctr")), "--namespace=k8s.io", *arguments])


def image() -> bytes:
    layer = tar([
        folder("tmp", 0o1777), file("usr/bin/gpu-operator", programs.path("gpu-operator").read_bytes(), 0o755),
        *files_of(programs.file("gpu-operator-assets"), FOLDER),
        *files_of(programs.file("gpu-operator-manifests"), f"{FOLDER}/manifests"),
    ])
    return archive(IMAGE, layer, {"Entrypoint": ["/usr/bin/gpu-operator"], "Env": [PATH]})


def files_of(source: Path, target: str) -> Iterable[Entry]:
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        yield file(f"{target}/{path.relative_to(source)}", path.read_bytes())


def remove_operator() -> None:
    """With all that it leaves: kinds of objects, what it said of nodes, folders that its pods were to have."""
    cluster = current().cluster
    attempt_helm("uninstall", RELEASE, f"--namespace={PLACE}", "--ignore-not-found")
    checked(cluster.kubectl("delete", "crd", "--ignore-not-found", *DEFINITIONS))
    checked(cluster.kubectl("delete", "namespace", "--ignore-not-found", PLACE))
    for name, node in cluster.nodes.items():
        said = cluster.control_plane.api.object(f"{CORE}/nodes/{name}")["metadata"]
        set_labels(name, {key: None for key in said["labels"] if key.startswith((NFD, "nvidia.com/"))})
        gone = {key: None for key in said.get("annotations", {}) if key.startswith("nvidia.com/")}
        cluster.control_plane.api.patch(f"{CORE}/nodes/{name}", {"metadata": {"annotations": gone}})
        node.check(["rm", "-rf", "/run/nvidia"])


def set_labels(node: str, values: dict[str, str | None]) -> None:
    """None: without it."""
    current().cluster.control_plane.api.patch(f"{CORE}/nodes/{node}", {"metadata": {"labels": values}})


# ---- what it does ----


def operands(on: str) -> Observation:
    """Its pods on a node but for its own, by their labels `app`."""
    place = f"{CORE}/namespaces/{PLACE}/pods?fieldSelector=spec.nodeName={on}"

    def look() -> str:
        found = look_up(place, ("items",))
        if not found.startswith("["):
            return found
        living = [pod["metadata"] for pod in json.loads(found) if "deletionTimestamp" not in pod["metadata"]]
        return " ".join(sorted(metadata["labels"]["app"] for metadata in living if metadata["labels"]["app"] != PLACE))

    return Observation(f"the operator's pods on node {on}", look)


def rounds() -> int:
    """How often it has compared everything with its ClusterPolicy."""
    said = current().cluster.kubectl("logs", f"deployment/{RELEASE}", f"--namespace={PLACE}").stdout
    return sum(ROUND in line and LAST_STATE in line for line in said.splitlines())


def told_by(on: str) -> list[str]:
    """Who has written what of a Node, and when, but for its status: the same as long as nobody changes anything."""
    metadata = json.loads(look_up(f"{CORE}/nodes/{on}", ("metadata",)))
    return [json.dumps(entry, sort_keys=True) for entry in metadata["managedFields"] if "subresource" not in entry]
