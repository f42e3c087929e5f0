"""partita as its users install it: deploy/partita.yaml and the image of the release, a DaemonSet for each node
that a scenario wants it on.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from support.shell import SetupError

from testbench import programs, stack_nfd
from testbench.stack import CDI_FOLDER, DRIVER_ROOT, Manifest, Settings, Stack, checked, plugin_document
from testbench.stack_pods import Pods, name_of, pin

REPOSITORY = Path(__file__).resolve().parent.parent.parent
DEPLOYMENT = REPOSITORY / "deploy" / "partita.yaml"
CHART = REPOSITORY / "charts" / "partita"
OWNER = NAMESPACE = "partita"
RUNNER = "mps-runner"  # what the name of the DaemonSet ends with that has MPS's daemons
WITH_RUNNER = ("mps.enabled=true", f"nvidiaDriverRoot={DRIVER_ROOT}")
HOST = "/host"
LEFT = (
    "/run/partita/*", "/var/lib/partita/*", f"{CDI_FOLDER}/nvidia.yaml", f"{CDI_FOLDER}/management.nvidia.com-gpu.yaml",
    f"{CDI_FOLDER}/k8s.device-plugin.nvidia.com-*", "/usr/local/nvidia/toolkit",
    "/var/lib/kubelet/device-plugins/nvidia-*", "/run/nvidia/mps",
)


# ---- what is installed ----


def configuration(settings: Settings) -> dict[str, str]:
    """The files of /etc/partita, for a node whose driver is the simulator's."""
    config: Manifest = {
        "version": "partita/v1",
        "node": {"hostRoot": HOST, "driverRoot": HOST + DRIVER_ROOT},
        "toolkit": {"installDir": "/usr/local/nvidia"},
        **({"mps": {"runner": "pod"}} if settings.get("mps") else {}),
        **(settings.get("agent") or {}),
    }
    files = {}
    if settings.keys() & {"mig", "replicas", "config", "strategy"}:
        config["devicePlugin"] = {"configFile": "/etc/partita/device-plugin.yaml", **config.get("devicePlugin", {})}
        files["device-plugin.yaml"] = plugin_document(settings)
    return {"config.yaml": json.dumps(config, indent=1), **files}


def manifests(cluster: Any, node: str, settings: Settings) -> list[Manifest]:
    """Those of the file, or of the chart with a runner of MPS's daemons; what is another for each node bears its
    name."""
    name = name_of(OWNER, node)
    made = []
    for manifest in deployment(cluster, WITH_RUNNER if settings.get("mps") else ()):
        if manifest["kind"] in ("ConfigMap", "DaemonSet"):
            ending = manifest["metadata"]["name"].removeprefix(OWNER)
            manifest["metadata"]["name"] = name + ending
        if manifest["kind"] == "ConfigMap":
            manifest["data"] = configuration(settings)
        if manifest["kind"] == "DaemonSet":
            pin(manifest["spec"], node, name)
            look_often(manifest["spec"]["template"]["spec"])
            if settings.get("token"):
                manifest["spec"]["template"]["spec"]["automountServiceAccountToken"] = True
            if "api" in settings:
                lead_to(manifest["spec"]["template"]["spec"], *settings["api"])
        made.append(manifest)
    return made


def look_often(pod: Manifest) -> None:
    """Kubelet looks every second whether it is ready: a scenario waits for that."""
    for container in pod["containers"]:
        if "readinessProbe" in container:
            container["readinessProbe"]["periodSeconds"] = 1


def lead_to(pod: Manifest, host: str, port: int) -> None:
    """Its agent takes this for the API server; else it is where kubelet says."""
    (agent,) = [container for container in pod["containers"] if container["name"] == "agent"]
    places = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
    agent.setdefault("env", []).extend({"name": name, "value": value} for name, value in places.items())


def deployment(cluster: Any, values: tuple[str, ...] = ()) -> list[Manifest]:
    """The objects of the file, or of the chart with values that are not its own. kubectl reads them once: they are
    YAML."""
    if values not in _read:
        words = ("create", "--dry-run=client", "--output=json", "-f")
        asked = {"input": rendered(values)} if values else {}
        _read[values] = checked(cluster.kubectl(*words, "-" if values else str(DEPLOYMENT), **asked))
    return documents(_read[values])


_read: dict[tuple[str, ...], str] = {}


def rendered(values: tuple[str, ...]) -> str:
    """What Helm makes of the chart; without a namespace, which the bench has made."""
    chosen = [word for value in values for word in ("--set", value)]
    done = subprocess.run(
        [programs.path("helm"), "template", OWNER, str(CHART), f"--namespace={NAMESPACE}", *chosen],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise SetupError(f"helm template {' '.join(chosen)}: {done.stderr.strip()}")
    return done.stdout


def documents(text: str) -> list[Manifest]:
    """JSON objects one after the other, or a list of them."""
    found, decoder, text = [], json.JSONDecoder(), text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found += document["items"] if document["kind"] == "List" else [document]
        text = text[end:].lstrip()
    return found


def image(build: Path) -> list[Path]:
    """Made anew each time: a second, and it is of the programs that are there now."""
    target = build.resolve().parent / "image" / "partita.tar"
    done = subprocess.run(
        [REPOSITORY / "scripts" / "package-image", build, target], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SetupError(done.stderr.strip())
    return [target]


def remove_labels(cluster: Any, node: Any) -> None:
    """As docs/labels.md says for when partita is gone: who applies nothing has nothing."""
    bare = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}})
    words = ("apply", "--server-side", "--field-manager=partita-labels", "-f", "-")
    checked(cluster.kubectl(*words, input=bare))


def tidy(cluster: Any, node: Any) -> None:
    """And the mounts that stay when a pod with daemons goes (docs/install.md)."""
    remove_labels(cluster, node)
    node.check(["sh", "-c", "for shm in /run/nvidia/mps/*/shm; do ! mountpoint -q $shm || umount $shm; done"])


def served(settings: str, resources: tuple[str, ...] = ()) -> Pods:
    return Pods(
        OWNER, NAMESPACE, "/usr/bin/partita", manifests, ("toolkit", "agent"),
        settings=frozenset(settings.split()), resources=resources, files=LEFT, tidy=tidy, beside=RUNNER,
    )


GPUS = served("agent mig replicas config strategy token mps api", ("nvidia.com/",))
PARTITA = Stack(
    OWNER,
    {
        "gpus": GPUS, "gpus in a pod": GPUS, "agent": served("agent"),
        # Not ours, and needed where labels are to go through it.
        "node feature discovery": stack_nfd.alone(NAMESPACE),
        "node feature discovery's worker": stack_nfd.with_worker(NAMESPACE),
    },
    namespace=NAMESPACE, images=image,
)
