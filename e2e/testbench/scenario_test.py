"""Finding, grouping and running scenarios, with clusters that only say that they were started."""

import contextlib
import io
import os
import signal
import tempfile
import textwrap
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from support.shell import Failure, SetupError

from testbench import lanes, leftovers, namespaces, scenario, scenario_session, stack, stacks
from testbench.scenario import Options
from testbench.scenario_bench import Stage
from testbench.verbs_test import FakeCluster


class StartedCluster(FakeCluster):
    """Leaves a file behind when told to."""

    def __init__(self, name: str, nodes: dict[str, str], life: list, leaves: str = "") -> None:
        super().__init__()
        self.name, self.profiles, self._life, self._leaves = name, nodes, life, leaves

    nodes: dict[str, Any] = {}

    kubeconfig = "/its/kubeconfig"

    def start(self) -> None:
        self._life.append("start " + " ".join(self.profiles))

    def stop(self) -> None:
        self._life.append("stop " + " ".join(self.profiles))
        if self._leaves:
            Path(self._leaves.format(name=self.name)).touch()


class ScenarioFiles(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.life: list[str] = []
        self.leaves = ""
        self.told = io.StringIO()
        self.traces = self.enterContext(mock.patch.object(leftovers, "take", lambda cluster: {}))
        for name in ("make", "ensure", "remove", "settle"):
            self.enterContext(mock.patch.object(namespaces, name, getattr(self, f"namespace_{name}")))
        self.namespaces: list[str] = []

    def namespace_make(self, _: Any, wanted: str) -> str:
        self.namespaces.append(f"make {wanted}")
        return wanted

    def namespace_ensure(self, _: Any, name: str) -> None:
        pass

    def namespace_remove(self, _: Any, name: str) -> None:
        self.namespaces.append(f"remove {name}")

    def namespace_settle(self, _: Any) -> None:
        self.namespaces.append("settle")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def simple(self, name: str, nodes: dict[str, str], body: str = "pass") -> Path:
        return self.write(f"{name}.py", f'"""Does {name}."""\nNODES = {nodes}\ndef scenario():\n    {body}\n')

    def run_all(self, *paths: Path, **options: Any) -> int:
        def make(name: str, nodes: dict[str, str], _: Callable[[str], None]) -> StartedCluster:
            return StartedCluster(name, nodes, self.life, self.leaves)

        with contextlib.redirect_stdout(self.told):
            settings = Options(make, failures=self.folder / "failed", **options)
            return scenario.run(list(paths), settings)

    # ---- finding ----

    def test_a_scenario_has_name_title_and_nodes(self) -> None:
        path = self.write("two_nodes.py", '''\
            """A pod on each of two nodes.

            More words.
            """
            NODES = {"dgx": "dgx-a100-40"}
            def scenario():
                pass
            ''')
        found = scenario.load(path)
        self.assertEqual((found.name, found.title), ("two-nodes", "A pod on each of two nodes."))
        self.assertEqual(found.nodes, {"dgx": "dgx-a100-40"})

    def test_a_file_that_is_no_scenario_says_what_is_missing(self) -> None:
        for text, words in (
            ("def scenario(): pass", "no docstring; its first line is the scenario's title"),
            ('"""T."""', r"no function scenario\(\), which says what is done and seen"),
            ('"""T."""\nNODES = ["a"]\ndef scenario(): pass', "NODES is not of the form"),
            ('"""T."""\nimport nowhere', r"cannot be read as a scenario: ModuleNotFoundError"),
        ):
            with self.subTest(text), self.assertRaisesRegex(SetupError, words):
                scenario.load(self.write("x.py", text))

    def test_names_are_chosen_by_a_part_of_them(self) -> None:
        for name in ("pod_one", "pod_two", "node"):
            self.simple(name, {})
        chosen = [found.name for found in scenario.find([self.folder], ("pod", "two"))]
        self.assertEqual(chosen, ["pod-one", "pod-two"])
        self.assertEqual(len(scenario.find([self.folder])), 3)

    def test_an_unknown_name_lists_those_that_there_are(self) -> None:
        paths = [self.simple("b", {}), self.simple("a", {})]
        with self.assertRaisesRegex(SetupError, "no scenario has 'c' in its name; there are: b, a"):
            scenario.find(paths, ("c",))

    def test_scenarios_share_a_cluster_where_their_nodes_agree(self) -> None:
        made = [
            scenario.Scenario(name, name, nodes, lambda: None)
            for name, nodes in (
                ("alone", {}), ("a", {"dgx": "dgx-a100-40"}), ("b", {"dgx": "hgx-h200"}),
                ("c", {"dgx": "dgx-a100-40", "lab": "mixed"}),
            )
        ]
        found = [(nodes, [s.name for s in members]) for nodes, members in scenario.groups(made)]
        self.assertEqual(found, [
            ({"dgx": "dgx-a100-40", "lab": "mixed"}, ["a", "c"]),
            ({"dgx": "hgx-h200"}, ["b"]),
            ({}, ["alone"]),
        ])

    # ---- running ----

    def test_a_cluster_is_shared_and_cleaned_between_scenarios(self) -> None:
        paths = [self.simple("a", {"x": "p"}), self.simple("b", {"x": "p"})]
        self.assertEqual(self.run_all(*paths), scenario.OK)
        self.assertEqual(self.life, ["start x", "stop x"])
        self.assertIn("3 passed, 0 failed", self.told.getvalue())

    def test_after_a_failure_the_rest_gets_a_fresh_cluster(self) -> None:
        failing = self.simple("a", {"x": "p"}, "from testbench.verbs import expect; expect(1, 2, 'sum')")
        self.assertEqual(self.run_all(failing, self.simple("b", {"x": "p"})), scenario.FAILED)
        self.assertEqual(self.life, ["start x", "stop x", "start x", "stop x"])
        text = self.told.getvalue()
        self.assertIn("    expected: sum: 2\n    seen:     1\n    at:       ", text)
        self.assertRegex(text, r"a\.py:4: from testbench\.verbs import expect; expect\(1, 2, 'sum'\)")
        self.assertRegex(text, r"the state of everything: .*/failed/.*-a\n")
        self.assertRegex(text, r"FAIL a +\d.*\nok +stop-x.*\nok +b ")

    def test_a_defect_of_a_scenario_fails_it_with_its_trace(self) -> None:
        self.assertEqual(self.run_all(self.simple("a", {}, "1 / 0")), scenario.FAILED)
        self.assertIn("ZeroDivisionError", self.told.getvalue())

    def test_a_namespace_that_stays_fails_the_scenario_that_made_it(self) -> None:
        stays = mock.Mock(side_effect=Failure("pods of namespace a stay"))
        with mock.patch.object(namespaces, "remove", stays):
            self.assertEqual(self.run_all(self.simple("a", {"x": "p"})), scenario.FAILED)
        self.assertIn("not put back: pods of namespace a stay", self.told.getvalue())

    def test_a_scenario_has_a_namespace_of_its_own(self) -> None:
        body = "from testbench.verbs import expect, namespace; expect(namespace(), 'b')"
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"}), self.simple("b", {"x": "p"}, body)), scenario.OK)
        self.assertEqual(self.namespaces, ["make a", "remove a", "make b", "remove b", "settle"])

    def test_what_differs_from_the_beginning_fails_the_scenario_and_the_cluster_is_not_used_again(self) -> None:
        states = iter([{}, {"label a of node x": "1"}, {}, {}])
        with (
            mock.patch.object(leftovers, "take", lambda cluster: next(states)),
            mock.patch.object(scenario_session, "SETTLE_SECONDS", -1),
        ):
            paths = [self.simple(name, {"x": "p"}) for name in ("a", "b")]
            self.assertEqual(self.run_all(*paths), scenario.FAILED)
        self.assertIn("not put back: label a of node x is new: 1", self.told.getvalue())
        self.assertEqual(self.life, ["start x", "stop x", "start x", "stop x"])

    def test_what_settles_in_time_is_no_difference(self) -> None:
        states = iter([{}, {"allocatable gpu of node x": "8"}, {}])
        with mock.patch.object(leftovers, "take", lambda cluster: next(states)):
            self.assertEqual(self.run_all(self.simple("a", {"x": "p"})), scenario.OK)

    # ---- stacks ----

    def two_stacks(self) -> None:
        plugin = stack.Programs([])
        one, two = stack.Stack("one", {"gpus": plugin, "claims": plugin}), stack.Stack("two", {"gpus": plugin})
        both = {"one": one, "two": two}
        self.enterContext(mock.patch.object(stacks, "STACKS", both))

    def test_a_scenario_runs_with_every_stack_that_serves_it(self) -> None:
        self.two_stacks()
        body = "from testbench.verbs import serve; serve('gpus', on='x')"
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body), stack="one,two"), scenario.OK)
        told = r"ok +a \(one\) .*\nok +a \(two\) .*\nok +stop-x .*\n3 passed, 0 failed in"
        self.assertRegex(self.told.getvalue(), told)
        self.assertEqual(self.life, ["start x", "stop x"])

    def test_a_scenario_that_no_stack_serves_runs_once(self) -> None:
        self.two_stacks()
        self.run_all(self.simple("a", {"x": "p"}), stack="one,two")
        self.assertRegex(self.told.getvalue(), r"\nok +a +\d.*\nok +stop-x .*\n2 passed, 0 failed in")

    def test_what_a_stack_does_not_serve_is_told_apart_from_failures(self) -> None:
        self.two_stacks()
        body = "from testbench.verbs import serve; serve('claims', on='x')"
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body), stack="one,two"), scenario.OK)
        text = self.told.getvalue()
        self.assertRegex(text, r"-    a \(two\) .* not served: two's stack does not serve 'claims'; it serves: gpus")
        self.assertIn("2 passed, 0 failed, 1 not served by its stack in", text)

    def test_a_scenario_can_name_the_stacks_that_can_do_it(self) -> None:
        self.two_stacks()
        path = self.write("a.py", '"""T."""\nNODES = {"x": "p"}\nSTACKS = ["two"]\ndef scenario():\n    1 / 0\n')
        self.assertEqual(self.run_all(path, stack="one"), scenario.OK)
        self.assertRegex(self.told.getvalue(), r"- +a +0\.0 s  not served: it needs two")
        self.assertEqual(self.life, [], "no cluster for nothing")

    # ---- limits ----

    def test_a_scenario_that_takes_too_long_fails_at_its_line(self) -> None:
        path = self.write("a.py", '"""T."""\nLIMIT = 0.05\nimport time\ndef scenario():\n    time.sleep(600)\n')
        self.assertEqual(self.run_all(path), scenario.FAILED)
        text = self.told.getvalue()
        self.assertIn("expected: a ends within the 0 s that it may take\n    seen:     it goes on\n", text)
        self.assertRegex(text, r"at: .*a\.py:5: time\.sleep\(600\)")

    def test_after_the_limit_of_all_nothing_more_runs(self) -> None:
        slow = self.simple("a", {"x": "p"}, "import time; time.sleep(600)")
        self.assertEqual(self.run_all(slow, self.simple("b", {"x": "p"}), limit=0.05, stack="nvidia"), scenario.FAILED)
        text = self.told.getvalue()
        self.assertRegex(text, r"FAIL a .*\n.*\n- +b +0\.0 s  not run: the limit of 0\.05 s is over")
        self.assertIn("1 passed, 1 failed, 1 not run in", text)
        self.assertEqual(self.life, ["start x", "stop x"])

    def test_fail_fast_ends_with_the_first_failure(self) -> None:
        paths = [self.simple("a", {"x": "p"}, "1 / 0"), self.simple("b", {"x": "p"}), self.simple("c", {"x": "q"})]
        self.assertEqual(self.run_all(*paths, fail_fast=True), scenario.FAILED)
        self.assertRegex(self.told.getvalue(), r"- +b .*not run: another failed before it\n- +c ")
        self.assertEqual(self.life, ["start x", "stop x"])

    def test_what_is_red_once_runs_again_on_a_fresh_cluster_and_is_told(self) -> None:
        mark = self.folder / "been-here"
        body = f"import pathlib; p = pathlib.Path({str(mark)!r}); seen = p.exists(); p.touch(); 1 / seen"
        paths = [self.simple("a", {"x": "p"}, body), self.simple("b", {"x": "p"})]
        self.assertEqual(self.run_all(*paths, again=1, stack="nvidia"), scenario.OK)
        text = self.told.getvalue()
        self.assertRegex(text, r"ok +b .*\nok +a +[0-9.]+ s  UNSTEADY: red, and then green")
        self.assertRegex(text, r"\n4 passed, 0 failed in")
        self.assertEqual(self.life, ["start x", "stop x"] * 2)

    def test_what_is_red_twice_fails(self) -> None:
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, "1 / 0"), again=2, stack="nvidia"), scenario.FAILED)
        self.assertRegex(self.told.getvalue(), r"FAIL a [^U]*\n")

    def test_no_more_run_again_than_may(self) -> None:
        paths = [self.simple(name, {"x": "p"}, "1 / 0") for name in "ab"]
        self.assertEqual(self.run_all(*paths, again=1, stack="nvidia"), scenario.FAILED)
        self.assertRegex(self.told.getvalue(), r"[0-9] passed, 2 failed in")
        self.assertEqual(self.told.getvalue().count("run once more"), 1)

    def test_a_stop_that_leaves_something_fails_and_names_it(self) -> None:
        self.leaves = f"{tempfile.gettempdir()}/{{name}}-left"
        scenario_seconds, scenario_session.STOP_SECONDS = scenario_session.STOP_SECONDS, 0
        self.addCleanup(setattr, scenario_session, "STOP_SECONDS", scenario_seconds)
        path = self.leaves.format(name=f"e2e-{os.getpid()}-0")
        self.addCleanup(os.unlink, path)
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"})), scenario.FAILED)
        self.assertIn(f"file {path}", self.told.getvalue())
        self.assertRegex(self.told.getvalue(), r"ok +a .*\nFAIL stop-x")

    def test_a_cluster_of_its_own_is_stopped_although_the_scenario_fails(self) -> None:
        body = "from testbench.verbs import cluster_of\n    with cluster_of({'y': 'p'}): 1 / 0"
        self.assertEqual(self.run_all(self.simple("a", {}, body)), scenario.FAILED)
        self.assertEqual(self.life, ["start y", "stop y"])
        self.assertIn("the state of everything: ", self.told.getvalue())

    def test_ctrl_c_stops_the_cluster_and_what_is_left_of_the_run(self) -> None:
        paths = [self.simple("a", {"x": "p"}, "raise KeyboardInterrupt"), self.simple("b", {"x": "p"})]
        with self.assertRaises(KeyboardInterrupt):
            self.run_all(*paths)
        self.assertEqual(self.life, ["start x", "stop x"])

    def test_ctrl_c_ends_what_a_scenario_without_a_cluster_has_started(self) -> None:
        mark = self.folder / "ended"
        body = (
            "from testbench.scenario_bench import Stage, current; import pathlib\n"
            f"    current().undo_at_end('x', pathlib.Path({str(mark)!r}).touch, Stage.MACHINE)\n"
            "    raise KeyboardInterrupt"
        )
        with self.assertRaises(KeyboardInterrupt):
            self.run_all(self.simple("a", {}, body))
        self.assertTrue(mark.exists())

    def test_every_signal_that_asks_for_the_end_stops_the_cluster(self) -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with self.subTest(name):
                self.life.clear()
                body = f"import os, signal; os.kill(os.getpid(), signal.{name})"
                self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body)), scenario.FAILED)
                self.assertEqual(self.life, ["start x", "stop x"])
                self.assertIn(f"ended by {name}\n", self.told.getvalue())

    def test_a_second_signal_does_not_break_the_clean_up(self) -> None:
        original = StartedCluster.stop

        def stop(cluster: StartedCluster) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            original(cluster)

        body = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
        handlers = [signal.getsignal(number) for number in scenario.ENDING]
        with mock.patch.object(StartedCluster, "stop", stop):
            self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body)), scenario.FAILED)
        self.assertEqual(self.life, ["start x", "stop x"])
        self.assertEqual([signal.getsignal(number) for number in scenario.ENDING], handlers)

    def test_after_a_failure_what_outlives_the_cluster_is_ended_and_nothing_else_undone(self) -> None:
        body = (
            "from testbench.scenario_bench import Stage, current; import pathlib\n"
            f"    folder = pathlib.Path({str(self.folder)!r})\n"
            "    for stage in Stage: current().undo_at_end('x', (folder / stage.name).touch, stage)\n"
            "    1 / 0"
        )
        self.run_all(self.simple("a", {"x": "p"}, body))
        self.assertEqual([stage.name for stage in Stage if (self.folder / stage.name).exists()], ["MACHINE"])

    def test_outages_end_first_then_pods_go_then_what_served_them(self) -> None:
        body = (
            "from testbench.scenario_bench import Stage, current\n"
            "    calls = current().cluster.control_plane.api.calls = current().cluster.calls\n"
            "    begin = lambda: calls.append('begin to withdraw')\n"
            "    current().undo_at_end('serve', lambda: calls.append('withdraw'), begin=begin)\n"
            "    current().undo_at_end('stop', lambda: calls.append('start'), Stage.KUBELET)\n"
        )
        calls: list[str] = []
        removed = mock.patch.object(namespaces, "remove", lambda api, _: api.calls.append("remove namespace"))
        with removed, mock.patch.object(StartedCluster, "stop", lambda cluster: calls.extend(cluster.calls)):
            self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body)), scenario.OK)
        self.assertEqual(calls, ["start", "begin to withdraw", "remove namespace", "withdraw"])

    def test_a_failed_cluster_is_kept_until_ctrl_c_when_asked_for(self) -> None:
        def pause() -> None:
            self.life.append("pause")
            raise KeyboardInterrupt

        with mock.patch.object(scenario_session.signal, "pause", pause):
            self.run_all(self.simple("a", {"x": "p"}, "1 / 0"), keep=True)
        self.assertEqual(self.life, ["start x", "pause", "stop x"])
        self.assertRegex(self.told.getvalue(), r"kept as it is: e2e-\d+-0; see `e2e/e2e list`")

    def test_a_failed_cluster_of_its_own_is_told_once_and_kept_too(self) -> None:
        body = "from testbench.verbs import cluster_of\n    with cluster_of({'y': 'p'}): 1 / 0"
        with mock.patch.object(scenario_session.signal, "pause", lambda: self.life.append("pause")):
            self.run_all(self.simple("a", {}, body), keep=True)
        self.assertEqual(self.life, ["start y", "pause", "stop y"])
        self.assertEqual(self.told.getvalue().count("ZeroDivisionError"), 1)

    def test_what_belongs_to_an_ended_cluster_is_not_put_back(self) -> None:
        body = (
            "from testbench.verbs import cluster_of, partition\n"
            "    with cluster_of({'y': 'p'}): partition('y', 0, '7g.40gb')"
        )
        self.assertEqual(self.run_all(self.simple("a", {}, body)), scenario.OK)
        self.assertNotIn("not put back", self.told.getvalue())

    def test_the_logs_of_a_failed_harness_are_collected(self) -> None:
        logs = self.folder / "own" / "nodes" / "dgx" / "logs"
        logs.mkdir(parents=True)
        (logs / "kubelet.log").write_text("last words", encoding="utf-8")
        body = "from testbench.scenario_bench import current\n    current().harnesses.append('own'); 1 / 0"
        folder = mock.Mock(folder=self.folder / "own")
        with mock.patch.object(scenario_session, "StateFolder", lambda name: folder):
            self.run_all(self.simple("a", {}, body))
        (found,) = (self.folder / "failed").glob("*-a/own/dgx/logs/kubelet.log")
        self.assertEqual(found.read_text(encoding="utf-8").strip(), "last words")

    def test_figures_reach_the_same_scenario_with_the_next_stack_and_are_told(self) -> None:
        path = self.write("a.py", '''\
            """Counts."""
            from testbench.scenario_bench import current
            from testbench.verbs import note, noted, served_by
            NODES = {"dgx": "dgx-a100-40"}
            def scenario():
                current().served = True
                note("theirs", noted("count", "nvidia"))
                note("count", len(served_by()))
            ''')
        self.assertEqual(self.run_all(path), 0, self.told.getvalue())
        self.assertRegex(
            self.told.getvalue(),
            r"figures of a \(nvidia\): theirs: None; count: 6\nfigures of a \(partita\): theirs: 6; count: 7\n",
        )

    def test_a_scenario_knows_with_which_stacks_it_is_to_run_and_with_which_it_failed(self) -> None:
        path = self.write("a.py", '''\
            """Fails with the first."""
            from testbench.scenario_bench import current
            from testbench.verbs import note, served_by
            NODES = {"dgx": "dgx-a100-40"}
            def scenario():
                current().served = True
                note("known", f"{','.join(current().stacks)} {','.join(current().red)}.")
                assert served_by() == "partita"
            ''')
        self.assertEqual(self.run_all(path), 1)
        self.assertRegex(
            self.told.getvalue(),
            r"a \(nvidia\): known: nvidia,partita \.\nfigures of a \(partita\): known: nvidia,partita nvidia\.\n",
        )

    # ---- lanes ----

    def noted(self) -> list[str]:
        """What scenarios of several processes wrote down."""
        return sorted((self.folder / "noted").read_text(encoding="utf-8").split())

    def noting(self, name: str, more: str = "pass") -> Path:
        path = str(self.folder / "noted")
        return self.simple(name, {"x": "p"}, f"print('{name}', file=open({path!r}, 'a'))\n    {more}")

    def test_two_lanes_run_each_scenario_once_and_tell_of_one_run(self) -> None:
        paths = [self.noting(name) for name in "abcdefgh"]
        self.assertEqual(self.run_all(*paths, lanes=2, stack="nvidia"), scenario.OK, self.told.getvalue())
        self.assertEqual(self.noted(), list("abcdefgh"))
        text = self.told.getvalue()
        self.assertRegex(text, r"\n[12]\| ok a\n")
        self.assertRegex(text, r"\n(9|10) passed, 0 failed in")  # the stop of each cluster that was raised counts too

    def test_a_scenario_without_a_cluster_waits_for_the_lanes(self) -> None:
        body = f"import pathlib; assert len(pathlib.Path({str(self.folder / 'noted')!r}).read_text().split()) == 2"
        paths = [self.simple("alone", {}, body), self.noting("a"), self.noting("b")]
        self.assertEqual(self.run_all(*paths, lanes=2, stack="nvidia"), scenario.OK, self.told.getvalue())

    def test_a_failure_in_a_lane_is_the_runs(self) -> None:
        paths = [self.noting("a", "1 / 0"), self.noting("b")]
        self.assertEqual(self.run_all(*paths, lanes=2, stack="nvidia"), scenario.FAILED)
        self.assertRegex(self.told.getvalue(), r"[12]\| .*ZeroDivisionError")
        self.assertRegex(self.told.getvalue(), r"\nFAIL a ")

    def test_lanes_have_the_further_tries_together(self) -> None:
        paths = [self.noting(name, "1 / 0") for name in "abc"]
        self.assertEqual(self.run_all(*paths, lanes=3, again=1, stack="nvidia"), scenario.FAILED)
        self.assertEqual(len(self.noted()), 4)

    def test_a_lane_that_breaks_off_fails_the_run_and_what_it_had_was_not_run(self) -> None:
        paths = [self.noting("a", "import os; os._exit(9)"), self.noting("b")]
        self.assertEqual(self.run_all(*paths, lanes=2, stack="nvidia"), scenario.FAILED)
        text = self.told.getvalue()
        self.assertRegex(text, r"FAIL lanes ")
        self.assertRegex(text, r"-    a .*not run: no lane told of it")

    def test_a_signal_ends_the_lanes_which_clean_up(self) -> None:
        ended = self.folder / "ended"
        body = (
            "from testbench.scenario_bench import Stage, current; import os, pathlib, signal\n"
            f"    current().undo_at_end('x', pathlib.Path({str(ended)!r}).touch, Stage.MACHINE)\n"
            "    os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
        )
        self.assertEqual(self.run_all(self.simple("a", {"x": "p"}, body), lanes=2, stack="nvidia"), scenario.FAILED)
        self.assertTrue(ended.exists(), self.told.getvalue())
        self.assertIn("ended by SIGTERM\n", self.told.getvalue())

    def test_what_one_lane_has_no_other_gets(self) -> None:
        one, two = lanes.Claims(self.folder), lanes.Claims(self.folder)
        self.assertTrue(one.take("a"))
        self.assertTrue(one.take("a"))
        self.assertFalse(two.take("a"))
        self.assertTrue(two.is_taken("a"))
        self.assertFalse(two.is_taken("b"))

    def test_times_are_told_when_asked_for(self) -> None:
        body = "from testbench.verbs import measure\n    with measure('nothing'): pass"
        path = self.simple("a", {}, body)
        self.run_all(path)
        self.assertNotIn("nothing", self.told.getvalue())
        self.run_all(path, times=True, stack="nvidia")
        self.assertRegex(self.told.getvalue(), r"times with the stack of nvidia\n +\d\.\d\d s  a: nothing")

    def test_what_there_is_not_is_wrong_use_and_starts_nothing(self) -> None:
        path = self.simple("a", {"x": "p"})
        for arguments, options, words in (
            ([path], {"stack": "amd"}, "e2e: no stack 'amd'; there are: nvidia, partita\n"),
            ([path], {"only": ("b",)}, "e2e: no scenario has 'b' in its name; there are: a\n"),
            ([Path("/no/such.py")], {}, "e2e: /no/such.py: no such scenario file; "),
        ):
            complaint = io.StringIO()
            with self.subTest(words), contextlib.redirect_stderr(complaint):
                self.assertEqual(self.run_all(*arguments, **options), scenario.USAGE)
                self.assertTrue(complaint.getvalue().startswith(words), complaint.getvalue())
        self.assertEqual(self.life, [])


class TheBenchsOwn(unittest.TestCase):
    def test_every_scenario_can_be_read(self) -> None:
        self.assertGreater(len(scenario.find([scenario.SCENARIOS])), 9)

    def test_the_readmes_example_is_a_scenario_that_runs(self) -> None:
        readme = (scenario.E2E / "README.md").read_text(encoding="utf-8")
        example = readme.split("```python\n")[1].split("```")[0]
        self.assertEqual(example, (scenario.SCENARIOS / "kubelet_restart.py").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
