"""After a failure: the state of everything that is worth a look, in one folder.

Nothing here may fail, or hide the failure that it is called for: what cannot be asked has its error written
in the place of its answer.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbench import residue

SECONDS = 20

KINDS = {
    "pods": "pods", "nodes": "nodes", "events": "events", "claims": "resourceclaims",
    "slices": "resourceslices", "classes": "deviceclasses", "node-features": "nodefeatures.nfd.k8s-sigs.io",
}

# File -> command on a node.
ON_NODE = {
    "containers.txt": ["ctr", "--namespace=k8s.io", "containers", "list"],
    "tasks.txt": ["ctr", "--namespace=k8s.io", "tasks", "list"],
    "images.txt": ["ctr", "--namespace=k8s.io", "images", "list"],
    "network.txt": ["ip", "-details", "address"],
    "routes.txt": ["ip", "route"],
    "device-nodes.txt": ["ls", "-lR", "/dev"],
    "nvidia-smi.txt": ["nvidia-smi", "-L"],
    "device-plugins.txt": ["ls", "-lR", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"],
    "cdi.txt": ["sh", "-c", "tail -n +1 /etc/cdi/* /var/run/cdi/*"],
}


def collect(cluster: Any, folder: Path) -> Path:
    """Fills `folder`, and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    collect_objects(cluster, folder / "objects")
    processes = list(residue.read_processes())
    for name, machine in cluster.machines().items():
        collect_machine(machine, folder / name, processes)
    for name, node in cluster.nodes.items():
        collect_node(cluster, node, folder / name)
    return folder


def collect_logs(cluster: Path, folder: Path) -> None:
    """The logs of a cluster that another process keeps, or kept, in the folder `cluster`."""
    for log in [*cluster.glob("*/logs/*.log"), *cluster.glob("nodes/*/logs/*.log")]:
        save(folder / log.parent.parent.name / "logs" / log.name, lambda: residue.read(str(log)))


def collect_objects(cluster: Any, folder: Path) -> None:
    for file, kind in KINDS.items():
        arguments = ("get", kind, "--all-namespaces", "--output=yaml", "--request-timeout=5s")
        save(folder / f"{file}.yaml", lambda: output(cluster.kubectl(*arguments, timeout=SECONDS)))
    arguments = ("describe", "pods", "--all-namespaces", "--request-timeout=5s")
    save(folder / "pods.txt", lambda: output(cluster.kubectl(*arguments, timeout=SECONDS)))


def collect_machine(machine: Any, folder: Path, processes: list[residue.Process]) -> None:
    """What the host sees of it, and the logs of its programs."""
    save(folder / "programs.txt", lambda: "\n".join(f"{k}: {v}" for k, v in machine.programs().items()))
    save(folder / "mounts.txt", lambda: residue.read(f"/proc/{machine.pid}/mountinfo"))
    save(folder / "processes.txt", lambda: processes_of(machine, processes))
    save(folder / "cgroups.txt", lambda: cgroups_of(machine.cgroup))
    for log in machine.logs.glob("*"):
        save(folder / "logs" / log.name, lambda: residue.read(str(log)))


def processes_of(machine: Any, processes: list[residue.Process]) -> str:
    """By its cgroup: containers have namespaces of their own."""
    return "\n".join(process.words for process in processes if f"{machine.cgroup}/" in process.bears)


def cgroups_of(path: str) -> str:
    folders = [trace.key for trace in residue.cgroup_traces() if path in trace.key]
    return "\n".join(f"{folder}: {residue.read(f'{folder}/cgroup.procs').split()}" for folder in folders)


def collect_node(cluster: Any, node: Any, folder: Path) -> None:
    for file, command in ON_NODE.items():
        save(folder / file, lambda: output(node.run(command, timeout=SECONDS)))
    show = [str(cluster.simulator.tool), "show", "--node", node.name, "--output", "yaml"]
    save(folder / "simulated-machine.yaml", lambda: output(subprocess.run(
        show, env=cluster.simulator.environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )))


def output(done: subprocess.CompletedProcess[str]) -> str:
    status = f"\n[exit status {done.returncode}]" if done.returncode else ""
    return done.stdout + done.stderr + status


def save(path: Path, answer: Callable[[], str]) -> None:
    try:
        text = answer()
    except Exception as error:  # see the top of this file
        text = f"not collected: {type(error).__name__}: {error}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8", errors="replace")
