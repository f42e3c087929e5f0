import unittest

from testbench.verbs_manifests import manifest


class UsersPods(unittest.TestCase):
    def test_as_they_are_they_run_on_any_node(self) -> None:
        self.assertNotIn("nodeSelector", manifest("two-gpus"))

    def test_each_of_several_selects_its_node(self) -> None:
        text = manifest("oversubscribed", {"nvidia.com/gpu.replicas": "2", "b": "c"})
        chosen = '  nodeSelector:\n    nvidia.com/gpu.replicas: "2"\n    b: "c"\n'
        self.assertEqual(len(text.split("---\n")), 2)
        for one in text.split("---\n"):
            self.assertTrue(one.endswith(f"nvidia.com/gpu: 1\n{chosen}"), one)


if __name__ == "__main__":
    unittest.main()
