"""Programs in pods, and the daemons of MPS that are seen on a node."""

import io
import types
import unittest
from typing import Any
from unittest import mock

from testbench import scenario_bench, stack, verbs_mps
from testbench.scenario_bench import Bench, Progress, Unexpected
from testbench.verbs_mps import Program, begin_program, cuda_in, daemon_of, kill_process, multiprocessors_in, server_of
from testbench.verbs_test import FakeApi, done

PIPE = "/run/nvidia/mps/GPU-1/pipe/nvidia-cuda-mps-control.pid"
CHILDREN = "/proc/70/task/70/children"
DEVICE = "device 0: NVIDIA A100, 1234, 8.0, 26 multiprocessors, 40960 MiB\n"


class Mps(unittest.TestCase):
    def setUp(self) -> None:
        self.api = FakeApi()
        self.files = {PIPE: "70\n", "/proc/70/cmdline": "nvidia-cuda-mps-control\0-f\0", CHILDREN: "71 "}
        self.asked: list[tuple[str, ...]] = []
        self.answers: list[Any] = []
        node = types.SimpleNamespace(run=self.run_on_node)
        cluster = types.SimpleNamespace(
            node=lambda _: node, kubectl=self.kubectl, machines=lambda: {},
            control_plane=types.SimpleNamespace(api=self.api),
        )
        self.enterContext(scenario_bench.on(Bench(cluster, stack.Stack("own", {}), Progress(io.StringIO()), before={})))

    def run_on_node(self, command: list[str]) -> Any:
        self.asked.append(tuple(command))
        text = self.files.get(command[-1]) if command[0] == "cat" else ""
        return done(1) if text is None else done(out=text)

    def kubectl(self, *words: str, input: str | None = None) -> Any:
        self.asked.append(words)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def test_a_daemon_is_the_process_that_its_file_names(self) -> None:
        self.assertEqual(daemon_of("GPU-1", on="dgx").look(), "70")
        self.assertEqual(server_of("GPU-1", on="dgx").look(), "71")
        self.files["/proc/70/cmdline"] = "sleep\0"  # the number is another's by now
        self.assertEqual(daemon_of("GPU-1", on="dgx").look(), "")
        self.assertEqual(server_of("GPU-1", on="dgx").look(), "")
        del self.files[PIPE]
        self.assertEqual(daemon_of("GPU-1", on="dgx").look(), "")

    def test_a_kill_needs_somebody_to_kill(self) -> None:
        self.assertEqual(kill_process(daemon_of("GPU-1", on="dgx"), on="dgx"), "70")
        self.assertEqual(self.asked[-1], ("sh", "-c", "kill -9 70"))
        del self.files[PIPE]
        with self.assertRaisesRegex(Unexpected, "MPS daemon of GPU-1 on node dgx runs\n.*no process"):
            kill_process(daemon_of("GPU-1", on="dgx"), on="dgx")

    def test_another_process_is_neither_none_nor_the_old_one(self) -> None:
        seen = ["", "70", "70", "80"]
        observed = verbs_mps.Observation("daemon", lambda: seen.pop(0))
        with mock.patch("time.sleep"):
            self.assertGreaterEqual(verbs_mps.wait_for_another(observed, "70"), 0)
        self.assertEqual(seen, [])

    def test_a_program_says_a_line_for_each_step(self) -> None:
        self.answers = [done(out="init: 0 no error\n" + DEVICE)]
        self.assertEqual(cuda_in("a", "devices"), ["init: 0 no error", DEVICE.strip()])
        self.assertEqual(multiprocessors_in("a"), "26")
        self.assertIn("cuda-client devices", self.asked[-1])

    def test_a_program_that_lives_on_is_asked_to_go_on(self) -> None:
        begun = "init: 0 no error\ncontext: 0 no error\n"
        self.answers = [done(out="12\n"), done(out=begun)]
        program = begin_program("a", "works", "context", uses=1)
        self.assertEqual(program, Program("a", "works", "12"))
        self.assertRegex(self.asked[0][-1], "cuda-client context wait kernel <>/tmp/works.in >/tmp/works.out")
        kernel = begun + "kernel: 806 the server is gone\n"
        self.answers = [done(out=begun), done(), done(out=begun), done(out=kernel)]
        with mock.patch("time.sleep"):
            self.assertEqual(program.use(), "kernel: 806 the server is gone")

    def test_an_agent_is_another_when_it_is_ready(self) -> None:
        ready = {"metadata": {"name": "new"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        self.assertTrue(verbs_mps.is_ready(ready, "old"))
        self.assertFalse(verbs_mps.is_ready(ready, "new"))
        self.assertFalse(verbs_mps.is_ready({**ready, "status": {}}, "old"))
        self.assertFalse(verbs_mps.is_ready({}, "old"))

    def test_the_agents_pod_is_not_the_runners(self) -> None:
        def pod(name: str, container: str, **more: str) -> dict[str, Any]:
            return {"metadata": {"name": name, **more}, "spec": {"containers": [{"name": container}]}}

        self.api.answers["/api/v1/namespaces/partita/pods?labelSelector=partita.test/node=dgx"] = [{"items": [
            pod("runner", "mps-runner"), pod("old", "agent", deletionTimestamp="now"), pod("new", "agent"),
        ]}]
        self.assertEqual(verbs_mps.agent_pod("dgx")["metadata"]["name"], "new")


if __name__ == "__main__":
    unittest.main()
