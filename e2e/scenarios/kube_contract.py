"""The real API server keeps the contract that partita's client is tested against, asked as a service account, and by
certificates and tokens that are exchanged."""

import contextlib
import json
import os
import shutil
import subprocess

from testbench import programs
from testbench.pki import AUTHORITY, Identity, kubeconfig_document
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
    subjects = [
        {"kind": "ServiceAccount", "name": "contract", "namespace": namespace()},
        {"kind": "Group", "name": name, "apiGroup": ACCESS},
    ]
    rules = [
        rule("", "nodes", "nodes/status", "configmaps", "serviceaccounts/token"), rule("events.k8s.io", "events"),
        rule(NFD, "nodefeatures"),
    ]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "contract"}},
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {"apiVersion": f"{ACCESS}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects,
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


@contextlib.contextmanager
def certificates(cluster):
    """A folder with those of two who may do the same, and the kubeconfig of one, whose files the tests exchange."""
    pki, folder = cluster.pki, cluster.folder / "contract"
    folder.mkdir(mode=0o700)
    try:
        shutil.copy(pki.certificate(AUTHORITY), folder / "authority.pem")
        for name in ("first", "second"):
            pki.issue(Identity(name, name, (f"contract-{namespace()}",)))
            shutil.move(pki.certificate(name), folder / f"{name}.pem")
            shutil.move(pki.key(name), folder / f"{name}.key")
        document = kubeconfig_document(folder, "client")
        document["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
        document["users"][0]["user"] = {"client-certificate": "client.pem", "client-key": "client.key"}
        document["contexts"][0]["context"]["namespace"] = namespace()
        (folder / "mutual").write_text(json.dumps(document), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder)


def run_contract(cluster, kubeconfig, exchanged):
    program = cluster.build / "bin" / "partita_kube_contract"
    names = ("KubeContract", "KubeServerContract", "KubeCertificates", "KubeTokens")
    suites = ":".join(f"{name}.*" for name in names)
    words = [str(program), f"--gtest_filter={suites}", "--gtest_brief=1"]
    places = {"PARTITA_CONTRACT_KUBECONFIG": str(kubeconfig), "PARTITA_CONTRACT_CERTIFICATES": str(exchanged)}
    with step("run the contract's tests"):
        done = subprocess.run(
            cluster.control_plane.machine.enter(words, ("net", "pid")), capture_output=True, text=True, timeout=SECONDS,
            check=False, env={**os.environ, **places})
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
            with certificates(cluster) as exchanged:
                run_contract(cluster, kubeconfig, exchanged)
        finally:
            kubeconfig.unlink()
    finally:
        kubectl("delete", "--ignore-not-found", "-f", definitions, words="remove NodeFeature")
        for kind in ("clusterrolebinding", "clusterrole"):
            kubectl("delete", "--ignore-not-found", kind, f"contract-{namespace()}", words=f"remove the {kind}")
