import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support.shell import SetupError
from testbench import cluster as clusters
from testbench import command_line, detached, state
from testbench.state import StateFolder

BUILD = Path("/nowhere")


class CommandLine(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "clusters"
        known = state.known
        self.patch(state, "known", lambda: known(self.root))
        self.built: list[str] = []
        self.patch(command_line, "build_programs", lambda names: self.built.extend(names))
        self.patch(detached, "keep", lambda cluster: 0)
        self.patch(command_line.scenario, "run", lambda paths, settings: 0)
        self.started: list[list[str]] = []
        self.patch(os, "execvp", lambda program, command: self.started.append(command))

    def patch(self, where, name: str, value) -> None:
        patch = mock.patch.object(where, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def call(self, *arguments: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), mock.patch.dict(os.environ):
            try:
                status = command_line.main(list(arguments))
            except SystemExit as end:
                status = end.code
        return status or 0, out.getvalue()

    def cluster(self, name: str, *nodes: str) -> StateFolder:
        """One that this process keeps."""
        made = StateFolder(f"{name}-{os.getpid()}", root=self.root)
        made.claim(BUILD)
        self.addCleanup(made.release, BUILD)
        machines = {node: str(made.folder / node) for node in ("control-plane", *nodes)}
        for number, folder in enumerate(machines.values()):
            Path(folder).mkdir()
            (Path(folder) / "pid").write_text(f"{100 + number}\n", encoding="utf-8")
        made.publish({
            "nodes": dict.fromkeys(nodes, "mixed"), "machines": machines, "environments": {},
            "kubeconfig": "/k", "kubectl": "/bin/kubectl",
        })
        return made

    def test_wrong_usage_is_status_2(self) -> None:
        for words in (
            "", "fly", "up --node a", "shell", "build nosuch", "up --name A_B", "up --node A=mixed",
            "up --node control-plane=mixed", "up --node a=mixed --node a=dgx-a100-40", "run --only nosuch",
            "run --stack nosuch", "run /no/such/file.py", "up " + " ".join(f"--node n{i}=mixed" for i in range(201)),
        ):
            with self.subTest(words[:80]):
                self.assertEqual(self.call(*words.split())[0], 2)
        self.assertEqual(self.built, [])

    def test_programs_that_few_scenarios_need_are_built_for_those(self) -> None:
        self.patch(clusters, "check_machine", lambda: None)
        self.assertEqual(self.call("run")[0], 0)
        self.assertNotIn("nfd-master", self.built)
        self.assertIn("kubelet", self.built)
        self.assertEqual(self.call("run", str(command_line.scenario.SCENARIOS / "nightly"))[0], 0)
        self.assertIn("nfd-master", self.built)

    def test_what_is_wrong_with_the_machine_is_said_before_anything_is_built(self) -> None:
        def refuse() -> None:
            raise SetupError("missing Debian packages: runc")

        self.patch(clusters, "check_machine", refuse)
        for words in (["up"], ["run", "--only", "two"]):
            self.assertEqual(self.call(*words), (3, "e2e: missing Debian packages: runc\n"))
        self.assertEqual(self.built, [])

    def test_a_node_given_twice_is_named(self) -> None:
        status, text = self.call("up", "--node", "a=mixed", "--node", "a=hgx-h200")
        self.assertEqual(text, "e2e: --node a=hgx-h200: there is a node a already, with profile mixed\n")

    def test_the_help_of_run_names_the_stacks(self) -> None:
        self.assertRegex(self.call("run", "--help")[1], r"by commas: nvidia")

    def test_help_has_examples_and_exit_statuses(self) -> None:
        status, text = self.call("--help")
        self.assertEqual(status, 0)
        self.assertIn("e2e shell a -- nvidia-smi -L", text)
        self.assertIn("exit status: 0 done", text)

    def test_without_a_cluster_the_way_to_one_is_said(self) -> None:
        self.assertEqual(self.call("kubectl", "get", "nodes"), (1, "e2e: no cluster is running; start one: e2e up\n"))

    def test_the_only_cluster_needs_no_name(self) -> None:
        self.cluster("one", "a")
        self.call("kubectl", "get", "pods", "-o", "wide")
        self.assertEqual(
            self.started[0],
            ["nsenter", "--target=100", "--net", "--pid", "--", "/bin/kubectl", "get", "pods", "-o", "wide"],
        )

    def test_options_before_the_verb_are_those_of_kubectl(self) -> None:
        own = self.cluster("one", "a")
        for name in ([], ["--name", own.cluster], [f"--name={own.cluster}"]):
            self.call("kubectl", *name, "-n", "kube-system", "exec", "p", "--", "ls", "--name", "x")
            self.assertEqual(self.started.pop()[6:], "-n kube-system exec p -- ls --name x".split(), name)

    def test_of_two_clusters_one_must_be_named(self) -> None:
        one, two = self.cluster("one", "a"), self.cluster("two", "a")
        status, text = self.call("kubectl", "get", "pods")
        self.assertEqual((status, text), (1, f"e2e: which one? --name {one.cluster} or {two.cluster}\n"))
        self.call("kubectl", "--name", two.cluster, "get", "pods")
        self.assertEqual(len(self.started), 1)

    def test_a_command_runs_in_all_namespaces_of_the_node(self) -> None:
        self.cluster("one", "a")
        self.call("shell", "a", "--", "ls", "--", "-l")
        wanted = "nsenter --target=101 --mount --uts --ipc --net --pid --wdns=/ -- ls -- -l"
        self.assertEqual(" ".join(self.started[0]), wanted)

    def test_no_proxy_of_the_caller_stands_before_a_shell_or_kubectl(self) -> None:
        self.cluster("one", "a")
        seen: list[str] = []
        self.patch(os, "execvp", lambda program, command: seen.append(os.environ.get("NO_PROXY", "")))
        self.call("shell", "a")
        self.call("kubectl", "get", "pods")
        self.assertEqual([text.split(",")[0] for text in seen], ["10.64.0.0/16"] * 2)

    def test_an_unknown_node_is_named_with_those_there_are(self) -> None:
        self.cluster("one", "a", "b")
        self.assertEqual(self.call("shell", "c"), (1, "e2e: no node 'c'; there are: control-plane, a, b\n"))

    def test_a_cluster_that_starts_can_be_ended_but_not_used(self) -> None:
        own = StateFolder(f"new-{os.getpid()}", root=self.root)
        own.claim(BUILD)
        self.addCleanup(own.release, BUILD)
        text = f"e2e: cluster {own.cluster} is still starting; `e2e list` says when it is ready\n"
        self.assertEqual(self.call("kubectl", "get", "nodes"), (1, text))
        ended: list[str] = []
        self.patch(detached, "end", lambda chosen: ended.append(chosen.cluster))
        self.assertEqual(self.call("down"), (0, ""))
        self.assertEqual(ended, [own.cluster])

    def test_the_list_says_who_lives(self) -> None:
        own = self.cluster("one", "a")
        dead = self.root / "zz.lock"
        dead.write_text('{"process": 1, "folder": "/x/zz"}', encoding="utf-8")
        status, text = self.call("list")
        self.assertEqual(text.splitlines(), [
            f"{own.cluster}  a=mixed  kept by process {os.getpid()}  {own.folder}",
            "zz  its process was killed; `e2e clean` removes what is left  /x/zz",
        ])
        dead.unlink()


if __name__ == "__main__":
    unittest.main()
