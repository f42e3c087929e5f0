"""Run by ctest: python3 -m unittest discover, with tests/ on PYTHONPATH."""

import os
import tempfile
import threading
import unittest

from support import cache


class FolderWith(unittest.TestCase):
    def setUp(self):
        self.target = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "key", "bin")

    def write(self, name):
        def fill(folder):
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass

        return fill

    def test_is_filled_when_a_file_is_missing_and_only_then(self):
        self.assertEqual(cache.folder_with(self.target, ["a"], self.write("a")), self.target)
        cache.folder_with(self.target, ["a"], self.fail)
        cache.folder_with(self.target, ["b"], self.write("b"))
        self.assertEqual(os.listdir(self.target), ["b"])

    def test_is_not_there_before_it_is_complete(self):
        def fill(folder):
            self.write("a")(folder)
            self.assertFalse(os.path.exists(self.target))
            raise OSError("disk full")

        with self.assertRaisesRegex(OSError, "disk full"):
            cache.folder_with(self.target, ["a", "b"], fill)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), ["bin.lock"])

    def test_starts_afresh_after_a_half_that_a_killed_process_left_behind(self):
        os.makedirs(self.target + ".unfinished")
        self.write("half")(self.target + ".unfinished")
        cache.folder_with(self.target, ["a"], self.write("a"))
        self.assertEqual(os.listdir(self.target), ["a"])

    def test_is_made_by_the_first_while_the_second_waits_and_says_so(self):
        waiting = threading.Event()
        filled_twice = []
        second = threading.Thread(
            target=cache.folder_with, args=(self.target, ["a"], filled_twice.append, waiting.set)
        )

        def fill(folder):
            second.start()
            self.assertTrue(waiting.wait(20))
            self.write("a")(folder)

        cache.folder_with(self.target, ["a"], fill)
        second.join(20)
        self.assertFalse(second.is_alive())
        self.assertEqual(filled_twice, [])
        self.assertEqual(os.listdir(self.target), ["a"])


if __name__ == "__main__":
    unittest.main()
