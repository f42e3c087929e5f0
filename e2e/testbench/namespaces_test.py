"""A scenario's namespace: its name, and when it counts as ready or gone."""

import unittest
from unittest import mock

from support.shell import Failure

from testbench import namespaces
from testbench.verbs_test import FakeApi

ALL = "/api/v1/namespaces"


class Namespaces(unittest.TestCase):
    def setUp(self) -> None:
        self.api = FakeApi()
        self.enterContext(mock.patch.object(namespaces, "SECONDS", -1))

    def test_a_name_that_is_still_going_is_not_used_again(self) -> None:
        self.assertEqual(namespaces.make(self.api, "Plugin_GPUs"), "plugin-gpus")
        self.api.answers[ALL] = [{"items": [{"metadata": {"name": name}} for name in ("a", "a-2")]}]
        self.assertEqual(namespaces.make(self.api, "a"), "a-3")
        self.assertEqual(self.api.changes, [("put", f"{ALL}/plugin-gpus"), ("put", f"{ALL}/a-3")])

    def test_it_is_gone_when_its_pods_and_claims_are(self) -> None:
        pods = f"{ALL}/a/pods"
        self.api.answers[pods] = [{"items": []}]
        namespaces.remove(self.api, "a")
        claims = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims"
        self.assertEqual(self.api.changes, [("delete", f"{ALL}/a"), ("delete", pods), ("delete", claims)])
        self.api.answers[pods] = [{"items": [{}]}]
        with self.assertRaisesRegex(Failure, "pods of namespace a stay"):
            namespaces.remove(self.api, "a")

    def test_those_that_end_are_told_by_name(self) -> None:
        self.api.answers[ALL] = [{"items": [
            {"metadata": {"name": "a"}}, {"metadata": {"name": "b", "deletionTimestamp": "now"}},
        ]}]
        with self.assertRaisesRegex(Failure, "namespaces b stay"):
            namespaces.settle(self.api)


if __name__ == "__main__":
    unittest.main()
