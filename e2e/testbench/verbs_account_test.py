"""Rights are taken out of roles one by one, and put back."""

import types
import unittest
from unittest import mock

from testbench import verbs_account
from testbench.verbs_account import lacking, rights_in, rights_of, without

NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
EVENTS = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/partita"


class Rights(unittest.TestCase):
    def setUp(self) -> None:
        self.patches: list[list] = []
        api = types.SimpleNamespace(
            object=lambda place: {"rules": [NODES, EVENTS]} if place == ROLE else None,
            patch=lambda place, changes: self.patches.append(changes["rules"]),
        )
        self.enterContext(mock.patch.object(verbs_account, "api", lambda: api))

    def test_a_rule_is_a_right_for_each_of_its_verbs(self) -> None:
        self.assertEqual(rights_in(NODES), [("", "nodes", "list"), ("", "nodes", "watch")])
        self.assertEqual(rights_of([("clusterrole", "", "partita")]), {
            ("", "nodes", "list"): [(ROLE, 0)], ("", "nodes", "watch"): [(ROLE, 0)],
            ("events.k8s.io", "events", "create"): [(ROLE, 1)],
        })

    def test_a_rule_lacks_one_verb_and_has_one_at_least(self) -> None:
        self.assertEqual(lacking(("", "nodes", "list"), NODES)["verbs"], ["watch"])
        self.assertEqual(lacking(("", "pods", "list"), NODES), NODES)
        self.assertEqual(lacking(("events.k8s.io", "events", "create"), EVENTS)["verbs"], ["none"])

    def test_a_right_comes_back_also_after_a_failure(self) -> None:
        with self.assertRaises(KeyError), without(("", "nodes", "watch"), [(ROLE, 0)]):
            raise KeyError
        self.assertEqual([rules[0]["verbs"] for rules in self.patches], [["list"], ["list", "watch"]])


if __name__ == "__main__":
    unittest.main()
