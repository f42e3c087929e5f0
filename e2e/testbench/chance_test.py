"""Counts that differ by chance, and those that do not."""

import unittest

from testbench.chance import no_more


class NoMore(unittest.TestCase):
    def test_fewer_and_as_many_are_no_more(self) -> None:
        for ours, theirs in ((0, 0), (0, 20), (7, 7), (20, 20), (15, 16)):
            with self.subTest(ours=ours, theirs=theirs):
                self.assertTrue(no_more(ours, theirs, 20))

    def test_one_more_in_twenty_is_chance(self) -> None:
        self.assertTrue(no_more(17, 16, 20))
        self.assertTrue(no_more(1, 0, 20))

    def test_many_more_are_more(self) -> None:
        self.assertFalse(no_more(20, 8, 20))
        self.assertFalse(no_more(10, 0, 20))

    def test_with_more_tries_a_smaller_share_shows(self) -> None:
        self.assertTrue(no_more(16, 12, 20))
        self.assertFalse(no_more(160, 120, 200))


if __name__ == "__main__":
    unittest.main()
