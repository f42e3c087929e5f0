import unittest
from unittest import mock

from support.shell import SetupError
from testbench import readiness
from testbench.control_plane import unfinished
from testbench.node import living, why_not_ready
from testbench.readiness import wait_for


class Clock:
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Waiting(unittest.TestCase):
    def setUp(self) -> None:
        self.said: list[str] = []
        patch = mock.patch.object(readiness, "time", Clock())
        patch.start()
        self.addCleanup(patch.stop)

    def wait(self, answers: list[str], **options) -> None:
        """The last of the answers is given for ever."""
        def missing() -> str:
            return answers.pop(0) if len(answers) > 1 else answers[0]

        settings = {"seconds": 60, "say": self.said.append, "explain": lambda: "  its log", **options}
        wait_for("the node is ready", missing, **settings)

    def test_what_is_there_is_not_waited_for(self) -> None:
        self.wait([""])
        self.assertEqual(self.said, ["the node is ready"])

    def test_what_is_missing_is_said_when_it_changes(self) -> None:
        self.wait([*["no network"] * 30, *["no runtime"] * 30, ""])
        self.assertEqual(self.said, [
            "waiting until the node is ready: no network",
            "waiting until the node is ready: no runtime",
            "the node is ready",
        ])

    def test_a_timeout_shows_the_last_state_and_the_log(self) -> None:
        with self.assertRaises(SetupError) as caught:
            self.wait(["no network"])
        self.assertEqual(
            str(caught.exception), "the node is ready: not within 60 s; last seen: no network\n  its log"
        )

    def test_nobody_waits_for_the_dead(self) -> None:
        with self.assertRaises(SetupError) as caught:
            self.wait(["no network"], dead=lambda: "kubelet has exited with status 1", seconds=1e9)
        self.assertEqual(
            str(caught.exception),
            "the node is ready: kubelet has exited with status 1; last seen: no network\n  its log",
        )


class Explanations(unittest.TestCase):
    def test_a_node(self) -> None:
        ready = {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}
        down = {"type": "Ready", "status": "False", "message": "cni plugin not initialized"}
        node = {"status": {"conditions": [ready], "nodeInfo": {"bootID": "1"}}}
        self.assertEqual(why_not_ready(None), "it has not registered itself")
        self.assertEqual(why_not_ready({}), "it has not said anything about itself")
        self.assertEqual(why_not_ready({"status": {"conditions": [down]}}), "cni plugin not initialized")
        self.assertEqual(why_not_ready(node), "")
        self.assertEqual(why_not_ready(node, boot="1"), "")
        self.assertEqual(why_not_ready(node, boot="2"), "the API server knows it from an earlier boot")

    def test_the_pods_that_a_kubelet_must_know(self) -> None:
        phases = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
        pods = [{"metadata": {"uid": phase}, "status": {"phase": phase}} for phase in phases]
        pods.append({"metadata": {"uid": "new"}, "status": {}})
        self.assertEqual(living({"items": pods}), {"Pending", "Running", "Unknown", "new"})

    def test_the_api_server(self) -> None:
        body = "[+]ping ok\n[-]etcd failed: reason withheld\n[-]a failed\n[-]b failed\n[-]c failed\n"
        self.assertEqual(unfinished(body), "not done yet: etcd, a, b and 1 more")
        self.assertEqual(unfinished("[-]etcd failed: reason withheld\n"), "not done yet: etcd")
        self.assertEqual(unfinished("Unauthorized\n"), "Unauthorized")


if __name__ == "__main__":
    unittest.main()
