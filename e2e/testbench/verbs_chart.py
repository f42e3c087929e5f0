"""Verbs for the chart: what somebody does who installs partita with Helm."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from testbench import programs
from testbench.cluster import KUBECTL_NAMESPACES, kubectl_environment
from testbench.scenario_bench import Seen, Unexpected, current, error_of, finished, step, where
from testbench.stack import DRIVER_ROOT, checked, remove_files
from testbench.stack_partita import LEFT, NAMESPACE, REPOSITORY, remove_labels
from testbench.verbs_observe import Observation, look_up, wait_for

CHART = REPOSITORY / "charts" / "partita"
RELEASE = "partita"
HELM_SECONDS = 150
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/instance={RELEASE}"

WITHOUT_CONDITION = '{"status": {"conditions": [{"type": "partita.dev/GPUConfigApplied", "$patch": "delete"}]}}'

# Where the bench's machines have their driver.
ON_THE_BENCH = {"nvidiaDriverRoot": DRIVER_ROOT}


def helm(*arguments: str) -> Seen:
    """What Helm writes; it must end with 0."""
    words = f"`helm {' '.join(arguments)}`"
    with step(words):
        done = attempt_helm(*arguments)
        if done.returncode != 0:
            raise Unexpected(f"{words} succeeds", error_of(done), where())
        return Seen(done.stdout.strip(), words)


def attempt_helm(*arguments: str) -> subprocess.CompletedProcess:
    cluster = current().cluster
    command = [str(programs.path("helm")), f"--namespace={NAMESPACE}", *arguments]
    homes = {f"HELM_{kind}_HOME": str(cluster.folder / "helm" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    environment = {**os.environ, **kubectl_environment(cluster.folder, cluster.kubeconfig), **homes}
    return finished(f"helm {arguments[0]} ends", lambda: subprocess.run(
        cluster.control_plane.machine.enter(command, KUBECTL_NAMESPACES), env=environment, capture_output=True,
        text=True, check=False, timeout=HELM_SECONDS, stdin=subprocess.DEVNULL,
    ))


def install_chart(values: dict[str, Any] | None = None) -> None:
    """The chart on every node. At the scenario's end it is removed, if it is still there."""
    current().undo_at_end("install the chart", remove_chart)
    helm("install", RELEASE, str(CHART), "--wait", *with_values(values))


def upgrade_chart(values: dict[str, Any] | None = None, *more: str) -> None:
    helm("upgrade", RELEASE, str(CHART), "--wait", *more, *with_values(values))


def with_values(values: dict[str, Any] | None) -> list[str]:
    file = current().cluster.folder / "values.json"
    file.write_text(json.dumps({**ON_THE_BENCH, **(values or {})}), encoding="utf-8")
    return ["--values", str(file)]


def changed_chart(file: str, *changes: tuple[str, str]) -> Path:
    """A copy in which each pattern of the file, which is there once, is something else."""
    copy = current().cluster.folder / "changed-chart"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(CHART, copy)
    place = copy / "templates" / file
    text = place.read_text(encoding="utf-8")
    for pattern, other in changes:
        text, times = re.subn(pattern, other, text)
        if times != 1:
            raise Unexpected(f"{pattern} is in {file} once", f"{times} times", where())
    place.write_text(text, encoding="utf-8")
    return copy


def remove_chart() -> None:
    """As docs/install.md says, with what stays on the nodes."""
    attempt_helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--cascade=foreground")
    for node in current().cluster.nodes.values():
        remove_labels(current().cluster, node)
        checked(current().cluster.kubectl(
            "patch", "node", node.name, "--subresource=status", "--type=strategic", "--patch", WITHOUT_CONDITION))
        remove_files(node, LEFT)


def agents() -> Observation:
    """The agents' pods by name: others after a roll-out."""
    def look() -> str:
        found = look_up(PODS, ("items",))
        pods = json.loads(found) if found.startswith("[") else []
        return " ".join(sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]))

    return Observation("the agents' pods", look)


def agent_on(node: str) -> dict[str, Any]:
    """The agent's pod on a node; empty: none."""
    found = look_up(PODS, ("items",))
    pods = json.loads(found) if found.startswith("[") else []
    living = [pod for pod in pods if pod["spec"].get("nodeName") == node and "deletionTimestamp" not in pod["metadata"]]
    return living[0] if living else {}


def agent_of_chart(node: str) -> Observation:
    """The agent's pod on a node, and how often the agent was started again in it."""
    def look() -> str:
        pod = agent_on(node)
        states = pod.get("status", {}).get("containerStatuses", [])
        again = [str(state["restartCount"]) for state in states if state["name"] == "agent"]
        return ", ".join([pod["metadata"]["name"], *again]) if pod else ""

    return Observation(f"the agent's pod on node {node}, and its restarts", look)


def restart_agent(node: str) -> None:
    """Another pod, ready."""
    with step(f"another agent on node {node}"):
        name = agent_on(node)["metadata"]["name"]
        checked(current().cluster.kubectl("delete", "pod", name, f"--namespace={NAMESPACE}", "--wait=false"))
    wait_for(Observation(f"the next agent on node {node} is ready", lambda: str(is_other(node, name))), "True")


def is_other(node: str, name: str) -> bool:
    pod = agent_on(node)
    states = {state["type"]: state["status"] for state in pod.get("status", {}).get("conditions", [])}
    return pod.get("metadata", {}).get("name", name) != name and states.get("Ready") == "True"


def agent_log(node: str) -> Observation:
    def look() -> str:
        name = agent_on(node).get("metadata", {}).get("name", "")
        text = current().cluster.kubectl("logs", name, f"--namespace={NAMESPACE}", "--container=agent").stdout
        return text.replace('\\"', '"')  # values of fields are quoted

    return Observation(f"log of the agent on node {node}", look)


# A frame is four bytes of length and JSON (docs/agent.md).
ASK = """
import json, socket, struct, sys
asked = json.dumps({"version": 1, "method": "ledger", "params": {}}).encode()
with socket.socket(socket.AF_UNIX) as agent:
    agent.connect("/run/partita/agent.sock")
    agent.sendall(struct.pack(">I", len(asked)) + asked)
    stream = agent.makefile("rb")
    print(stream.read(struct.unpack(">I", stream.read(4))[0]).decode())
"""


def owners(on: str) -> Observation:
    """Who holds devices of a node by the agent's ledger, one for each device."""
    def look() -> str:
        done = current().cluster.node(on).run(["python3", "-c", ASK])
        if done.returncode != 0:
            return done.stderr.strip()
        return ", ".join(sorted(device["owner"] for device in json.loads(done.stdout)["result"]["devices"]))

    return Observation(f"who holds devices of node {on}", look)


def rendered_files() -> Seen:
    """What scripts/render-chart says of the files that are made of the chart."""
    script = Path(REPOSITORY) / "scripts" / "render-chart"
    with step("compare what Helm makes of the chart"):
        done = finished("render-chart ends", lambda: subprocess.run(
            [str(script), "--check"], capture_output=True, text=True, check=False, timeout=HELM_SECONDS))
        if done.returncode != 0:
            raise Unexpected("files are what the chart makes", error_of(done), where())
        return Seen(done.stdout.strip(), "scripts/render-chart --check")
