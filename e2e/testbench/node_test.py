"""What a node does with the names of its services; what runs on it is shown by scenarios."""

import tempfile
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support.shell import Failure

from testbench import node


class Services(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        around: Any = types.SimpleNamespace(plan={"dgx": None}, cluster="own", folder=folder, path=[])
        self.node = node.Node("dgx", "dgx-a100-40", around)
        self.node.machine = mock.Mock()

    def test_one_that_was_killed_starts_again_as_it_was(self) -> None:
        self.node.spawn("plugin", ["/bin/plugin", "--verbose"], {"A": "b"})
        self.node.kill("plugin")
        self.node.respawn("plugin")
        first, second = self.node.machine.spawn.call_args_list
        self.assertEqual(first, second)

    def test_one_that_there_is_not_is_named_with_those_that_there_are(self) -> None:
        for started, words in (([], "none"), (["plugin", "discovery"], "plugin, discovery")):
            for name in started:
                self.node.spawn(name, [name])
            with self.assertRaisesRegex(Failure, f"^no service 'plugim' on dgx; there are: {words}$"):
                self.node.respawn("plugim")


if __name__ == "__main__":
    unittest.main()
