"""scripts/check-layers takes its rules from ARCHITECTURE.md: an include that a row does not allow is an error."""

import subprocess
import unittest

from support.tree_check import TreeCheck

TABLES = """\
| folder | is | may include |
|---|---|---|
| `src/base` | tools | std |
| `src/hw` | driver | `base` |
| `src/cli` | program | `base` |
| `src/cli/draw` | pictures | `base` |

| header | only in |
|---|---|
| `yaml.h` | `hw` |
"""


class Layers(TreeCheck):
    script = "check-layers"

    def setUp(self):
        super().setUp()
        self.write("ARCHITECTURE.md", TABLES)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def test_allowed_includes_pass(self):
        self.write("src/hw/a.cc", '#include "base/files.h"\n#include "hw/b.h"\n#include <yaml.h>\n')
        self.assertEqual(self.check(), (0, ""))

    def test_an_include_that_the_row_lacks_is_named_with_its_place(self):
        self.write("src/cli/a.cc", '\n#include "hw/b.h"\n')
        self.assertEqual(self.check(), (1, "src/cli/a.cc:2: cli may not include hw/b.h (allowed: base, cli)"))

    def test_a_row_of_its_own_makes_a_folder_of_its_own(self):
        self.write("src/cli/draw/a.cc", '#include "cli/program.h"\n')
        self.assertEqual(
            self.check(), (1, "src/cli/draw/a.cc:1: cli/draw may not include cli/program.h (allowed: base, cli/draw)")
        )

    def test_a_wrapped_header_stays_in_its_folder(self):
        self.write("src/cli/a.cc", "#include <yaml.h>\n")
        self.assertEqual(self.check(), (1, "src/cli/a.cc:1: <yaml.h> belongs to hw alone"))

    def test_a_folder_without_a_row_is_an_error(self):
        self.write("src/other/a.cc", "")
        self.assertEqual(self.check(), (1, "src/other/a.cc: its folder is not in the table of ARCHITECTURE.md"))

    def test_a_folder_of_more_than_forty_sources_is_an_error(self):
        for number in range(40):
            self.write(f"src/hw/{number}.cc", "")
            self.write(f"src/hw/{number}.h", "")
        self.assertEqual(self.check(), (0, ""))
        self.write("src/hw/40_test.cc", "")
        self.assertEqual(
            self.check(),
            (1, "src/hw: 41 .cc files, 40 at most: move what belongs together into a folder below"),
        )

    def test_folders_of_tests_and_programs_outside_have_the_same_limit(self):
        for number in range(41):
            self.write(f"tests/hw/{number}_test.cc", "")
        self.assertEqual(
            self.check(),
            (1, "tests/hw: 41 .cc files, 40 at most: move what belongs together into a folder below"),
        )

    def test_no_row_of_a_folder_of_commands_may_name_the_driver(self):
        for row in ("`src/cli` | program | ", "`src/cli/draw` | pictures | "):
            self.write("ARCHITECTURE.md", TABLES.replace(row, row + "`hw`, "))
            folder = row.split("`")[1].removeprefix("src/")
            self.assertEqual(
                self.check(),
                (1, f"check-layers: ARCHITECTURE.md lets {folder} include hw: commands look through service"),
            )

    def test_a_document_without_the_table_is_an_error(self):
        self.write("ARCHITECTURE.md", "nothing\n")
        self.assertEqual(
            self.check(), (1, 'check-layers: ARCHITECTURE.md has no table that begins with "| folder |"')
        )


if __name__ == "__main__":
    unittest.main()
