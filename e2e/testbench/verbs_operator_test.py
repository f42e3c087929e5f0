"""The image that the operator runs from on the bench."""

import tempfile
import unittest
from pathlib import Path

from testbench import verbs_operator


class Image(unittest.TestCase):
    def test_has_each_file_of_a_folder_where_the_program_looks(self) -> None:
        source = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (source / "state-wheel").mkdir()
        (source / "state-wheel" / "0100.yaml").write_text("kind: Wheel\n", encoding="utf-8")
        (source / "0200.yaml").write_text("kind: Axle\n", encoding="utf-8")
        found = {entry.path: entry.content for entry in verbs_operator.files_of(source, verbs_operator.FOLDER)}
        self.assertEqual(found, {
            "opt/gpu-operator/0200.yaml": b"kind: Axle\n",
            "opt/gpu-operator/state-wheel/0100.yaml": b"kind: Wheel\n",
        })


if __name__ == "__main__":
    unittest.main()
