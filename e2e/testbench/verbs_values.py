"""Verbs for values of other charts: is each of them the same here, or does Helm say what to do instead?"""

import json
import re
import subprocess
from pathlib import Path

from testbench import programs
from testbench.scenario_bench import Seen, Unexpected, current, error_of, finished, step, where
from testbench.stack_partita import NAMESPACE
from testbench.verbs_chart import CHART, HELM_SECONDS, RELEASE, attempt_helm, helm

REFUSED = "other-charts.yaml says why it is refused"
ROW = re.compile(r"^(\S+) \([^)]*\) is (?:here|refused): ", re.M)


def paths_in(values: str) -> list[str]:
    """Of keys in YAML that has one a line, by their indentation; a list is one value."""
    found: list[str] = []
    above: list[str] = []
    item = None  # the indentation of the list's items that lines are in
    for indentation, dash, key in re.findall(r"^( *)(- )?(?:([A-Za-z][-\w]*):)?", values, re.M):
        if dash:
            item = len(indentation)
        elif key and (item is None or len(indentation) <= item):
            item = None
            above = [*above[:len(indentation) // 2], key]
            found.append(".".join(above))
    return found


def values_of(chart: Path) -> list[str]:
    """Paths of values that it has, or that its templates read though they are not in values.yaml."""
    found = paths_in((chart / "values.yaml").read_text(encoding="utf-8"))
    for template in sorted((chart / "templates").iterdir()):
        found += re.findall(r"\.Values\.([\w.]+)", template.read_text(encoding="utf-8"))
    return [path for path in dict.fromkeys(found) if not any(other.startswith(f"{path}.") for other in found)]


def is_same(path: str, schema: dict) -> bool:
    """The chart has such a value, of any form where its schema does not say more."""
    for word in path.split("."):
        if "properties" not in schema:
            break
        if word not in schema["properties"]:
            return False
        schema = schema["properties"][word]
    return schema.get("description") != REFUSED


def untold_values(chart: Path) -> Seen:
    """Of the other chart, what our chart neither takes nor refuses with a reason. All of its defaults are said, too."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    others = [path for path in values_of(chart) if not is_same(path, schema)]
    chosen = [word for path in others for word in ("--set-string", f"{path}=said")]
    command = [str(programs.path("helm")), "template", RELEASE, str(CHART), f"--values={chart}/values.yaml", *chosen]
    with step(f"say {len(others)} values that only {chart.name} has"):
        done = finished("helm template ends", lambda: subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=HELM_SECONDS))
        told = set(ROW.findall(done.stderr))
        if not told:
            raise Unexpected("values of another chart are refused one by one", error_of(done), where())
        left = [path for path in others if not any(path == each or path.startswith(f"{each}.") for each in told)]
        return Seen(" ".join(left), f"values of {chart.name} that are neither the same nor renamed nor refused")


# ---- values of a release, as docs/migrate.md takes them along ----


def values_in_use(release: str, namespace: str = NAMESPACE) -> str:
    """What somebody said when it was installed, as a file of values."""
    return helm("get", "values", release, f"--namespace={namespace}", "--output=yaml")


def complaints(values: str) -> str:
    """Names of the values that our chart does not take as they are: Helm names them all at once."""
    place = current().cluster.folder / "values-in-use.yaml"
    place.write_text(values, encoding="utf-8")
    with step("ask our chart what it does not take of these values"):
        done = attempt_helm("template", RELEASE, str(CHART), f"--values={place}")
        told = ROW.findall(done.stderr)
        if done.returncode != 0 and not told:
            raise Unexpected("our chart takes the values or names those that it does not", error_of(done), where())
        return " ".join(sorted(told))
