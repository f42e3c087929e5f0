"""`e2e cluster`: a cluster whose nodes partita serves, and a shell in it. The shell's end is the cluster's end."""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from testbench.cluster import kubectl_environment
from testbench.detached import say
from testbench.machine import SYSTEM_PATH, enter
from testbench.stack_partita import PARTITA

E2E = Path(__file__).resolve().parent.parent / "e2e"
# Of the control plane: from there the API server is reached; files and processes are the caller's.
NAMESPACES = ("net",)
SETTINGS = {"mig": "mixed"}
WELCOME = """
A Kubernetes of {nodes}, on simulated GPUs. In this shell:
  kubectl get nodes                     as its administrator
  {on:<37} a command on a node; without one, a shell
  exit                                  ends it; nothing stays
"""


def run(cluster: Any, command: str) -> int:
    """Without a command: a shell, for which this process must have a terminal or a script as its input."""
    with cluster:
        PARTITA.prepare(cluster)
        for node in cluster.nodes.values():
            serve(cluster, node)
        folder = make_programs(cluster)
        if not command:
            say(welcome(list(cluster.nodes)))
        argv = ["bash", "-c", command] if command else ["bash", "--rcfile", str(folder / "bashrc")]
        done = subprocess.run(
            enter(cluster.control_plane.machine.pid, argv, NAMESPACES), env=environment(cluster, folder), check=False
        )
        return done.returncode if command else 0


def serve(cluster: Any, node: Any) -> None:
    what = "gpus" if "gpus" in PARTITA.parts else "agent"
    settings = {key: value for key, value in SETTINGS.items() if key in PARTITA.part(what).settings}
    say(f"partita serves node {node.name}")
    PARTITA.serve(what, cluster, node, settings)


def make_programs(cluster: Any) -> Path:
    """A folder with kubectl, `on`, and what an interactive shell reads first."""
    folder = cluster.folder / "shell"
    folder.mkdir()
    (folder / "kubectl").symlink_to(cluster.programs["kubectl"])
    on = folder / "on"
    on.write_text(
        "#!/bin/sh\n# on NODE [COMMAND…]: on a node of this cluster.\nnode=$1\nshift\n"
        f"exec {shlex.quote(str(E2E))} shell --name {shlex.quote(cluster.name)} \"$node\" ${{1:+--}} \"$@\"\n",
        encoding="utf-8",
    )
    on.chmod(0o755)
    (folder / "bashrc").write_text(
        "[ ! -r ~/.bashrc ] || . ~/.bashrc\nsource <(kubectl completion bash) 2>/dev/null\n"
        f"PS1='[{cluster.name}] \\w \\$ '\nPATH={shlex.quote(str(folder))}:$PATH\n",
        encoding="utf-8",
    )
    return folder


def environment(cluster: Any, folder: Path) -> dict[str, str]:
    path = ":".join([str(folder), str(cluster.build / "bin"), os.environ.get("PATH") or SYSTEM_PATH])
    return {**os.environ, **kubectl_environment(cluster.folder, cluster.kubeconfig), "PATH": path}


def welcome(nodes: list[str]) -> str:
    return WELCOME.format(nodes=" and ".join(nodes), on=f"on {nodes[0]} nvidia-smi -L")
