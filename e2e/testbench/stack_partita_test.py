"""partita's stack: what is installed on which node, and with which files."""

import json
import types
import unittest
from unittest import mock

from support.shell import Failure

from testbench import stack_partita, stack_pods
from testbench.stack_partita import GPUS
from testbench.verbs_test import FakeApi, done

DEPLOYMENT = [
    {"kind": "Namespace", "metadata": {"name": "partita"}},
    {"kind": "ServiceAccount", "metadata": {"name": "partita", "namespace": "partita"}},
    {"kind": "ClusterRole", "metadata": {"name": "partita"}},
    {"kind": "RoleBinding", "metadata": {"name": "partita-events", "namespace": "default"}},
    {"kind": "ConfigMap", "metadata": {"name": "partita", "namespace": "partita"}, "data": {}},
    {"kind": "DaemonSet", "metadata": {"name": "partita", "namespace": "partita"}, "spec": {
        "selector": {"matchLabels": {"app": "partita"}},
        "template": {"metadata": {"labels": {"app": "partita"}}, "spec": {
            "containers": [{"name": "agent", "readinessProbe": {"periodSeconds": 5}}],
            "volumes": [{"name": "config", "configMap": {"name": "partita"}}],
        }},
    }},
]
PODS = "/api/v1/namespaces/partita/pods?labelSelector=partita.test/node=dgx"
READY = {"items": [{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}]}
WAITS = {"items": [{"status": {"phase": "Pending", "containerStatuses": [{"name": "agent", "state": {"waiting": {}}}]}}]}


