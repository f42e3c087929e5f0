"""Verbs against a cluster that records what is asked of it: what they do, what they say when they fail."""

import io
import json
import subprocess
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support.shell import Failure

from testbench import programs, scenario_bench, stack, verbs, verbs_gpus
from testbench.api_client import Refused
from testbench.scenario_bench import OUTAGES, Bench, NotServed, Progress, Stage, Unexpected

POD = "/api/v1/namespaces/default/pods/a"
EVENTS = "/api/v1/events?fieldSelector=involvedObject.name=a"


def done(code: int = 0, out: str = "", err: str = "") -> subprocess.CompletedProcess:
    return subprocess.CompletedProcess([], code, out, err)


class FakeApi:
    """Answers from a list for each path, of which the last one stays; keeps what is put there."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = {}
        self.changes: list[tuple[str, str]] = []
        self.put: dict[str, Any] = {}
        self.refuses: Exception | None = None

    def put_object(self, path: str, wanted: Any) -> None:
        self._change("put", path)
        self.put[path] = wanted

    def create(self, path: str, made: Any) -> None:
        self._change("create", f"{path}/{made['metadata']['name']}")

    def delete(self, path: str, options: Any = None) -> bool:
        self._change("delete", path)
        return True

    def _change(self, verb: str, path: str) -> None:
        if self.refuses:
            raise self.refuses
        self.changes.append((verb, path))

    def object(self, path: str) -> Any:
        return json.loads(self.get(path)[1])

    def items(self, path: str, accept: str = "") -> list[Any]:
        return self.object(path).get("items", [])

    def get(self, path: str, accept: str = "") -> tuple[int, str]:
        waiting = self.answers.get(path, [{}])
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, OSError):
            raise answer
        return answer if isinstance(answer, tuple) else (200, json.dumps(answer))


class FakeControlPlane:
    def __init__(self, calls: list) -> None:
        self.api = FakeApi()
        self._calls = calls

    def stop_api_server(self) -> None:
        self._calls.append("stop API server")

    def start_api_server(self) -> None:
        self._calls.append("start API server")


VERBS = {
    "restart_kubelet", "stop_kubelet", "start_kubelet", "wait_kubelet", "start_containerd", "reboot", "cut_network",
    "restore_network", "spawn", "respawn", "stop", "kill",
}


class FakeNode:
    def __init__(self, name: str, calls: list) -> None:
        self.name = name
        self.answer = done()
        self.answers: list[subprocess.CompletedProcess] = []  # before it
        self._calls = calls

    def run(self, command: list[str], **_: Any) -> subprocess.CompletedProcess:
        self._calls.append((self.name, *command))
        return self.answers.pop(0) if self.answers else self.answer

    def __getattr__(self, verb: str):
        if verb not in VERBS:
            raise AttributeError(verb)
        return lambda *arguments: self._calls.append((self.name, verb, *arguments))


class FakeMachine:
    """A kubelet that runs, a plugin that has failed, a driver that was stopped."""

    def programs(self) -> dict[str, Any]:
        return {"kubelet": {"exit": None}, "plugin": {"exit": 1}, "driver": {"exit": -15}}

    def last_words(self, name: str, lines: int) -> str:
        return f"  the end of /logs/{name}.log:\n    no NVML"


class FakeCluster:
    name = "fake"

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.control_plane = FakeControlPlane(self.calls)
        self.answer = done()
        self._nodes: dict[str, FakeNode] = {}

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess:
        self.calls.append(("kubectl", *arguments))
        self.input = input
        return self.answer

    def machines(self) -> dict[str, Any]:
        return {}

    def node(self, name: str) -> FakeNode:
        return self._nodes.setdefault(name, FakeNode(name, self.calls))


class Verbs(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = FakeCluster()
        self.api = self.cluster.control_plane.api
        self.told = io.StringIO()
        plugin = stack.Program("plugin", lambda *_: [])
        self.enterContext(mock.patch.object(programs, "path", Path))
        parts = {"gpus": stack.Programs([plugin], frozenset({"mig"}), resources=("gpu/",))}
        self.bench = Bench(self.cluster, stack.Stack("fake", parts), Progress(self.told), before={})
        self.enterContext(scenario_bench.on(self.bench))

    def failure(self, call, *arguments: Any, **options: Any) -> Unexpected:
        with self.assertRaises(Unexpected) as caught:
            call(*arguments, **options)
        return caught.exception

    def steps(self) -> list[str]:
        return [line.split(" s ", 1)[1] for line in self.told.getvalue().splitlines()]

    def test_apply_gives_the_object_to_the_api_server_in_the_scenarios_namespace(self) -> None:
        self.bench.namespace = "own"
        verbs.apply(verbs.pod("a", on="dgx", limits={"nvidia.com/gpu": 2}))
        spec = self.api.put["/api/v1/namespaces/own/pods/a"]["spec"]
        self.assertEqual(spec["nodeSelector"], {"kubernetes.io/hostname": "dgx"})
        self.assertEqual(spec["containers"][0]["resources"]["limits"], {"nvidia.com/gpu": "2"})
        self.assertEqual(self.steps(), ["apply pod a"])

    def test_yaml_is_for_kubectl(self) -> None:
        self.bench.namespace = "own"
        verbs.apply("kind: Pod")
        self.assertEqual(self.cluster.calls, [("kubectl", "--namespace=own", "apply", "-f", "-")])
        self.assertEqual(self.cluster.input, "kind: Pod")

    def test_delete_returns_when_the_object_is_gone(self) -> None:
        self.api.answers[POD] = [{"kind": "Pod"}, {"kind": "Pod"}, (404, "")]
        verbs.delete("pod", "a")
        self.assertEqual((self.api.changes, self.api.answers[POD]), ([("delete", POD)], [(404, "")]))
        self.api.answers[POD] = [{"kind": "Pod"}]
        failure = self.failure(verbs.delete, "pod", "a", within=0)
        self.assertEqual(failure.expected, "delete pod a within 0 s")

    def test_a_refused_object_says_what_where_and_why(self) -> None:
        self.api.refuses = Refused("PATCH", POD, 403, '{"message": "pods \\"a\\" is forbidden"}')
        failure = self.failure(verbs.apply, verbs.pod("a"))
        self.assertEqual(failure.expected, "apply pod a")
        self.assertEqual(failure.seen, f'PATCH {POD}: HTTP 403: pods "a" is forbidden')
        self.assertRegex(failure.where, r"testbench/verbs_test\.py:\d+: call\(\*arguments, \*\*options\)")
        self.assertEqual(self.steps(), ["FAILED: apply pod a"])

    def test_wait_for_looks_until_the_value_is_there(self) -> None:
        phases = ["Pending", "Pending", "Running"]
        self.api.answers[POD] = [{"status": {"phase": phase}} for phase in phases]
        verbs.wait_for(verbs.phase("a"), "Running")
        self.assertEqual(self.steps(), ["wait for phase of pod a: Running"])

    def test_wait_for_survives_an_api_server_that_is_away(self) -> None:
        self.api.answers[POD] = [ConnectionRefusedError("refused"), {"status": {"phase": "Running"}}]
        verbs.wait_for(verbs.phase("a"), "Running")

    def test_wait_for_says_what_stayed_and_the_last_events(self) -> None:
        self.api.answers[POD] = [{"status": {"phase": "Pending"}}]
        self.api.answers[EVENTS] = [{"items": [{"reason": "FailedScheduling", "message": "no node fits"}]}]
        failure = self.failure(verbs.wait_for, verbs.phase("a"), "Running", within=0)
        self.assertEqual(failure.expected, "phase of pod a: Running within 0 s")
        self.assertEqual(failure.seen, "Pending; last events: FailedScheduling: no node fits")

    def test_wait_for_ends_at_once_when_nothing_can_change_any_more(self) -> None:
        self.api.answers[POD] = [{"status": {"phase": "Failed"}}]
        failure = self.failure(verbs.wait_for, verbs.phase("a"), "Running", within=3600)
        self.assertEqual(failure.seen, "Failed; no events")

    def test_wait_for_names_programs_that_ended_by_themselves(self) -> None:
        self.cluster.machines = lambda: {"dgx": FakeMachine()}
        failure = self.failure(verbs.wait_for, verbs.allocatable("nvidia.com/gpu", on="dgx"), 8, within=0)
        self.assertEqual(failure.seen, "nothing; no events; plugin on dgx has exited with status 1: no NVML")

    def test_wait_for_names_a_machine_that_is_down(self) -> None:
        down = FakeMachine()
        down.programs = mock.Mock(side_effect=Failure("dgx is not running"))
        self.cluster.machines = lambda: {"dgx": down}
        failure = self.failure(verbs.wait_for, verbs.node_ready("dgx"), "True", within=0)
        self.assertEqual(failure.seen, "nothing; no events; dgx is not running")

    def test_wait_for_says_that_an_object_is_missing(self) -> None:
        self.api.answers[POD] = [(404, '{"message": "pods \\"a\\" not found"}')]
        failure = self.failure(verbs.wait_for, verbs.phase("a"), "Running", within=0)
        self.assertEqual(failure.seen, 'HTTP 404: pods "a" not found; no events')

    def test_answers_that_are_no_objects_are_told_as_they_are(self) -> None:
        self.api.answers[POD] = self.api.answers[EVENTS] = [(429, "Too many requests\n")]
        failure = self.failure(verbs.wait_for, verbs.phase("a"), "Running", within=0)
        busy = "HTTP 429: Too many requests"
        self.assertEqual(failure.seen, f"{busy}; no events: {busy}")

    def test_an_event_without_a_message_is_told_by_its_reason(self) -> None:
        self.api.answers[EVENTS] = [{"items": [{"reason": "Pulled"}]}]
        failure = self.failure(verbs.wait_for, verbs.phase("a"), "Running", within=0)
        self.assertEqual(failure.seen, "nothing; last events: Pulled: ")

    def test_a_container_is_found_by_its_name(self) -> None:
        self.api.answers[POD] = [{"status": {"containerStatuses": [{"name": "main", "restartCount": 1}]}}]
        keys = ("status", "containerStatuses", "main", "restartCount")
        self.assertEqual(verbs.field("pod", "a", *keys).look(), "1")

    def test_wait_for_takes_a_condition_with_words(self) -> None:
        def another_boot(seen: str) -> bool:
            """other than 1"""
            return seen != "1"

        self.api.answers["/api/v1/nodes/dgx"] = [{"status": {"nodeInfo": {"bootID": "1"}}}]
        failure = self.failure(verbs.wait_for, verbs.boot_id("dgx"), another_boot, within=0)
        self.assertEqual(failure.expected, "boot id of node dgx: other than 1 within 0 s")

    def test_fields_are_found_by_keys_with_dots_and_conditions_by_type(self) -> None:
        status = {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Other", "status": "?"}, {"type": "Ready", "status": "True"}],
        }
        self.api.answers["/api/v1/nodes/dgx"] = [{"status": status}]
        self.assertEqual(verbs.allocatable("nvidia.com/gpu", on="dgx").look(), "8")
        self.assertEqual(verbs.node_ready("dgx").look(), "True")
        self.assertEqual(verbs.capacity("nvidia.com/gpu", on="dgx").look(), "")

    def test_devices_of_other_drivers_and_nodes_do_not_count_as_published(self) -> None:
        def slice_of(driver: str, node: str, devices: int) -> dict[str, Any]:
            return {"spec": {"driver": driver, "nodeName": node, "devices": [{}] * devices}}

        wanted = [slice_of("gpu", "dgx", 5), slice_of("gpu", "dgx", 3)]
        items = [*wanted, slice_of("nic", "dgx", 2), slice_of("gpu", "b", 1)]
        self.api.answers["/apis/resource.k8s.io/v1/resourceslices"] = [
            OSError("refused"), {"items": []}, {"items": items},
        ]
        shown = [verbs.published("gpu", on="dgx").look() for _ in range(3)]
        self.assertEqual(shown, ["the API server does not answer: refused", "0", "8"])

    def test_labels_are_chosen_by_the_beginning_of_their_keys(self) -> None:
        labels = {"nvidia.com/gpu.count": "8", "kubernetes.io/os": "linux"}
        self.api.answers["/api/v1/nodes/dgx"] = [{"metadata": {"labels": labels}}]
        self.assertEqual(verbs.labels("nvidia.com/", on="dgx"), {"nvidia.com/gpu.count": "8"})
        self.api.answers["/api/v1/nodes/dgx"] = [(404, '{"message": "no node"}')]
        with self.assertRaisesRegex(Failure, "labels of node dgx: HTTP 404: no node"):
            verbs.labels("nvidia.com/", on="dgx")

    def test_expect_compares_what_is_seen_now(self) -> None:
        self.api.answers["/api/v1/nodes/dgx"] = [{"status": {"allocatable": {"nvidia.com/gpu": "7"}}}]
        failure = self.failure(verbs.expect, verbs.allocatable("nvidia.com/gpu", on="dgx"), 8)
        self.assertEqual(failure.expected, "allocatable nvidia.com/gpu of node dgx: 8")
        self.assertEqual(failure.seen, "7")

    def test_expect_names_where_a_text_comes_from(self) -> None:
        self.cluster.answer = done(out="/dev/nvidia0\n")
        seen = verbs.exec_in("a", "ls /dev/nvidia0")
        failure = self.failure(verbs.expect, seen, "/dev/nvidia1")
        self.assertEqual(failure.expected, "`ls /dev/nvidia0` in pod a: /dev/nvidia1")
        verbs.expect(seen, "/dev/nvidia0")

    def test_exec_in_fails_when_the_command_does(self) -> None:
        self.cluster.answer = done(2, err="ls: /dev/x: No such file or directory")
        failure = self.failure(verbs.exec_in, "a", "ls /dev/x")
        self.assertEqual(failure.seen, "exit status 2: ls: /dev/x: No such file or directory")
        self.assertEqual(verbs.attempt_in("a", "ls /dev/x"), "ls: /dev/x: No such file or directory")

    def test_a_command_that_does_not_end_is_a_failed_step(self) -> None:
        self.cluster.kubectl = mock.Mock(side_effect=subprocess.TimeoutExpired("kubectl", 120))
        failure = self.failure(verbs.exec_in, "a", "sleep 1000")
        self.assertEqual(failure.expected, "`sleep 1000` in pod a ends")
        self.assertEqual(failure.seen, "it has not ended within 120 s")

    def test_open_in_names_the_error(self) -> None:
        for text, wanted in (
            ("sh: can't open /dev/nvidia0: No such device or address", "ENXIO"),
            ("sh: can't open /dev/nvidia1: Operation not permitted", "EPERM"),
            ("sh: something else", "sh: something else"),
        ):
            self.cluster.answer = done(2, err=text)
            self.assertEqual(verbs.open_in("a", "/dev/nvidia0"), wanted)
        self.cluster.answer = done()
        self.assertEqual(verbs.open_in("a", "/dev/null"), "opened")

    def test_what_a_scenario_leaves_stopped_is_started_again(self) -> None:
        verbs.stop("API server")
        verbs.cut_network("dgx")
        self.assertEqual(self.bench.put_back(*OUTAGES), [])
        wanted = ["stop API server", ("dgx", "cut_network"), ("dgx", "restore_network"), "start API server"]
        self.assertEqual(self.cluster.calls, wanted)

    def test_what_a_scenario_started_again_is_left_alone(self) -> None:
        verbs.stop("API server")
        verbs.start("API server")
        self.bench.put_back(*OUTAGES)
        self.assertEqual(self.cluster.calls, ["stop API server", "start API server"])

    def test_what_a_scenario_killed_is_started_again(self) -> None:
        for process, wanted in (
            ("plugin", [("respawn", "plugin")]), ("containerd", [("start_containerd",)]),
            ("kubelet", [("start_kubelet",), ("wait_kubelet",)]),
        ):
            with self.subTest(process):
                verbs.kill(process, on="dgx")
                self.cluster.calls.clear()
                self.assertEqual(self.bench.put_back(*OUTAGES), [])
                self.assertEqual(self.cluster.calls, [("dgx", *call) for call in wanted])

    def test_what_others_need_comes_back_before_them(self) -> None:
        verbs.cut_network("dgx")
        verbs.stop("API server")
        for process in ("plugin", "containerd", "kubelet"):
            verbs.kill(process, on="dgx")
        self.cluster.calls.clear()
        self.bench.put_back(*OUTAGES)
        started = [call if isinstance(call, str) else call[1] for call in self.cluster.calls]
        wanted = ["start_containerd", "start_kubelet", "wait_kubelet", "respawn"]
        self.assertEqual(started, ["restore_network", "start API server", *wanted])

    def test_nothing_is_started_twice_after_a_reboot_a_start_or_a_restart(self) -> None:
        verbs.kill("kubelet", on="dgx")
        verbs.stop("kubelet", on="mixed")
        verbs.reboot("dgx")
        verbs.restart("kubelet", on="mixed")
        verbs.kill("containerd", on="mixed")
        verbs.start("containerd", on="mixed")
        self.cluster.calls.clear()
        self.bench.put_back(*OUTAGES)
        self.assertEqual(self.cluster.calls, [])

    def test_withdraw_waits_until_the_node_offers_nothing(self) -> None:
        amounts = [{"gpu/whole": "8", "cpu": "4"}, {"gpu/whole": "0", "gpu/slice": "2"}, {"gpu/whole": "0"}]
        answers = [{"status": {"allocatable": amount}} for amount in amounts]
        self.api.answers["/api/v1/nodes/dgx"] = [*answers, {}]
        verbs.serve("gpus", on="dgx")
        verbs.withdraw("gpus", on="dgx")
        self.assertEqual(self.api.answers["/api/v1/nodes/dgx"], [{}])
        self.assertEqual(self.cluster.calls[-1], ("dgx", "stop", "plugin"))
        self.cluster.calls.clear()
        self.bench.put_back(Stage.NODE)
        self.assertEqual(self.cluster.calls, [])

    def test_who_is_dismissed_can_serve_anew_and_goes_once_at_the_end(self) -> None:
        amounts = [{"gpu/whole": "8"}, {"gpu/whole": "0"}]
        self.api.answers["/api/v1/nodes/dgx"] = [{"status": {"allocatable": amount}} for amount in amounts]
        verbs.serve("gpus", on="dgx")
        verbs.dismiss("gpus", on="dgx")
        self.assertEqual(self.api.answers["/api/v1/nodes/dgx"], [{"status": {"allocatable": amounts[1]}}])
        self.assertEqual(self.cluster.calls[-1], ("dgx", "stop", "plugin"))
        verbs.serve("gpus", on="dgx")
        self.cluster.calls.clear()
        self.bench.put_back(Stage.NODE)
        self.assertEqual(self.cluster.calls, [("dgx", "stop", "plugin")])

    def test_a_partitioned_gpu_is_made_whole_again(self) -> None:
        verbs.partition("dgx", 0, "1g.5gb:7")
        self.bench.put_back(Stage.NODE)
        command = ("dgx", "partita", "mig", "apply", "--gpu", "0", "--yes", "--want")
        forget = ("dgx", "sh", "-c", verbs_gpus.REMEMBERED)
        self.assertEqual(self.cluster.calls, [(*command, "1g.5gb:7"), (*command, "off"), forget])

    def test_a_fault_ends_with_the_scenario(self) -> None:
        node = self.cluster.node("dgx")
        verbs.fault("lost", on="dgx", gpu=2)
        node.answers = [done(out="fault 7\n"), done(), done(out='{"faults": [{"id": 7}, {"kind": "lost"}]}')]
        verbs.fault("call", "*", on="dgx", gpu=0, hang=True)
        verbs.fault("xid", 31, on="dgx", gpu=0, gi=1, ci=0)
        self.assertEqual(self.bench.put_back(Stage.NODE), [])
        self.assertEqual([" ".join(call[2:]) for call in self.cluster.calls], [
            "fault lost --gpu 2", "fault call * --gpu 0 --hang", "fault xid 31 --gpu 0 --gi 1 --ci 0",
            "fault list --output json", "fault clear 7", "fault clear --gpu 2",
        ])

    def test_a_fault_that_a_scenario_ends_is_ended_once(self) -> None:
        verbs.fault("lost", on="dgx", gpu=2).end()
        self.cluster.calls.clear()
        self.bench.put_back(Stage.NODE)
        self.assertEqual(self.cluster.calls, [])

    def test_a_workload_ends_with_the_scenario_unless_its_process_did(self) -> None:
        for left, wanted in (('[{"id": 3}]', ["workload list --output json", "workload stop 3"]),
                             ("[]", ["workload list --output json"])):
            with self.subTest(left):
                listed = [f'{{"workloads": {found}}}' for found in ("[]", '[{"id": 3}]', left)]
                self.cluster.node("dgx").answers = [
                    done(out=listed[0]), done(out="4711\n"), done(out=listed[1]), done(out=listed[2]),
                ]
                verbs.workload("dgx", gpu=1, mig="2:0", memory="1GiB")
                started = "workload start --gpu 1 --mig 2:0 --memory 1GiB --detach -- sleep 86400"
                self.assertEqual(" ".join(self.cluster.calls[1][2:]), started)
                self.cluster.calls.clear()
                self.bench.put_back(Stage.NODE)
                self.assertEqual([" ".join(call[2:]) for call in self.cluster.calls], wanted)
                self.cluster.calls.clear()

    def test_what_nvml_lists_are_slices_and_gpus_without_one(self) -> None:
        self.cluster.answer = done(out=(
            "GPU 0: NVIDIA A100 (UUID: GPU-1)\n  MIG 1g.5gb     Device  0: (UUID: MIG-3)\n"
            "  MIG 1g.5gb     Device  1: (UUID: MIG-2)\nGPU 1: NVIDIA A100 (UUID: GPU-4)\n"
        ))
        self.assertEqual(verbs.nvml_in("a"), ["GPU-4", "MIG-2", "MIG-3"])
        self.cluster.answer = done(out="No devices found.\n")
        self.failure(verbs.nvml_in, "a")

    def test_what_kubelet_gave_is_told_without_the_number_of_a_share(self) -> None:
        self.api.answers[POD] = [{"metadata": {"uid": "u"}}]
        entries = [
            {"PodUID": "u", "DeviceIDs": {"0": ["GPU-2::1", "GPU-1::0"], "1": ["GPU-2::0"]}},
            {"PodUID": "other", "DeviceIDs": {"-1": ["GPU-3"]}},
        ]
        self.cluster.node("dgx").answer = done(out=json.dumps({"Data": {"PodDeviceEntries": entries}}))
        self.assertEqual(verbs.given("a", on="dgx"), ["GPU-1", "GPU-2"])

    def test_an_unknown_thing_to_restart_is_named(self) -> None:
        with self.assertRaisesRegex(Failure, "no verb to restart 'cubelet' on a node"):
            verbs.restart("cubelet", on="dgx")

    def test_a_stack_says_what_it_serves_and_takes(self) -> None:
        with self.assertRaisesRegex(NotServed, "fake's stack does not serve 'tea'; it serves: gpus"):
            verbs.serve("tea", on="dgx")
        with self.assertRaisesRegex(NotServed, "fake's gpus have no setting colour"):
            verbs.serve("gpus", on="dgx", colour="red")
        self.assertFalse(self.bench.served)
        self.bench.put_back(Stage.NODE)
        self.assertEqual(self.cluster.calls, [], "nothing was begun")

    def test_putting_back_goes_on_after_a_failure(self) -> None:
        gone = []
        self.bench.undo_at_end("first", lambda: gone.append("first"), begin=lambda: gone.append("begun"))
        self.bench.undo_at_end("second", lambda: 1 / 0, begin=lambda: 1 / 0)
        self.assertEqual((self.bench.begin_to_put_back(), gone), (["second: division by zero"], ["begun"]))
        gone.clear()
        self.assertEqual(self.bench.put_back(Stage.NODE), ["second: division by zero"])
        self.assertEqual(gone, ["first"])


class Steps(unittest.TestCase):
    def setUp(self) -> None:
        self.out = io.StringIO()
        self.progress = Progress(self.out)

    def told(self) -> list[str]:
        return [line.split(" s ", 1)[-1] for line in self.out.getvalue().splitlines()]

    def test_only_the_outermost_step_is_told_in_one_line(self) -> None:
        with self.progress.step("first\nsecond line"), self.progress.step("inner"):
            self.progress.detail("a part of it")
        self.assertEqual(self.told(), ["first …"])

    def test_the_parts_of_a_step_are_told_when_it_fails(self) -> None:
        with self.progress.step("fine"):
            self.progress.detail("of the fine step")
        with self.assertRaises(Failure), self.progress.step("bad"):
            self.progress.detail("waiting for rain")
            raise Failure("no rain")
        self.assertEqual(self.told(), ["fine", "           waiting for rain", "FAILED: bad"])


class OutsideOfAScenario(unittest.TestCase):
    def test_verbs_say_that_no_scenario_runs(self) -> None:
        with self.assertRaisesRegex(Failure, "no scenario runs"):
            verbs.restart("kubelet", on="dgx")


if __name__ == "__main__":
    unittest.main()
