"""What is compared before and after a scenario."""

import json
import types
import unittest

from testbench import leftovers
from testbench.verbs_test import FakeApi, FakeNode, done

RESOURCES = [
    {"name": "pods", "verbs": ["list"]}, {"name": "pods/log", "verbs": ["get"]}, {"name": "events", "verbs": ["list"]},
    {"name": "namespaces", "verbs": ["list"]},
]


def named(*names: str, **more: str) -> dict:
    return {"items": [{"metadata": {"name": name, **more}} for name in names]}


class Leftovers(unittest.TestCase):
    def setUp(self) -> None:
        self.api, self.node = FakeApi(), FakeNode("dgx", [])
        self.machine = {"clock": {"now": "1"}, "gpus": [{"index": 0, "resets": 1, "mig": None}], "faults": []}
        self.api.answers.update({
            "/apis": [{"groups": []}], "/api/v1": [{"resources": RESOURCES}],
            "/api/v1/pods": [named("a", namespace="default")], "/api/v1/namespaces": [named("default")],
            "/api/v1/nodes/dgx": [{"metadata": {"labels": {"zone": "1"}}, "status": {"allocatable": {"cpu": "4"}}}],
        })

    def take(self) -> leftovers.Traces:
        return leftovers.take(types.SimpleNamespace(
            control_plane=types.SimpleNamespace(api=self.api), nodes={"dgx": self.node},
            simulator=types.SimpleNamespace(show=lambda name: json.dumps(self.machine)),
        ))

    def test_nothing_differs_where_only_time_went_by(self) -> None:
        before = self.take()
        self.machine["clock"]["now"] = "2"
        self.machine["gpus"][0]["resets"] = 2
        self.assertEqual(leftovers.compare(before, self.take()), [])

    def test_each_thing_that_is_left_is_named(self) -> None:
        before = self.take()
        self.api.answers["/api/v1/pods"] = [named("b", namespace="default")]
        self.api.answers["/api/v1/nodes/dgx"] = [{
            "metadata": {"labels": {"zone": "2"}, "annotations": {"x": "y"}},
            "spec": {"taints": [{"key": "bad", "effect": "NoSchedule"}], "unschedulable": True},
            "status": {"allocatable": {"nvidia.com/gpu": "8", "nvidia.com/mig-1g.5gb": "0"}},
        }]
        self.machine["gpus"][0]["mig"] = {"current": True}
        self.machine["faults"] = [{"kind": "lost"}]
        self.node.answer = done(out="/var/run/cdi/x.yaml\n/var/lib/kubelet/device-plugins/kubelet.sock\n")
        self.assertEqual(leftovers.compare(before, self.take()), [
            "allocatable nvidia.com/gpu of node dgx is new: 8",
            "annotation x of node dgx is new: y",
            "faults.0.kind of node dgx's machine is new: \"lost\"",
            "file /var/run/cdi/x.yaml of node dgx is new: there",
            "gpus.0.mig of node dgx's machine is gone: null",
            "gpus.0.mig.current of node dgx's machine is new: true",
            "label zone of node dgx was 1, is 2",
            "pods default/a is gone: there",
            "pods default/b is new: there",
            "schedulability of node dgx was yes, is no",
            "taint bad of node dgx is new: :NoSchedule",
        ])

    def test_a_namespace_that_goes_with_its_objects_is_gone(self) -> None:
        before = self.take()
        self.api.answers["/api/v1/pods"] = [{"items": [
            {"metadata": {"name": "a", "namespace": "default"}}, {"metadata": {"name": "b", "namespace": "own"}},
        ]}]
        self.api.answers["/api/v1/namespaces"] = [{"items": [
            {"metadata": {"name": "default"}}, {"metadata": {"name": "own", "deletionTimestamp": "now"}},
        ]}]
        self.assertEqual(leftovers.compare(before, self.take()), [])


if __name__ == "__main__":
    unittest.main()
