#!/usr/bin/python3 -B
"""What can be said of the chart without Helm: its lists of values agree with each other and with docs/install.md, its
version is the program's, and the programs' configuration in what was rendered is a good one (`partita config check`).
e2e/scenarios/chart_files.py has the rest. Usage: tests/scripts/chart.py BUILD"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts" / "partita"
GOLDEN = ROOT / "tests" / "golden" / "chart"
BUILD = Path(sys.argv.pop()) if len(sys.argv) > 1 else ROOT / "build" / "release"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def other_values() -> list[dict[str, str]]:
    """The rows of other-charts.yaml, which has one line a key; one for each value of a row that is for several."""
    rows: list[dict[str, str]] = []
    for line in text_of(CHART / "other-charts.yaml").splitlines():
        found = re.match(r"(-| ) (value|chart|now|means|harmless): (.*)$", line)
        if not found:
            continue
        if found[1] == "-":
            rows.append({})
        rows[-1][found[2]] = found[3].strip('"')
    return [{**row, "value": value} for row in rows for value in row["value"].split(", ")]


def table_rows() -> dict[str, list[str]]:
    """Of docs/install.md: the value -> its other cells."""
    section = text_of(ROOT / "docs" / "install.md").partition("### Values of other charts")[2].partition("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `"):
            for value in re.findall(r"`([^`]+)`", cells[0]):
                found[value] = cells[1:]
    return found


def schema_at(path: str) -> dict | None:
    at = json.loads(text_of(CHART / "values.schema.json"))
    for word in path.split("."):
        at = at.get("properties", {}).get(word)
        if at is None:
            return None
    return at


def paths_of(values: str) -> set[str]:
    """Of keys in YAML that has one a line, by their indentation."""
    found, above = set(), []
    for line in values.splitlines():
        match = re.match(r"( *)([A-Za-z][-A-Za-z]*):", line)
        if match:
            above = [*above[:len(match[1]) // 2], match[2]]
            found.add(".".join(above))
    return found


def file_texts(rendered: str) -> dict[str, str]:
    """The agent's files in what was rendered, where they are below /etc/partita."""
    places = dict(re.findall(r'^ +- key: "?(\S+?)"?\n +path: "?(\S+?)"?\n', rendered, re.M))
    found = re.findall(r'^  "?((?:config|mig|overlay\.\S+)\.yaml)"?: \|\n((?:    .*\n|\n)+)', rendered, re.M)
    return {places[key] if places else key: re.sub(r"^    ", "", text, flags=re.M) for key, text in found}


def rendered_files() -> list[Path]:
    """What Helm made of values; what it says against some is not among them."""
    made = [ROOT / "deploy" / "partita.yaml", *GOLDEN.glob("*.yaml")]
    return sorted(path for path in made if not path.name.endswith(".values.yaml"))


def tolerated(document: str) -> dict[str, set[str]]:
    """Of an object with pods: the key of each toleration ("": all of them) -> the words beside it."""
    block, = re.findall(r"^ +tolerations:\n((?: +(?:- |  )\w+: .*\n)+)", document, re.M)
    found = {}
    for each in re.split(r"^ +- ", block, flags=re.M)[1:]:
        words = dict(re.findall(r"(\w+): (.*)", each))
        key = words.pop("key", "")
        found[key] = {f"{word}: {said}" for word, said in words.items()}
    return found


