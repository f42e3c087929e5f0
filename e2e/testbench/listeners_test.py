import os
import socket
import subprocess
import sys
import unittest
from unittest import mock

from testbench import listeners

CGROUP = f"/partita-e2e/unit-{os.getpid()}"
OTHER = """
import socket, sys
own = socket.create_server(("127.0.0.1", 0))
print(own.getsockname()[1], flush=True)
sys.stdin.read()
"""


class Listeners(unittest.TestCase):
    def test_a_new_listener_of_this_process_is_named_and_others_are_not(self) -> None:
        with socket.create_server(("127.0.0.1", 0)):
            before = listeners.on_host()
            with (
                socket.create_server(("127.0.0.1", 0)) as stream,
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
            ):
                datagrams.bind(("127.0.0.1", 0))
                port, udp = stream.getsockname()[1], datagrams.getsockname()[1]
                opened = listeners.opened_since(before, CGROUP)
                own = [f"tcp port {port} (address 0100007F)", f"udp port {udp} (address 0100007F)"]
                self.assertEqual(opened, own)

    def test_what_another_process_opens_is_its_own_affair_unless_it_is_of_the_cluster(self) -> None:
        before = listeners.on_host()
        child = subprocess.Popen(
            [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with child:
            words = f"tcp port {int(child.stdout.readline())} (address 0100007F)"
            self.assertNotIn(words, listeners.opened_since(before, CGROUP))
            with mock.patch.object(listeners, "is_in", lambda process, _: process.name == str(child.pid)):
                self.assertIn(words, listeners.opened_since(before, CGROUP))
            child.stdin.close()

    def test_a_connection_does_not_listen(self) -> None:
        before = listeners.on_host()
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname()), server.accept()[0]:
                self.assertEqual(len(listeners.opened_since(before, CGROUP)), 1)


if __name__ == "__main__":
    unittest.main()
