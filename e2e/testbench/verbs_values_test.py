"""What another chart's values are, and which of them ours has."""

import tempfile
import unittest
from pathlib import Path

from testbench import verbs_values

VALUES = """# wheel: no value
wheel:
  # how many: that is
  spokes: 8
  nave-hub: {}
axles:
- name: front
  load: 1
  brakes:
  - disc
name: null
"""
SCHEMA = {"properties": {
    "wheel": {"properties": {"spokes": {"type": "integer"}, "nave": {"description": verbs_values.REFUSED}}},
    "axles": {"type": "array"},
    "old": {"description": verbs_values.REFUSED},
}}


class Values(unittest.TestCase):
    def test_are_those_of_the_file_and_of_the_templates(self) -> None:
        chart = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (chart / "templates").mkdir()
        (chart / "values.yaml").write_text(VALUES, encoding="utf-8")
        template = "{{ .Values.wheel.spokes }} {{ .Values.wheel }} {{- if .Values.tyre }}"
        (chart / "templates" / "wheel.yaml").write_text(template, encoding="utf-8")
        self.assertEqual(verbs_values.values_of(chart),
                         ["wheel.spokes", "wheel.nave-hub", "axles", "name", "tyre"])

    def test_are_the_same_where_the_schema_has_them_for_use(self) -> None:
        known = {path: verbs_values.is_same(path, SCHEMA)
                 for path in ("wheel.spokes", "axles.load", "wheel.nave", "wheel.nave-hub", "old", "tyre")}
        self.assertEqual([path for path, same in known.items() if same], ["wheel.spokes", "axles.load"])


if __name__ == "__main__":
    unittest.main()
