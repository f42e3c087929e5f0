"""NVIDIA's unmodified programs, as processes on the nodes; the device plugin in a pod, too."""

from pathlib import Path
from typing import Any

from testbench import images, programs, stack_nfd
from testbench.stack import (
    CDI_FOLDER, DRIVER_ROOT, NAMESPACE, Manifest, Program, Programs, Settings, Stack, checked, plugin_document, rule,
)
from testbench.stack_nfd import NFD, READ
from testbench.stack_pods import Pods, name_of, pin

DEVICE_PLUGIN = "nvidia-device-plugin"
PLUGIN_FOLDER = "/var/lib/kubelet/device-plugins"
PLUGIN_SETTINGS = frozenset({"mig", "replicas", "config", "strategy"})
PLUGIN_FILES = (f"{CDI_FOLDER}/k8s.device-plugin.nvidia.com-*", f"{PLUGIN_FOLDER}/nvidia-*")
IN_POD = "/driver-root"  # where a pod has the driver's files


def hook() -> str:
    return str(programs.path("nvidia-cdi-hook"))


def device_plugin(node: Any, settings: Settings) -> list[str]:
    file = node.machine.folder / "nvidia-device-plugin.json"  # outlives a reboot of the node
    file.write_text(plugin_document(settings), encoding="utf-8")
    return plugin_arguments(str(file), DRIVER_ROOT, settings)


def plugin_arguments(file: str, driver: str, settings: Settings) -> list[str]:
    """`driver` is where the plugin itself finds the driver's files. What is said here wins over its file."""
    return [
        f"--config-file={file}", "--device-discovery-strategy=nvml",
        f"--device-list-strategy={settings.get('strategy', 'cdi-cri')}",
        f"--driver-root={DRIVER_ROOT}", f"--driver-root-ctr-path={driver}",
        f"--nvidia-cdi-hook-path={hook()}",
    ]


def plugin_pod(_: Any, node: str, settings: Settings) -> list[Manifest]:
    """As NVIDIA's chart installs it for CDI: privileged, the driver's files below a folder of its own."""
    name = name_of(DEVICE_PLUGIN, node)
    labels = {"app.kubernetes.io/name": DEVICE_PLUGIN}
    host = {"driver": (DRIVER_ROOT, IN_POD), **{path: (path, path) for path in ("/dev", PLUGIN_FOLDER, CDI_FOLDER)}}
    paths = {key.strip("/").replace("/", "-"): pair for key, pair in host.items()}
    container = {
        "name": "plugin", "image": images.DEVICE_PLUGIN, "imagePullPolicy": "Never",
        "args": plugin_arguments("/config/config.yaml", IN_POD, settings), "securityContext": {"privileged": True},
        "volumeMounts": [
            {"name": "config", "mountPath": "/config"},
            *({"name": key, "mountPath": inside} for key, (_, inside) in paths.items()),
        ],
    }
    daemons = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": dict(labels)}, "template": {"metadata": {"labels": dict(labels)}, "spec": {
            "priorityClassName": "system-node-critical", "automountServiceAccountToken": False, "dnsPolicy": "Default",
            "containers": [container],
            "volumes": [
                {"name": "config", "configMap": {}},
                *({"name": key, "hostPath": {"path": outside}} for key, (outside, _) in paths.items()),
            ],
        }}},
    }
    pin(daemons["spec"], node, name)
    config = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"config.yaml": plugin_document(settings)},
    }
    return [config, daemons]


def plugin_image(_: Path) -> list[Path]:
    return [images.archive_of(images.DEVICE_PLUGIN, programs.path(DEVICE_PLUGIN))]


def feature_discovery(node: Any, settings: Settings) -> list[str]:
    return [
        f"--mig-strategy={settings.get('mig', 'none')}", f"--node-name={node.name}",
        f"--namespace={NAMESPACE}", "--device-discovery-strategy=nvml",
    ]


def dra_driver(node: Any, _: Settings) -> list[str]:
    return [
        f"--node-name={node.name}", f"--namespace={NAMESPACE}", f"--cdi-root={CDI_FOLDER}",
        f"--nvidia-driver-root={DRIVER_ROOT}", f"--container-driver-root={DRIVER_ROOT}",
        f"--nvidia-cdi-hook-path={hook()}", "--image-name=partita.test/none:1",
    ]


def remove_slices(cluster: Any, node: Any) -> None:
    """A driver that ends leaves what it published, for the one that comes after it."""
    api = cluster.control_plane.api
    for found in api.items("/apis/resource.k8s.io/v1/resourceslices"):
        if found["spec"].get("nodeName") == node.name:
            api.delete(f"/apis/resource.k8s.io/v1/resourceslices/{found['metadata']['name']}")


def device_classes() -> list[Manifest]:
    """As NVIDIA's chart makes them. The driver's test comes first: other drivers lack the attribute."""
    return [
        device_class("gpu.nvidia.com", "gpu", {"extendedResourceName": "nvidia.com/gpu"}),
        device_class("mig.nvidia.com", "mig", {}),
    ]


def device_class(name: str, kind: str, more: dict[str, str]) -> Manifest:
    driver = "gpu.nvidia.com"
    expression = f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'"
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **more},
    }


NVIDIA = Stack("nvidia", {
    "gpus": Programs(
        [Program(DEVICE_PLUGIN, device_plugin)], settings=PLUGIN_SETTINGS, resources=("nvidia.com/",),
        files=PLUGIN_FILES,
    ),
    "gpus in a pod": Pods(
        DEVICE_PLUGIN, NAMESPACE, f"/usr/bin/{DEVICE_PLUGIN}", plugin_pod, ("plugin",), settings=PLUGIN_SETTINGS,
        resources=("nvidia.com/",), files=PLUGIN_FILES,
    ),
    "labels": Programs(
        [
            Program(
                "gpu-feature-discovery", feature_discovery,
                rules=[
                    rule("", "nodes pods", "get"),
                    rule(NFD, "nodefeatures", f"{READ} create update"),
                ],
            ),
            # Feature discovery writes an object; this makes labels of it.
            stack_nfd.master(NAMESPACE),
        ],
        settings=frozenset({"mig"}),
        definitions=stack_nfd.definitions,
        clean=stack_nfd.remover(NAMESPACE),
    ),
    "claims": Programs(
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
        files=(f"{CDI_FOLDER}/k8s.gpu.nvidia.com-*",),
        clean=remove_slices,
    ),
}, namespace=NAMESPACE, images=plugin_image)
