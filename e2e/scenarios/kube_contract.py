"""The real API server keeps the contract that partita's client is tested against, asked as a service account."""

import json
import os
import subprocess

from testbench import programs
from testbench.scenario_bench import Unexpected, current, step, where
from testbench.verbs import apply, kubectl, namespace

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # the client is partita's: once is enough
PROGRAMS = ["nfd-api-crds.yaml"]
SECONDS = 120
NFD = "nfd.k8s-sigs.io"
ALL = "get list watch create update patch delete".split()
ACCESS = "rbac.authorization.k8s.io"


def rule(group, *resources):
    return {"apiGroups": [group], "resources": list(resources), "verbs": ALL}


def account():
    """One that may do what the contract does, and read no secret."""
    name = f"contract-{namespace()}"
    subject = {"kind": "ServiceAccount", "name": "contract", "namespace": namespace()}
    rules = [rule("", "nodes", "nodes/status", "configmaps"), rule("events.k8s.io", "events"), rule(NFD, "nodefeatures")]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "contract"}},
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": [subject],
         "roleRef": {"apiGroup": ACCESS, "kind": "ClusterRole", "name": name}},
    ]


def write_kubeconfig(cluster):
    token = kubectl("create", "token", "contract", words="make a token").strip()
    document = json.loads(kubectl("config", "view", "--raw", "--flatten", "--output=json", words="read the administrator's"))
    document["users"] = [{"name": "contract", "user": {"token": token}}]
    document["contexts"] = [{"name": "own", "context": {
        "cluster": document["clusters"][0]["name"], "user": "contract", "namespace": namespace()}}]
    document["current-context"] = "own"
    path = cluster.folder / "contract.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def run_contract(cluster, kubeconfig):
    program = cluster.build / "bin" / "partita_kube_contract"
    words = [str(program), "--gtest_filter=KubeContract.*:KubeServerContract.*", "--gtest_brief=1"]
    with step("run the contract's tests"):
        done = subprocess.run(
            cluster.control_plane.machine.enter(words, ("net", "pid")), capture_output=True, text=True, timeout=SECONDS,
            check=False, env={**os.environ, "PARTITA_CONTRACT_KUBECONFIG": str(kubeconfig)})
        if done.returncode != 0:
            raise Unexpected("the contract holds", done.stdout + done.stderr, where())


def scenario():
    cluster = current().cluster
    definitions = str(programs.file("nfd-api-crds.yaml"))
    kubectl("apply", "-f", definitions, words="define NodeFeature")
    try:
        kubectl("wait", "--for=condition=Established", f"crd/nodefeatures.{NFD}", words="wait for its definition")
        apply(*account())
        kubeconfig = write_kubeconfig(cluster)
        try:
            run_contract(cluster, kubeconfig)
        finally:
            kubeconfig.unlink()
    finally:
        kubectl("delete", "--ignore-not-found", "-f", definitions, words="remove NodeFeature")
        for kind in ("clusterrolebinding", "clusterrole"):
            kubectl("delete", "--ignore-not-found", kind, f"contract-{namespace()}", words=f"remove the {kind}")
