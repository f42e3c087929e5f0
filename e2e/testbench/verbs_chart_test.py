"""What is done to the chart before it is installed."""

import io
import tempfile
import types
import unittest
from pathlib import Path

from testbench import scenario_bench, stack
from testbench.scenario_bench import Bench, Progress, Unexpected
from testbench.verbs_chart import CHART, changed_chart


class ChangedChart(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        cluster = types.SimpleNamespace(folder=folder, machines=lambda: {})
        self.enterContext(scenario_bench.on(Bench(cluster, stack.Stack("own", {}), Progress(io.StringIO()), before={})))

    def test_one_file_of_a_copy_is_another(self) -> None:
        copy = changed_chart("rbac.yaml", (r"(resources: \[nodefeatures\]\n +verbs: )\[delete\]", r"\g<1>[get]"))
        before, after = ((chart / "templates" / "rbac.yaml").read_text(encoding="utf-8") for chart in (CHART, copy))
        changed = [pair for pair in zip(before.splitlines(), after.splitlines()) if pair[0] != pair[1]]
        self.assertEqual([(old.strip(), new.strip()) for old, new in changed], [("verbs: [delete]", "verbs: [get]")])
        self.assertEqual((copy / "Chart.yaml").read_bytes(), (CHART / "Chart.yaml").read_bytes())

    def test_a_pattern_that_is_not_there_is_no_change(self) -> None:
        with self.assertRaisesRegex(Unexpected, "nonesuch is in rbac.yaml once\nseen: +0 times"):
            changed_chart("rbac.yaml", ("nonesuch", "any"))


if __name__ == "__main__":
    unittest.main()