class Partita(unittest.TestCase):
    def setUp(self) -> None:
        self.api = FakeApi()
        self.text = "\n".join(json.dumps(manifest) for manifest in DEPLOYMENT)
        self.asked: list[tuple[str, ...]] = []
        self.enterContext(mock.patch.dict(stack_partita._read, clear=True))
        self.cluster = types.SimpleNamespace(
            control_plane=types.SimpleNamespace(api=self.api), kubectl=self.kubectl
        )
        self.found = "/proc/7/exe\n/proc/9/exe\n"
        self.node = types.SimpleNamespace(name="dgx", check=mock.Mock(), run=lambda command: done(1, self.found))

    def kubectl(self, *words: str, input: str = "") -> types.SimpleNamespace:
        self.asked.append((*words, input))
        return done(out=self.text)

    def test_it_is_installed_on_the_node_that_was_asked_for(self) -> None:
        self.api.answers[PODS] = [{"items": []}, WAITS, READY]
        GPUS.serve(self.cluster, self.node, {})
        made = self.api.put["/apis/apps/v1/namespaces/partita/daemonsets/partita-dgx"]["spec"]
        self.assertEqual(made["selector"]["matchLabels"], {"app": "partita", "partita.test/node": "dgx"})
        pod = made["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/hostname": "dgx"})
        self.assertEqual(pod["volumes"][0]["configMap"], {"name": "partita-dgx"})
        self.assertEqual(pod["containers"][0]["readinessProbe"], {"periodSeconds": 1}, "a scenario waits for it")
        config = json.loads(self.api.put["/api/v1/namespaces/partita/configmaps/partita-dgx"]["data"]["config.yaml"])
        self.assertEqual(config["node"], {"hostRoot": "/host", "driverRoot": "/host/run/partita-sim"})
        self.assertNotIn("env", pod["containers"][0])

    def test_its_agent_can_be_led_to_another_api_server(self) -> None:
        self.api.answers[PODS] = [READY]
        GPUS.serve(self.cluster, self.node, {"api": ("10.64.0.1", 8443)})
        pod = self.api.put["/apis/apps/v1/namespaces/partita/daemonsets/partita-dgx"]["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["env"], [
            {"name": "KUBERNETES_SERVICE_HOST", "value": "10.64.0.1"},
            {"name": "KUBERNETES_SERVICE_PORT", "value": "8443"},
        ])

    def test_settings_are_files_beside_its_configuration(self) -> None:
        files = stack_partita.configuration({"mig": "mixed", "agent": {"health": {"xids": {"31": "reset"}}}})
        config = json.loads(files["config.yaml"])
        self.assertEqual(config["devicePlugin"], {"configFile": "/etc/partita/device-plugin.yaml"})
        self.assertEqual(config["health"], {"xids": {"31": "reset"}})
        self.assertEqual(json.loads(files["device-plugin.yaml"])["flags"], {"migStrategy": "mixed"})

    def test_it_has_a_token_where_a_scenario_says_so(self) -> None:
        for settings, wanted in (({}, None), ({"token": True}, True)):
            made = {each["kind"]: each for each in stack_partita.manifests(self.cluster, "dgx", settings)}
            pod = made["DaemonSet"]["spec"]["template"]["spec"]
            self.assertEqual(pod.get("automountServiceAccountToken"), wanted)

    def test_the_daemons_of_mps_have_a_pod_beside_the_agents(self) -> None:
        runner = json.loads(json.dumps(DEPLOYMENT[-1]))
        runner["metadata"]["name"] = "partita-mps-runner"
        del runner["spec"]["template"]["spec"]["volumes"]
        self.text += json.dumps(runner)
        self.api.answers[PODS] = [READY, {"items": READY["items"] * 2}]
        helm = mock.patch.object(stack_partita, "rendered", return_value="the chart")
        with helm as rendered:
            GPUS.serve(self.cluster, self.node, {"mps": True})
        rendered.assert_called_once_with(("mps.enabled=true", "nvidiaDriverRoot=/run/partita-sim"))
        self.assertEqual(self.asked[0][-1], "the chart")
        daemons = "/apis/apps/v1/namespaces/partita/daemonsets"
        self.assertEqual(
            [path for path in self.api.put if path.startswith(daemons)],
            [f"{daemons}/partita-dgx", f"{daemons}/partita-dgx-mps-runner"],
        )
        pod = self.api.put[f"{daemons}/partita-dgx-mps-runner"]["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/hostname": "dgx"})
        config = json.loads(self.api.put["/api/v1/namespaces/partita/configmaps/partita-dgx"]["data"]["config.yaml"])
        self.assertEqual(config["mps"], {"runner": "pod"})
        self.assertEqual(self.api.answers[PODS], [{"items": READY["items"] * 2}], "it waits for both")

    def test_what_runs_the_daemons_does_not_serve(self) -> None:
        asked = mock.Mock(return_value=done(out=self.found))
        self.node.run = asked
        self.assertEqual(GPUS.processes(self.node), [7, 9])
        self.assertEqual(
            asked.call_args[0][0][-8:], ["!", "-execdir", "grep", "-qsz", "^mps-runner", "cmdline", ";", "-print"]
        )

    def test_a_pod_that_does_not_get_ready_is_told_with_its_log(self) -> None:
        self.api.answers[PODS] = [WAITS]
        with mock.patch.object(stack_pods, "READY_SECONDS", -1), self.assertRaisesRegex(
            Failure, "partita's pod on node dgx is not ready .*Pending; agent: {\"waiting\": {}}"
        ):
            GPUS.serve(self.cluster, self.node, {})

    def test_its_end_alone_leaves_what_it_wrote(self) -> None:
        GPUS.end(self.cluster, self.node)
        daemons = "/apis/apps/v1/namespaces/partita/daemonsets"
        gone = [path for verb, path in self.api.changes if verb == "delete"]
        self.assertEqual(gone, [f"{daemons}/partita-dgx", f"{daemons}/partita-dgx-mps-runner"])
        self.node.check.assert_not_called()

    def test_it_leaves_nothing(self) -> None:
        GPUS.withdraw(self.cluster, self.node)
        gone = [path for verb, path in self.api.changes if verb == "delete"]
        core = "/api/v1/namespaces/partita"
        access = "/apis/rbac.authorization.k8s.io/v1"
        daemons = "/apis/apps/v1/namespaces/partita/daemonsets"
        self.assertEqual(gone, [
            f"{daemons}/partita-dgx", f"{daemons}/partita-dgx-mps-runner", f"{core}/configmaps/partita-dgx",
            f"{access}/namespaces/default/rolebindings/partita-events", f"{access}/clusterroles/partita",
            f"{core}/serviceaccounts/partita",
        ])
        self.assertIn("rm -rf /run/partita/*", self.node.check.call_args[0][0][2])
        self.assertEqual(self.asked[-1][:3], ("apply", "--server-side", "--field-manager=partita-labels"))
        self.assertEqual(json.loads(self.asked[-1][-1])["metadata"], {"name": "dgx"}, "no label of ours")

    def test_kill_goes_to_every_process_of_it(self) -> None:
        GPUS.kill(self.node)
        self.assertEqual(self.node.check.call_args[0][0], ["kill", "-9", "7", "9"])
        self.found = ""
        with (
            mock.patch.object(stack_pods, "READY_SECONDS", -1),
            self.assertRaisesRegex(Failure, "/usr/bin/partita does not run on node dgx"),
        ):
            GPUS.kill(self.node)

    def test_the_image_that_is_deployed_is_the_one_that_is_made(self) -> None:
        text = stack_partita.DEPLOYMENT.read_text(encoding="utf-8")
        root = stack_partita.REPOSITORY
        version = next(
            line.split()[2] for line in (root / "CMakeLists.txt").read_text(encoding="utf-8").splitlines()
            if line.startswith("project(")
        )
        wanted = f"image: partita.dev/partita:{version}"
        self.assertEqual(text.count("image: "), text.count(wanted), f"every image is to be {wanted}")
        self.assertEqual(text.count(wanted), 2)


if __name__ == "__main__":
    unittest.main()
