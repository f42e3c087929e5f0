"""When kubelet had which list."""

import io
import tempfile
import time
import types
import unittest
from pathlib import Path

from testbench import scenario_bench, stack
from testbench.scenario_bench import Bench, Progress, Unexpected
from testbench.verbs_listed import lists, measure_listed


class Listed(unittest.TestCase):
    def setUp(self) -> None:
        self.log = Path(self.enterContext(tempfile.TemporaryDirectory())) / "kubelet.log"
        self.log.write_text("")
        self.tell(100)
        machine = types.SimpleNamespace(log_path=lambda _: self.log)
        cluster = types.SimpleNamespace(node=lambda _: types.SimpleNamespace(machine=machine), machines=lambda: {})
        self.bench = Bench(cluster, stack.Stack("own", {}), Progress(io.StringIO()), before={})
        self.enterContext(scenario_bench.on(self.bench))

    def tell(self, seconds: float, resource: str = "gpu") -> None:
        """Of a list that comes so much later."""
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(time.time() + seconds))
        with self.log.open("a", encoding="utf-8") as log:
            log.write(
                f'I{stamp}.000000      47 client.go:97] "State pushed for device plugin" resource="{resource}"'
                " resourceCapacity=8\n"
            )

    def test_the_last_list_of_the_resource_counts(self) -> None:
        with measure_listed("it goes", "gpu", on="dgx", most=70):
            self.tell(10)
            self.tell(60)
            self.tell(600, resource="slice")
        (words, seconds), = self.bench.times
        self.assertEqual(words, "it goes: kubelet has the list")
        self.assertTrue(50 < seconds < 70, seconds)

    def test_of_several_resources_the_last_list_counts(self) -> None:
        with lists(["gpu", "slice"], on="dgx") as found:
            self.tell(60)
            self.tell(30, resource="slice")
        self.assertTrue(50 < found.seconds < 70, found.seconds)

    def test_each_resource_needs_a_list(self) -> None:
        with self.assertRaisesRegex(Unexpected, "kubelet of node dgx gets another list of slice\nseen: +none in its log"):
            with lists(["gpu", "slice"], on="dgx"):
                self.tell(10)

    def test_a_list_of_before_is_none(self) -> None:
        with self.assertRaisesRegex(Unexpected, "kubelet of node dgx gets another list of gpu\nseen: +none in its log"):
            with measure_listed("it goes", "gpu", on="dgx", most=70):
                pass

    def test_a_list_that_comes_late_fails(self) -> None:
        late = r"it goes: kubelet has the list within 30 s\nseen: +(59|60)\.\d\d s"
        with self.assertRaisesRegex(Unexpected, late), measure_listed("it goes", "gpu", on="dgx", most=30):
            self.tell(60)


if __name__ == "__main__":
    unittest.main()