class Chart(unittest.TestCase):
    def test_every_row_says_what_to_do(self) -> None:
        for row in other_values():
            self.assertIn("chart", row, row)
            self.assertEqual(len(row.keys() & {"now", "means"}), 1, row)

    def test_values_of_other_charts_are_in_the_table_with_the_same_words(self) -> None:
        rows = table_rows()
        for row in other_values():
            self.assertIn(row["value"], rows)
            chart, kind, words = rows[row["value"]]
            self.assertEqual(chart, row["chart"], row["value"])
            self.assertEqual(kind, "renamed" if "now" in row else "refused", row["value"])
            self.assertEqual(words.replace("`", ""), row.get("now", row.get("means")).replace("`", ""), row["value"])

    def test_what_the_table_calls_the_same_is_a_value(self) -> None:
        own = paths_of(text_of(CHART / "values.yaml"))
        same = [value for value, cells in table_rows().items() if cells[1] == "same"]
        self.assertGreaterEqual(len(same), 20)
        for value in same:
            self.assertIn(value, own)

    def test_other_charts_values_reach_the_templates_that_refuse_them(self) -> None:
        for row in other_values():
            self.assertIsNotNone(schema_at(row["value"]), f"{row['value']}: the schema refuses it without a reason")

    def test_each_is_refused_in_the_golden_file(self) -> None:
        said = paths_of(text_of(GOLDEN / "refused.values.yaml"))
        told = text_of(GOLDEN / "refused.txt")
        for row in other_values():
            self.assertIn(row["value"], said)
            words = f"is here: {row['now']}" if "now" in row else f"is refused: {row['means']}"
            self.assertIn(f"{row['value']} ({row['chart']}) {words}\n", told)

    def test_every_value_has_a_type(self) -> None:
        free = {"agent", "affinity", "config.map", "nodeSelector", "podAnnotations"}
        for value in paths_of(text_of(CHART / "values.yaml")):
            if value.split(".")[0] not in ("tolerations", "resources", "updateStrategy") and value not in free:
                self.assertIsNotNone(schema_at(value), value)

    def test_keys_that_somebody_chose_are_quoted(self) -> None:
        """YAML takes `on` for true."""
        for path in (CHART / "templates").iterdir():
            self.assertNotRegex(text_of(path), r"(?m)^\s*\{\{-? \$\w+ \}\}:", path)

    def test_its_version_is_the_programs(self) -> None:
        wanted = re.search(r"^project\(partita VERSION (\S+)", text_of(ROOT / "CMakeLists.txt"), re.M)[1]
        there = re.findall(r"^(?:version|appVersion): (.*)$", text_of(CHART / "Chart.yaml"), re.M)
        self.assertEqual(there, [wanted, wanted])

    def test_upgrades_leave_mps_daemons_alone(self) -> None:
        documents = text_of(GOLDEN / "everything.yaml").split("\n---\n")
        runner, = (each for each in documents if "mps-runner.yaml" in each and "kind: DaemonSet" in each)
        self.assertIn("  updateStrategy:\n    type: OnDelete\n", runner)
        # What changes with the agent's configuration.
        for word in ("for-life", "configMap", "gpu-feature", "env:"):
            self.assertNotIn(word, runner)
        agent, = (each for each in documents if "daemonset.yaml" in each)
        selector = re.search(r"matchLabels:\s+(\S+: \S+)\n", agent)[1]
        self.assertNotIn(selector, runner, "a pod of the runner's would be taken for an agent")
        for root in ("--root, /data/mps,", "--driver-root, /run/nvidia/driver]"):
            self.assertIn(root, runner)
        self.assertIn("mps:\n      root: /data/mps\n      runner: pod\n", text_of(GOLDEN / "everything.yaml"))
        # Where nobody asked for it nothing of it is there.
        self.assertNotIn("mps", text_of(ROOT / "deploy" / "partita.yaml"))

    def test_where_labels_go_is_said_also_where_it_is_the_default(self) -> None:
        """Else a configuration of the device plugin's says it (flags.useNodeFeatureAPI), without the rights."""
        places = {}
        for path in rendered_files():
            if "config.yaml" in (files := file_texts(text_of(path))):
                places[path.stem] = re.findall(r"^labels:\n  backend: (.*)$", files["config.yaml"], re.M)
        self.assertEqual(places, {"partita": ["node"], "everything": ["nodefeature"], "external": ["none"],
                                  "taints": ["node"], "without-cluster": ["none"], "words": ["file"]})

    def test_the_object_of_another_backend_before_may_be_removed(self) -> None:
        """By the upgrade that leaves it: the agent takes it away; the policy keeps it to that of its own node. While
        labels are that object nothing removes it."""
        rights = {}
        for path in rendered_files():
            if "kind: DaemonSet" in (text := text_of(path)):
                rights[path.stem] = re.findall(r"resources: \[nodefeatures\]\n    verbs: \[.*(delete)\]", text)
        self.assertEqual(rights, {"partita": ["delete"], "everything": [], "external": ["delete"],
                                  "taints": ["delete"], "without-cluster": [], "words": ["delete"]})

    def test_no_taint_that_the_agent_writes_or_removes_keeps_our_pods_away(self) -> None:
        """Else no agent would come back to its node, nobody would take the taint away, and the clean-up not run."""
        seen = {}
        for path in rendered_files():
            text = text_of(path)
            # As the admission policy has them; without a cluster the agent removes none, and is needed all the same.
            found = re.search(r"taint\.key in \[(.*?)\]", text)
            keys = json.loads(f"[{found[1]}]") if found else ["nvidia.com/gpu", "partita.dev/agent-not-ready"]
            for document in text.split("\n---\n"):
                if kind := re.search(r"^kind: (DaemonSet|Job)$", document, re.M):
                    seen.setdefault(path.stem, []).append(kind[1])
                    there = tolerated(document)
                    for key in keys:
                        self.assertEqual(there.get(key, there.get("")), {"operator: Exists"}, f"{path} {kind[1]} {key}")
        self.assertEqual(len(seen), len(rendered_files()))
        self.assertEqual(sorted(seen["taints"]), ["DaemonSet", "DaemonSet", "Job"])

    def test_what_cleans_up_reads_single_nodes_for_the_taint_alone(self) -> None:
        rights = {}
        for path in rendered_files():
            for document in text_of(path).split("\n---\n"):
                if "cleanup.yaml" in document and "\nkind: ClusterRole\n" in document:
                    rights[path.stem] = re.findall(r"resources: \[nodes\]\n    verbs: (.*)$", document, re.M)
        self.assertEqual(rights, {"taints": ["[list, patch]", "[get]"], "words": ["[list, patch]"]})

    def test_tolerations_that_somebody_gives_stay(self) -> None:
        there = tolerated(next(each for each in text_of(GOLDEN / "taints.yaml").split("\n---\n")
                               if "kind: DaemonSet" in each))
        self.assertEqual(there, {
            "example.com/pool": {"operator: Equal", "value: gpu", "effect: NoSchedule"},
            **dict.fromkeys(["example.com/gpu", "old.example/gpu", "partita.dev/agent-not-ready"], {"operator: Exists"}),
        })

    def test_pods_of_others_are_changed_only_where_that_was_asked_for(self) -> None:
        changing = [path.stem for path in rendered_files() if "MutatingAdmissionPolicy" in text_of(path)]
        self.assertEqual(changing, ["taints"])
        policy, = (each for each in text_of(GOLDEN / "taints.yaml").split("\n---\n")
                   if "\nkind: MutatingAdmissionPolicy\n" in each)
        self.assertEqual(set(re.findall(r'key: "(.*?)"', policy)), {"example.com/gpu"})
        # Whoever asks for nothing of ours is not to wait for it.
        self.assertIn("  failurePolicy: Ignore\n", policy)

    def test_the_agent_takes_every_configuration_that_was_rendered(self) -> None:
        seen = 0
        for path in rendered_files():
            files = file_texts(text_of(path))
            if "config.yaml" in files:
                seen += 1
                self.check_config(path, files)
        self.assertGreaterEqual(seen, 5)

    def test_overlays_are_where_the_agent_looks_for_them(self) -> None:
        """In the folder beside config.yaml, though a ConfigMap has no folders."""
        files = file_texts(text_of(GOLDEN / "everything.yaml"))
        self.assertEqual(sorted(files), ["config.yaml", "mig.yaml", "overlays/on.yaml", "overlays/quiet.yaml"])
        # What needs none has the whole ConfigMap, as before.
        self.assertNotIn("path: config.yaml", text_of(ROOT / "deploy" / "partita.yaml"))

    def check_config(self, path: Path, files: dict[str, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # Beside each other in the pod, at /etc/partita.
            config = files["config.yaml"].replace("mig:\n", f"mig:\n  configFile: {folder}/mig.yaml\n")
            for name, text in {**files, "config.yaml": config}.items():
                (Path(folder) / name).parent.mkdir(exist_ok=True)
                (Path(folder) / name).write_text(text, encoding="utf-8")
            for name in sorted(files.keys() - {"mig.yaml"}):
                done = subprocess.run([BUILD / "bin" / "partita", "config", "check", "-f", f"{folder}/{name}"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{path} {name}:\n{config}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main()
