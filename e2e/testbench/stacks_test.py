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

from testbench import programs, stack, stack_nvidia, stacks
from testbench.scenario_bench import WrongUse
from testbench.verbs_test import FakeApi, done

ACCESS = "/apis/rbac.authorization.k8s.io/v1"
ADMIN = {
    "clusters": [{"name": "e2e", "cluster": {"server": "https://10.64.0.1:443"}}],
    "users": [{"name": "admin", "user": {"client-key-data": "secret"}}],
    "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
    "current-context": "e2e",
}


class Cluster:
    """Keeps what is applied; answers as kubectl does."""

    def __init__(self) -> None:
        self.control_plane = types.SimpleNamespace(api=FakeApi())
        self.calls: list[tuple[str, ...]] = []
        self.refuses = ""
        self.answers = {"create": "a-token\n", "config": json.dumps(ADMIN)}

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess:
        self.calls.append(arguments)
        if self.refuses:
            return done(1, err=self.refuses)
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

    def check(self, command: list[str]) -> None:
        self.calls.append(" ".join(command))


class Stacks(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for kind in ("path", "file"):
            self.enterContext(mock.patch.object(programs, kind, lambda name: Path("/bin") / name))
        self.cluster, self.node = Cluster(), Node(self.folder)
        self.api = self.cluster.control_plane.api

    def stack(self, *names: str) -> stack.Stack:
        """Every program may read pods."""
        made = [
            stack.Program(name, lambda node, settings: [f"--node={node.name}", *settings.values()],
                           rules=[stack.rule("", "pods", "get list")], environment={"A": "b"})
            for name in names
        ]
        return stack.Stack("own", {"gpus": stack.Programs(made, frozenset({"mig"}), stack_nvidia.device_classes)})

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
        role = self.api.put[f"{ACCESS}/clusterroles/one"]
        self.assertEqual(role["rules"], [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}])
        binding = self.api.put[f"{ACCESS}/clusterrolebindings/one"]
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "one", "namespace": "nvidia"}])

    def test_the_objects_of_a_part_are_there_before_its_programs(self) -> None:
        self.api.refuses = Failure("no such kind")
        with self.assertRaisesRegex(Failure, "no such kind"):
            self.stack("one").serve("gpus", self.cluster, self.node, {})
        self.assertEqual(self.node.calls, [])

    def test_a_part_ends_in_the_reverse_order_and_leaves_nothing(self) -> None:
        own = self.stack("one", "two")
        own.serve("gpus", self.cluster, self.node, {})
        made = {path for verb, path in self.api.changes if verb == "put"}
        self.node.calls.clear()
        own.withdraw("gpus", self.cluster, self.node)
        self.assertEqual(self.node.calls, ["stop two", "stop one"])
        self.assertEqual(made - {path for verb, path in self.api.changes if verb == "delete"}, set())

    def test_only_what_pods_do_not_need_to_end_begins_to_end_before_them(self) -> None:
        for resources, wanted in ((("nvidia.com/",), ["stop one"]), ((), [])):
            with self.subTest(resources):
                self.node.calls.clear()
                part = stack.Programs([stack.Program("one", lambda *_: [])], resources=resources)
                part.begin_to_withdraw(self.cluster, self.node)
                self.assertEqual(self.node.calls, wanted)

    def test_labels_that_discovery_made_go_with_it_and_no_others(self) -> None:
        labels = {"nvidia.com/gpu.count": "8", "kubernetes.io/os": "linux"}
        annotations = {"nfd.node.kubernetes.io/feature-labels": "x", "other": "y"}
        self.cluster.answers["get"] = json.dumps({"metadata": {"labels": labels, "annotations": annotations}})
        stack_nvidia.NVIDIA.withdraw("labels", self.cluster, self.node)
        self.assertEqual(self.cluster.calls[:4], [
            ("delete", "nodefeatures.nfd.k8s-sigs.io", "--namespace=nvidia",
             "--selector=nfd.node.kubernetes.io/node-name=dgx"),
            ("get", "node", "dgx", "--output=json"),
            ("label", "node", "dgx", "nvidia.com/gpu.count-"),
            ("annotate", "node", "dgx", "nfd.node.kubernetes.io/feature-labels-"),
        ])

    def test_nvidias_plugin_is_told_the_strategy_and_where_the_driver_is(self) -> None:
        stack_nvidia.NVIDIA.serve("gpus", self.cluster, self.node, {"mig": "mixed"})
        ((name, command, _),) = self.node.calls
        self.assertEqual(name, "nvidia-device-plugin")
        (file,) = [word.removeprefix("--config-file=") for word in command if word.startswith("--config-file=")]
        document = json.loads(Path(file).read_text(encoding="utf-8"))
        self.assertEqual(document, {"version": "v1", "flags": {"migStrategy": "mixed"}})
        self.assertIn("--device-list-strategy=cdi-cri", command)
        self.assertIn("--driver-root=/run/partita-sim", command)
        self.assertEqual(self.cluster.calls, [], "it needs nothing of the API server")

    def test_nvidias_plugin_in_a_pod_is_told_the_same_and_bound_to_its_node(self) -> None:
        config, daemons = stack_nvidia.plugin_pod(self.cluster, "dgx", {"replicas": 2})
        self.assertEqual(json.loads(config["data"]["config.yaml"])["version"], "v1")
        pod = daemons["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/hostname": "dgx"})
        self.assertEqual(pod["volumes"][0]["configMap"], {"name": config["metadata"]["name"]})
        process = stack_nvidia.device_plugin(self.node, {})
        changed = {word for word in pod["containers"][0]["args"] if word not in process}
        self.assertEqual(changed, {"--config-file=/config/config.yaml", "--driver-root-ctr-path=/driver-root"})

    def test_processes_of_programs_are_those_that_run(self) -> None:
        self.node.machine.programs = lambda: {"one": {"pid": 3, "exit": None}, "two": {"pid": 4, "exit": -9}}
        self.assertEqual(self.stack("one", "two", "three").part("gpus").processes(self.node), [3])

    def test_device_classes_ask_for_the_driver_first(self) -> None:
        for made in stack_nvidia.device_classes():
            (selector,) = made["spec"]["selectors"]
            self.assertTrue(selector["cel"]["expression"].startswith("device.driver == 'gpu.nvidia.com' && "))

    def test_settings_become_a_document_of_the_device_plugin(self) -> None:
        shared = [{"name": "nvidia.com/gpu", "replicas": 5}]
        for settings, wanted in (
            ({}, {"version": "v1"}),
            ({"replicas": 5}, {"version": "v1", "sharing": {"timeSlicing": {"resources": shared}}}),
            ({"mig": "single", "config": {"flags": {"passDeviceSpecs": True}}},
             {"version": "v1", "flags": {"passDeviceSpecs": True, "migStrategy": "single"}}),
        ):
            with self.subTest(settings):
                self.assertEqual(json.loads(stack.plugin_document(settings)), wanted)
        self.assertEqual(stack.plugin_document({"config": "version: v1"}), "version: v1")

    def test_stacks_are_chosen_by_commas(self) -> None:
        self.assertEqual([chosen.name for chosen in stacks.choose("nvidia,nvidia")], ["nvidia"])
        for wrong, words in (("amd", "no stack 'amd'; there are: nvidia"), (",", "no stack named; there are: nvidia")):
            with self.subTest(wrong), self.assertRaisesRegex(WrongUse, words):
                stacks.choose(wrong)


if __name__ == "__main__":
    unittest.main()
