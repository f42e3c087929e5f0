"""The proxy before the API server: what it passes on, counts, and does to whoever asks. Real sockets, real TLS."""

import json
import socket
import ssl
import tempfile
import threading
import unittest
from pathlib import Path

from testbench.pki import AUTHORITY, Identity, Pki
from testbench.troubled_api import Proxy, Question, Trouble, read_question

NODES = "/api/v1/nodes"
WATCH = f"{NODES}?watch=true&resourceVersion=7"


def listener() -> socket.socket:
    made = socket.create_server(("127.0.0.1", 0))
    made.settimeout(30)
    return made


class Server:
    """Says what it was asked for. A watch it begins, and does not end."""

    def __init__(self) -> None:
        self.listener = listener()
        self.heard: list[Question] = []
        self.watches: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.listener.getsockname())

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            question = read_question(connection)
            self.heard.append(question)
            body = question.words.encode()
            if question.is_watch:
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + body)
                self.watches.append(connection)
            else:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                connection.close()


class TroubledApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.pki = Pki(Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "pki")
        cls.pki.make_authority()
        cls.pki.issue(Identity("proxy", "kube-apiserver", serves=("IP:127.0.0.1",)))

    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.listener.close)
        self.paused: list[float] = []
        identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        identity.load_cert_chain(self.pki.certificate("proxy"), self.pki.key("proxy"))
        self.proxy = Proxy(listener(), identity, self.server.connect, self.paused.append)
        self.proxy.start()
        self.addCleanup(self.proxy.stop)

    def begin(self, target: str, method: str = "GET", body: str = "") -> ssl.SSLSocket:
        """A question, as the client asks it that trusts the cluster's authority."""
        context = ssl.create_default_context(cafile=str(self.pki.certificate(AUTHORITY)))
        plain = socket.create_connection(self.proxy.address, timeout=30)
        client = self.enterContext(context.wrap_socket(plain, server_hostname="127.0.0.1"))
        client.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer abc\r\nConnection: keep-alive\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        return client

    def ask(self, target: str, method: str = "GET", body: str = "") -> str:
        """All that is said until the end of the connection."""
        return rest_of(self.begin(target, method, body))

    def test_what_is_asked_and_answered_passes_and_is_counted(self) -> None:
        said = self.ask("/api/v1/nodes/dgx?fieldManager=partita", "PATCH", "{}" * 50_000)
        self.assertTrue(said.endswith("PATCH /api/v1/nodes/dgx"), said)
        (heard,) = self.server.heard
        head, body = heard.text.decode().split("\r\n\r\n")
        self.assertEqual(body, "{}" * 50_000)
        self.assertIn("PATCH /api/v1/nodes/dgx?fieldManager=partita HTTP/1.1\r\n", head)
        self.assertIn("Authorization: Bearer abc", head)
        self.assertIn("Connection: close", head)
        self.assertNotIn("keep-alive", head)
        self.ask(NODES)
        self.assertEqual(self.proxy.asked(), {"PATCH /api/v1/nodes/dgx": 1, "GET /api/v1/nodes": 1})

    def test_a_new_trouble_cuts_watches_and_counts_anew(self) -> None:
        client = self.begin(WATCH)
        self.assertIn(b"200", client.recv(100))
        self.proxy.make(Trouble(delay=3))
        rest_of(client)
        self.assertEqual(self.proxy.asked(), {})
        self.ask(NODES)
        self.assertEqual(self.paused, [3])
        self.proxy.end_trouble()
        self.ask(NODES)
        self.assertEqual(self.paused, [3])
        self.assertEqual(self.proxy.asked(), {"GET /api/v1/nodes": 2}, "what is asked afterwards belongs to it")

    def test_everything_is_too_much(self) -> None:
        self.proxy.make(Trouble(retry_after=2))
        for target in (NODES, WATCH):
            head, body = self.ask(target).split("\r\n\r\n")
            self.assertTrue(head.startswith("HTTP/1.1 429 Too Many Requests\r\n"), head)
            self.assertIn("Retry-After: 2", head.split("\r\n"))
            self.assertEqual(json.loads(body)["reason"], "TooManyRequests")
        self.assertEqual(self.server.heard, [])

    def test_each_watch_is_told_once_that_its_past_is_gone(self) -> None:
        self.proxy.make(Trouble(gone=True))
        head, body = self.ask(WATCH).split("\r\n\r\n")
        self.assertTrue(head.startswith("HTTP/1.1 200 "), head)
        event = json.loads(body)
        self.assertEqual((event["type"], event["object"]["code"]), ("ERROR", 410))
        self.ask(NODES)
        self.assertIn(b"200 OK", self.begin(WATCH).recv(100))
        self.assertEqual([each.words for each in self.server.heard], ["GET /api/v1/nodes", "watch /api/v1/nodes"])

    def test_a_watch_is_cut_and_an_answer_is_not(self) -> None:
        self.proxy.make(Trouble(cut=0.1))
        self.assertTrue(self.ask(WATCH).endswith("watch /api/v1/nodes"), "what is said before is heard")
        self.assertTrue(self.ask(NODES).endswith("GET /api/v1/nodes"))

    def test_who_goes_unheard_has_asked_nothing(self) -> None:
        socket.create_connection(self.proxy.address).close()
        self.ask(NODES)
        self.assertEqual(self.proxy.asked(), {"GET /api/v1/nodes": 1})


def rest_of(client: ssl.SSLSocket) -> str:
    """Until its end, however that comes: a cut is none of TLS's."""
    said = b""
    try:
        while piece := client.recv(1 << 16):
            said += piece
    except (ssl.SSLError, ConnectionError):
        pass
    return said.decode()


if __name__ == "__main__":
    unittest.main()
