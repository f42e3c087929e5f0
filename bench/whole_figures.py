"""Memory of all that serves a node: the agent beside NVIDIA's device plugin and feature discovery, for bench/run.

Each runs by itself on the same simulated node, met by the same kubelet (bench-kubelet) and the same API server
(tests/support/fake_api.py), and rests before it is measured. PSS hardly depends on what else the machine does.
"""

import os
import re
import statistics
import subprocess
import time

import plugin_figures
from harness.api_server import ApiServer
from support.shell import Failure, kill_group

ROUNDS = 3
REST = 5
CALLS = 16
AIM, WISH = 3, 4
MACHINE, NAMESPACE = "bench", "gpu"
LIMIT = 60


class Place(plugin_figures.Place):
    """A node that is up, and an API server that knows it."""

    def scratch(self, name):
        return os.path.join(self.directory, name)


def measure(bench, programs):
    """Program -> [(KiB of it, KiB of the driver's library in it) by round]."""
    place = Place(bench, "whole")
    place.sim("up", "dgx-a100-40", "--node", plugin_figures.NODE)
    try:
        ids = re.findall(r"UUID: (GPU-[0-9a-f-]+)", place.inside("nvidia-smi", "-L"))
        ours, plugin = plugin_figures.commands(bench, programs).items()
        found = {}
        for _ in range(ROUNDS):
            found.setdefault(ours[0], []).append(agent(place, ours[1], ids))
            found.setdefault(plugin[0], []).append(met(place, plugin[1], ids))
            found.setdefault("gpu-feature-discovery v0.19.3", []).append(discovery(place, programs))
        return found
    finally:
        place.sim("down", "--node", plugin_figures.NODE, "--force")


def met(place, command, ids):
    said = place.meet(command, CALLS, REST, (1,), ids)
    return said["pss"], said["library"]


def agent(place, command, ids):
    """Offers GPUs and labels its Node, or it is no figure."""
    with ApiServer(place, place.bench.log) as api:
        api.put("nodes", "", {"kind": "Node", "metadata": {"name": MACHINE}})
        config = place.scratch("agent.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"version: partita/v1\nnode: {{name: {MACHINE}, kubeconfig: {api.kubeconfig}}}\n")
        figures = met(place, [*command, "--config-file", config], ids)
        (node,) = api.objects("nodes", "")
    if node["metadata"].get("labels", {}).get("nvidia.com/gpu.count") != "8":
        raise Failure(f"the agent has not labelled its Node: {node['metadata']}")
    return figures


def discovery(place, programs):
    """As its manifests start it: it publishes, and sleeps until the next look."""
    with ApiServer(place, place.bench.log) as api:
        line = [
            place.bench.program("partita-sim"), "run", "--node", plugin_figures.NODE, "--",
            programs["gpu-feature-discovery"], f"--kubeconfig={api.kubeconfig}", f"--node-name={MACHINE}",
            f"--namespace={NAMESPACE}",
        ]
        with open(place.scratch("discovery.log"), "w", encoding="utf-8") as log, subprocess.Popen(
            line, env=place.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        ) as process:
            try:
                end = time.monotonic() + LIMIT
                while not api.objects("nodefeatures", NAMESPACE):
                    if time.monotonic() > end or process.poll() is not None:
                        raise Failure(f"gpu-feature-discovery published nothing: see {log.name}")
                    time.sleep(0.05)
                time.sleep(REST)
                return pss_of(process.pid)
            finally:
                kill_group(process)


def pss_of(pid):
    """KiB of all of it, and of the driver's library in it."""
    everything = library = 0
    of_library = False
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                of_library = "libnvidia-ml" in line
            elif line.startswith("Pss:"):
                kib = int(line.split()[1])
                everything += kib
                library += kib if of_library else 0
    return everything, library


def report(found, table):
    figures = {
        name: [statistics.median(column) for column in zip(*rounds)] for name, rounds in found.items()
    }
    ours, *theirs = figures.values()
    together = [sum(column) for column in zip(*theirs)]
    rows = [("", "PSS, MiB", "of it the driver's library", "beside the library")]
    for name, (everything, library) in [*figures.items(), ("NVIDIA's together", together)]:
        rows.append((name, *(f"{kib / 1024:.1f}" for kib in (everything, library, everything - library))))
    rows.append((
        "times less", f"{together[0] / ours[0]:.1f}", "", f"{(together[0] - together[1]) / (ours[0] - ours[1]):.1f}",
    ))
    return "\n".join([
        "## Memory of all that serves a node", "",
        f"GPUs offered to kubelet and labels written to an API server, 8 GPUs; {ROUNDS} rounds each in turn, medians after "
        f"{REST} s of rest; aim: {AIM} times less beside the driver's library, better {WISH}.", "",
        table(rows),
    ])
