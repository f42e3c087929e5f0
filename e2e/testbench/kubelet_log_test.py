"""What is read out of kubelet's log."""

import time
import unittest

from testbench import kubelet_log
from testbench.kubelet_log import DROPPED, ENDED, LISTED, REGISTERED, Event

LOG = '''\
I1116 17:39:40.683615      47 handler.go:111] "Registered client" name="nvidia.com/gpu"
I1116 17:39:40.684831      47 handler.go:94] "Connected to new client" resource="nvidia.com/gpu"
I1116 17:39:40.685465      47 client.go:97] "State pushed for device plugin" resource="nvidia.com/gpu" resourceCapacity=8
I1116 17:39:41.000000      47 handler.go:111] "Registered client" name="nvidia.com/gpu.shared"
E1116 17:39:43.860008      47 client.go:94] "ListAndWatch ended unexpectedly for device plugin" err="rpc error: code = \
Unavailable desc = closing transport due to: connection error: desc = \\"error reading from server: EOF\\"" \
resource="nvidia.com/gpu"
I1116 17:39:43.860035      47 handler.go:119] "Deregistered client" name="nvidia.com/gpu"
half a line'''


def at(second: float, kind: str, kubelet: int = 47, devices: int = 0) -> Event:
    return Event(second, kubelet, kind, devices)


class Events(unittest.TestCase):
    def test_are_those_of_the_resource_with_their_times(self) -> None:
        seen = kubelet_log.events(LOG.splitlines(), "nvidia.com/gpu", 2026)
        self.assertEqual([event.kind for event in seen], [REGISTERED, LISTED, ENDED, DROPPED])
        self.assertEqual(seen[1].devices, 8)
        self.assertEqual({event.kubelet for event in seen}, {47})
        noon = time.mktime(time.strptime("2026-11-16 17:39:40", "%Y-%m-%d %H:%M:%S"))
        self.assertAlmostEqual(seen[0].at, noon + 0.683615, places=5)


class ListInForce(unittest.TestCase):
    def test_is_the_last_one_that_came_after(self) -> None:
        seen = [at(1, REGISTERED), at(2, LISTED, devices=8), at(3, LISTED, devices=7)]
        self.assertEqual(kubelet_log.list_in_force(seen, 1), seen[2])
        self.assertIsNone(kubelet_log.list_in_force(seen, 4), "it is an older program's")

    def test_ends_with_its_stream(self) -> None:
        seen = [at(1, REGISTERED), at(2, LISTED), at(3, ENDED), at(3, DROPPED)]
        self.assertIsNone(kubelet_log.list_in_force(seen, 1))
        seen += [at(4, REGISTERED)]
        self.assertIsNone(kubelet_log.list_in_force(seen, 1), "who registers has not told its list yet")


class Raced(unittest.TestCase):
    def test_when_the_old_stream_ends_after_the_new_one_has_registered(self) -> None:
        self.assertTrue(kubelet_log.raced([at(2, REGISTERED), at(3, ENDED), at(3, DROPPED)], 47, 1))

    def test_not_when_the_old_stream_ended_before(self) -> None:
        seen = [at(1, ENDED), at(1, DROPPED), at(2, REGISTERED), at(2, LISTED)]
        self.assertFalse(kubelet_log.raced(seen, 47, 1.5))
        self.assertFalse(kubelet_log.raced([*seen, at(3, ENDED)], 47, 1.5), "that was its own end")

    def test_not_with_a_kubelet_that_never_had_the_old_stream(self) -> None:
        self.assertFalse(kubelet_log.raced([at(2, REGISTERED, kubelet=99), at(3, ENDED, kubelet=99)], 47, 1))


if __name__ == "__main__":
    unittest.main()
