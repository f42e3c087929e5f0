"""Kills of what serves, and what is seen of its return."""

import io
import os
import tempfile
import time
import types
import unittest
from pathlib import Path
from typing import Any

from testbench import scenario_bench, stack, verbs_kills
from testbench.scenario_bench import Bench, Progress, Unexpected
from testbench.verbs_kills import (
    NOBODYS_ANSWER, Allowed, Return, kill_server, note, noted, wait_for_return, why_not_noted,
)
from testbench.verbs_test import FakeApi, done

NODE = "/api/v1/nodes/dgx"


class Part:
    """Process 7 serves, then 8."""

    settings: frozenset[str] = frozenset()
    resources: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.served = [[7], [], [8]]

    def processes(self, _: Any) -> list[int]:
        return self.served.pop(0) if len(self.served) > 1 else self.served[0]

    def kill(self, _: Any) -> None:
        pass


class Late(unittest.TestCase):
    def test_a_return_is_late_by_kubelets_list_or_by_what_the_node_offers(self) -> None:
        allowed = Allowed(usual=2, raced=15)
        for back, told_later, late in (
            (Return(seconds=2, listed=2, raced=False), 0, False),
            (Return(seconds=2.1, listed=0.1, raced=False), 0, True),
            (Return(seconds=2.1, listed=0.1, raced=False), 2, False),
            (Return(seconds=4.1, listed=0.1, raced=False), 2, True),
            (Return(seconds=0, listed=2.1, raced=False), 2, True),
            (Return(seconds=14, listed=14, raced=True), 0, False),
            (Return(seconds=16, listed=14, raced=True), 0, True),
            (Return(seconds=0, listed=15.1, raced=True), 2, True),
        ):
            with self.subTest(back, told_later=told_later):
                self.assertEqual(allowed.late([back], told_later), [back] if late else [])


class Kills(unittest.TestCase):
    def setUp(self) -> None:
        self.log = Path(self.enterContext(tempfile.TemporaryDirectory())) / "kubelet.log"
        self.log.write_text(self.line("State pushed for device plugin", "resource", " resourceCapacity=8"))
        ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        self.machine = types.SimpleNamespace(log_path=lambda _: self.log, programs=lambda: {"kubelet": {"pid": 47}})
        self.node = types.SimpleNamespace(
            machine=self.machine, run=lambda _: done(out=f"8 (a (b) c) S {'0 ' * 18}{ticks} 0")
        )
        self.api = FakeApi()
        self.api.answers[NODE] = [{"status": {"allocatable": {"gpu": "8"}}}]
        cluster = types.SimpleNamespace(
            node=lambda _: self.node, control_plane=types.SimpleNamespace(api=self.api), machines=lambda: {}
        )
        self.part = Part()
        bench = Bench(cluster, stack.Stack("own", {"gpus": self.part}), Progress(io.StringIO()), before={})
        self.enterContext(scenario_bench.on(bench))

    def line(self, words: str, key: str = "name", more: str = "") -> str:
        at = time.time() + 1  # after any start
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(at))
        return f'I{stamp}.000000      47 client.go:97] "{words}" {key}="gpu"{more}\n'

    def tell(self, *lines: str) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.writelines(lines)

    def test_a_list_from_before_the_kill_is_no_return(self) -> None:
        self.part.served = [[7], [8]]
        killed = kill_server("gpus", on="dgx")
        with self.assertRaisesRegex(Unexpected, "gpu of node dgx: 8 within 0 s\nseen: +8; kubelet has no list"):
            wait_for_return(killed, "gpu", 8, within=0)

    def test_a_return_is_a_new_process_its_list_and_the_node(self) -> None:
        killed = kill_server("gpus", on="dgx")
        self.assertEqual((killed.processes, killed.kubelet), ([7], 47))
        ended = self.line("ListAndWatch ended unexpectedly for device plugin", "resource")
        pushed = self.line("State pushed for device plugin", "resource", " resourceCapacity=8")
        self.tell(ended, self.line("Deregistered client"), self.line("Registered client"), pushed)
        back = wait_for_return(killed, "gpu", 8)
        self.assertFalse(back.raced)
        self.assertGreaterEqual(back.listed, 0)
        self.assertEqual(wait_for_return(killed, "gpu", 8, since=time.time() + 60).seconds, 0)

    def test_kubelets_race_is_told(self) -> None:
        killed = kill_server("gpus", on="dgx")
        registered, pushed = self.line("Registered client"), self.line(
            "State pushed for device plugin", "resource", " resourceCapacity=8"
        )
        ended = self.line("ListAndWatch ended unexpectedly for device plugin", "resource")
        self.tell(registered, pushed, ended, self.line("Deregistered client"), registered, pushed)
        self.assertTrue(wait_for_return(killed, "gpu", 8).raced)

    def test_nothing_started_again_is_told(self) -> None:
        killed = verbs_kills.Kill("gpus", "dgx", [7, 8], 47, 0)
        with self.assertRaisesRegex(Unexpected, "what serves gpus on node dgx is started again\nseen: +no process"):
            wait_for_return(killed, "gpu", 8, within=0)

    def test_what_nobody_said_is_the_end_of_a_connection(self) -> None:
        why = "Allocate failed due to rpc error: code = {}, which is unexpected"
        for said in (
            "Unavailable desc = error reading from server: EOF",
            "Unavailable desc = error reading from server: read unix @->/a.sock: read: connection reset by peer",
            'Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /a.sock: no such file"',
            'Unavailable desc = closing transport due to: connection error: desc = "EOF", received prior goaway',
            "Canceled desc = grpc: the client connection is closing",
        ):
            self.assertRegex(why.format(said), NOBODYS_ANSWER)
        for said in (
            "Unavailable desc = nobody knows who holds what: the agent has not looked at this node yet",
            'Unavailable desc = invalid allocation request for "nvidia.com/gpu": the driver gives GPU-1 no index now',
            "InvalidArgument desc = unknown device: GPU-1", "Canceled desc = context canceled",
        ):
            self.assertNotRegex(why.format(said), NOBODYS_ANSWER)
        self.assertRegex("no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu", NOBODYS_ANSWER)

    def test_figures_that_were_asked_for_are_owed(self) -> None:
        bench = scenario_bench.current()
        self.assertEqual(why_not_noted("other"), "this run is without it")
        bench.stacks = ("own", "other")
        with self.assertRaisesRegex(Unexpected, "figures of the scenario with other, which this run was asked for"):
            why_not_noted("other")
        bench.red = frozenset({"other"})
        self.assertEqual(why_not_noted("other"), "NO: WITH OTHER THE SCENARIO ITSELF FAILED")

    def test_figures_are_those_of_a_stack(self) -> None:
        note("rejected", 3)
        self.assertEqual((noted("rejected", "own"), noted("rejected", "other")), (3, None))


if __name__ == "__main__":
    unittest.main()
