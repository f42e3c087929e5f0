"""A stack's programs: their command lines, their accounts, their ends."""

import json
import subprocess
import tempfile
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support.shell import Failure

from testbench import programs, stacks
from testbench.verbs_test import done

ADMIN = {
    "clusters": [{"name": "e2e", "cluster": {"server": "https://10.64.0.1:443"}}],
    "users": [{"name": "admin", "user": {"client-key-data": "secret"}}],
    "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
    "current-context": "e2e",
}


class Cluster:
    """Keeps what is applied; answers as kubectl does."""

    def __init__(self) -> None:
        self.applied: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, ...]] = []
        self.refuses = ""
        self.answers = {"create": "a-token\n", "config": json.dumps(ADMIN)}

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess:
        self.calls.append(arguments)
        if self.refuses:
            return done(1, err=self.refuses)
        if input:
            manifest = json.loads(input)
            self.applied[f"{manifest['kind']} {manifest['metadata']['name']}"] = manifest
        return done(out=self.answers.get(arguments[0], ""))


class Node:
    name = "dgx"

    def __init__(self, folder: Path) -> None:
        self.machine = types.SimpleNamespace(folder=folder)
        self.calls: list[Any] = []

    def spawn(self, name: str, command: list[str], env: dict[str, str]) -> None:
        self.calls.append((name, command, env))

    def stop(self, name: str) -> None:
        self.calls.append(f"stop {name}")


class Stacks(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(programs, "path", lambda name: Path("/bin") / name))
        self.cluster, self.node = Cluster(), Node(self.folder)

    def stack(self, *names: str) -> stacks.Stack:
        """Every program may read pods."""
        made = [
            stacks.Program(name, lambda node, settings: [f"--node={node.name}", *settings.values()],
                           rules=[stacks.rule("", "pods", "get list")], environment={"A": "b"})
            for name in names
        ]
        return stacks.Stack("own", {"gpus": stacks.Part(made, frozenset({"mig"}), stacks.device_classes)})

    def test_a_program_gets_its_settings_its_environment_and_its_access(self) -> None:
        self.stack("one").serve("gpus", self.cluster, self.node, {"mig": "mixed"})
        file = self.folder / "one.kubeconfig"
        command = ["/bin/one", "--node=dgx", "mixed", f"--kubeconfig={file}"]
        self.assertEqual(self.node.calls, [("one", command, {"A": "b"})])

    def test_its_access_is_that_of_an_account_of_its_own(self) -> None:
        self.stack("one").serve("gpus", self.cluster, self.node, {})
        config = json.loads((self.folder / "one.kubeconfig").read_text(encoding="utf-8"))
        self.assertEqual(config["users"], [{"name": "one", "user": {"token": "a-token"}}])
        self.assertEqual(config["clusters"], ADMIN["clusters"])
        self.assertNotIn("secret", json.dumps(config))
        role = self.cluster.applied["ClusterRole one"]
        self.assertEqual(role["rules"], [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}])
        binding = self.cluster.applied["ClusterRoleBinding one"]
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "one", "namespace": "nvidia"}])

    def test_the_objects_of_a_part_are_there_before_its_programs(self) -> None:
        self.cluster.refuses = "no such kind"
        with self.assertRaisesRegex(Failure, "kubectl: no such kind"):
            self.stack("one").serve("gpus", self.cluster, self.node, {})
        self.assertEqual(self.node.calls, [])

    def test_a_part_ends_in_the_reverse_order(self) -> None:
        self.stack("one", "two").withdraw("gpus", self.cluster, self.node)
        self.assertEqual(self.node.calls, ["stop two", "stop one"])

    def test_labels_that_discovery_made_go_with_it_and_no_others(self) -> None:
        labels = {"nvidia.com/gpu.count": "8", "kubernetes.io/os": "linux"}
        annotations = {"nfd.node.kubernetes.io/feature-labels": "x", "other": "y"}
        self.cluster.answers["get"] = json.dumps({"metadata": {"labels": labels, "annotations": annotations}})
        stacks.NVIDIA.withdraw("labels", self.cluster, self.node)
        self.assertEqual(self.cluster.calls, [
            ("delete", "nodefeatures.nfd.k8s-sigs.io", "--namespace=nvidia",
             "--selector=nfd.node.kubernetes.io/node-name=dgx"),
            ("get", "node", "dgx", "--output=json"),
            ("label", "node", "dgx", "nvidia.com/gpu.count-"),
            ("annotate", "node", "dgx", "nfd.node.kubernetes.io/feature-labels-"),
        ])

    def test_nvidias_plugin_is_told_the_strategy_and_where_the_driver_is(self) -> None:
        stacks.NVIDIA.serve("gpus", self.cluster, self.node, {"mig": "mixed"})
        ((name, command, _),) = self.node.calls
        self.assertEqual(name, "nvidia-device-plugin")
        self.assertIn("--mig-strategy=mixed", command)
        self.assertIn("--device-list-strategy=cdi-cri", command)
        self.assertIn("--driver-root=/run/partita-sim", command)
        self.assertEqual(self.cluster.calls, [], "it needs nothing of the API server")

    def test_device_classes_ask_for_the_driver_first(self) -> None:
        for made in stacks.device_classes():
            (selector,) = made["spec"]["selectors"]
            self.assertTrue(selector["cel"]["expression"].startswith("device.driver == 'gpu.nvidia.com' && "))


if __name__ == "__main__":
    unittest.main()
