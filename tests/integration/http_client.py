#!/usr/bin/python3 -B
"""Our HTTP client against servers that nobody here wrote: Python's http.server and ssl, and raw sockets for what they
would never say. Certificates are made by the openssl program for each run.

Usage: PARTITA_HTTP_PEER=PROGRAM http_client.py [unittest's words]
"""

import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
import warnings

PEER = os.environ["PARTITA_HTTP_PEER"]
LIMIT = 60  # seconds, far above what anything takes


def openssl(*words, text=None):
    subprocess.run(["openssl", *map(str, words)], check=True, input=text, text=True, capture_output=True, timeout=LIMIT)


class Authority:
    """A certificate authority in a folder, and what it signs."""

    def __init__(self, folder, name):
        self.folder, self.name = pathlib.Path(folder), name
        self.cert, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign", "-keyout", self.key, "-out", self.cert)

    def sign(self, name, names="", days=2, usage="serverAuth", subject=None):
        """The certificate's and the key's file. `names` as openssl writes them: IP:127.0.0.1,DNS:x."""
        cert, key, asked = (self.folder / f"{name}.{ending}" for ending in ("pem", "key", "csr"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={subject or name}", "-keyout", key, "-out", asked)
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"extendedKeyUsage={usage}\n" + (f"subjectAltName={names}\n" if names else ""))
        openssl("x509", "-req", "-in", asked, "-CA", self.cert, "-CAkey", self.key, "-days", days, "-extfile", extensions,
                "-out", cert)
        return cert, key


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.seen.append((self.command, self.path, self.client_address[1]))
        if self.path == "/early":
            self.send_response_only(103)
            self.send_header("Link", "</x>")
            self.end_headers()
        if self.path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5;sig=\"a b\"\r\nhello\r\n6 ; x\r\n world\r\n0\r\nX-After: y\r\n\r\n")
        elif self.path == "/until-close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"all")
            self.close_connection = True
        elif self.path == "/large":
            self.answer(b"x" * (3 << 20))
        elif self.path == "/who":
            peer = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
            self.answer(json.dumps({"peer": peer and dict(pair[0] for pair in peer["subject"])["commonName"]}).encode())
        else:
            self.answer(self.path.encode(), Server_Note="größer".encode().decode("latin-1"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.command, self.path, self.client_address[1]))
        self.answer(str(len(body)).encode(), 201)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *words):
        pass


class Place(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="partita-http.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def serve(self, tls=None):
        server = Server(("127.0.0.1", 0), Pages)
        server.seen = []
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def raw(self, talk):
        """A server of one connection after another: `talk` gets each socket, after the request's head was read."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def work():
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    peer.settimeout(LIMIT)
                    text = b""
                    while b"\r\n\r\n" not in text:
                        more = peer.recv(65536)
                        if not more:
                            break
                        text += more
                    try:
                        talk(peer)
                    except OSError:
                        pass

        threading.Thread(target=work, daemon=True).start()
        return listener.getsockname()[1]

    def ask(self, port, *words, host="127.0.0.1"):
        run = subprocess.run([PEER, host, str(port), *map(str, words)], capture_output=True, text=True, timeout=LIMIT,
                             check=True)
        return [json.loads(line) for line in run.stdout.splitlines()]

    def one(self, port, *words, **more):
        answers = self.ask(port, *words, **more)
        self.assertEqual(len(answers), 1, answers)
        return answers[0]


class Plain(Place):
    def test_answers_of_every_shape(self):
        server = self.serve()
        port = server.server_address[1]
        answers = self.ask(port, "--plain", "GET", "/a?b=c", "GET", "/chunks", "GET", "/early", "GET", "/large", "POST", "/p",
                           "GET", "/until-close", "GET", "/last")
        self.assertEqual([each["status"] for each in answers], [200, 200, 200, 200, 201, 200, 200])
        self.assertEqual([each["body"] for each in answers if each["body"][:1] != "x"],
                         ["/a?b=c", "hello world", "/early", str(1 << 20), "all", "/last"])
        self.assertEqual(len(answers[3]["body"]), 3 << 20)
        self.assertIn("python", answers[0]["headers"]["server"].lower())
        # One connection until the server ended it, then another.
        ports = [port for _, _, port in server.seen]
        self.assertEqual(len(set(ports)), 2, server.seen)
        self.assertEqual(ports.count(ports[0]), 6)

    def test_keep_alive_closed_by_the_server_meanwhile(self):
        said = threading.Semaphore(0)

        def talk(peer):
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            peer.shutdown(socket.SHUT_RDWR)
            said.release()

        port = self.raw(talk)
        words = [PEER, "127.0.0.1", str(port), "--plain", "--wait", "GET", "/a", "POST", "/b", "GET", "/c"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            for number in range(3):
                self.assertEqual(json.loads(peer.stdout.readline())["body"], "ok")
                said.acquire(timeout=LIMIT)
                if number < 2:
                    peer.stdin.write("\n")
                    peer.stdin.flush()

    def test_cut_in_the_middle(self):
        port = self.raw(lambda peer: peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
        answer = self.one(port, "--plain", "GET", "/a")
        self.assertEqual(answer["error"], "unavailable")
        self.assertIn("closed in the middle of the answer", answer["text"])

    def test_reset(self):
        def talk(peer):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

        self.assertEqual(self.one(self.raw(talk), "--plain", "GET", "/a")["error"], "unavailable")

    def test_slow(self):
        held = threading.Event()
        self.addCleanup(held.set)

        def talk(peer):
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-")
            held.wait(LIMIT)

        answer = self.one(self.raw(talk), "--plain", "--deadline", 200, "GET", "/a")
        self.assertEqual(answer["error"], "timeout")
        self.assertIn("no answer within 0.2 s", answer["text"])

    def test_huge_head(self):
        def talk(peer):
            peer.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                peer.sendall(b"X-Filler: " + b"x" * 1000 + b"\r\n")

        answer = self.one(self.raw(talk), "--plain", "GET", "/a")
        self.assertEqual((answer["error"], "the answer's head has more than 64 KiB" in answer["text"]), ("invalid", True))

    def test_endless_body(self):
        def talk(peer):
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                peer.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

        answer = self.one(self.raw(talk), "--plain", "GET", "/a")
        self.assertEqual((answer["error"], "has more than 16777216 bytes" in answer["text"]), ("invalid", True))

    def test_a_stream(self):
        server = self.serve()
        port = server.server_address[1]
        told = self.ask(port, "--plain", "STREAM", "/chunks")
        self.assertEqual((told[0]["status"], told[-1]), (200, {"ended": True}))
        self.assertEqual("".join(each.get("bytes", "") for each in told), "hello world")

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        answer = self.one(port, "--plain", "GET", "/a")
        self.assertEqual(answer["error"], "unavailable")
        self.assertIn("Connection refused", answer["text"])

    def test_tls_where_plain_was_meant(self):
        server = self.serve()
        answer = self.one(server.server_address[1], "--insecure", "GET", "/a")
        self.assertEqual(answer["error"], "invalid")
        self.assertIn("does not speak TLS", answer["text"])


class Tls(Place):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.authority = Authority(cls.folder, "authority")
        cls.other = Authority(cls.folder, "other")
        cls.good = cls.authority.sign("good", "IP:127.0.0.1,DNS:api.example,DNS:localhost")

    def tls(self, files, asks_for_client=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        context.set_alpn_protocols(["h2", "http/1.1"])
        if asks_for_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.authority.cert)
        return context

    def port(self, files, **more):
        return self.serve(self.tls(files, **more)).server_address[1]

    def refused(self, files, *words):
        answer = self.one(self.port(files), "--ca", self.authority.cert, *words, "GET", "/a")
        self.assertEqual(answer.get("error"), "denied", answer)
        return answer["text"].split("is refused: ")[1]

    def test_good(self):
        port = self.port(self.good)
        for words in ([], ["--name", "api.example"]):
            answers = self.ask(port, "--ca", self.authority.cert, *words, "GET", "/a", "GET", "/large", "POST", "/p")
            self.assertEqual([each["status"] for each in answers], [200, 200, 201])
        self.assertEqual(self.one(port, "--ca", self.authority.cert, "GET", "/a", host="localhost")["status"], 200)

    def test_one_connection_serves_several_requests(self):
        server = self.serve(self.tls(self.good))
        self.ask(server.server_address[1], "--ca", self.authority.cert, *["GET", "/a"] * 5)
        self.assertEqual(len({port for _, _, port in server.seen}), 1)

    def test_wrong_authority(self):
        files = self.other.sign("foreign", "IP:127.0.0.1")
        self.assertEqual(self.refused(files), "unable to get local issuer certificate")

    def test_wrong_name(self):
        self.assertEqual(self.refused(self.authority.sign("ten", "IP:10.0.0.1")), "IP address mismatch")
        self.assertEqual(self.refused(self.good, "--name", "other.example"), "hostname mismatch")
        # A name in the subject alone, and an address written as a name, are nobody's.
        self.assertEqual(self.refused(self.authority.sign("subject", subject="127.0.0.1")), "IP address mismatch")
        self.assertEqual(self.refused(self.authority.sign("as-name", "DNS:127.0.0.1")), "IP address mismatch")

    def test_expired(self):
        self.assertEqual(self.refused(self.authority.sign("old", "IP:127.0.0.1", days="-1")), "certificate has expired")

    def test_wrong_purpose(self):
        files = self.authority.sign("client-only", "IP:127.0.0.1", usage="clientAuth")
        self.assertEqual(self.refused(files), "unsuitable certificate purpose")

    def test_an_authority_that_another_has_signed_is_enough(self):
        files = self.authority.sign("leaf", "IP:127.0.0.1")
        # The certificate itself as the only thing trusted, as Go would take it.
        self.assertEqual(self.one(self.port(files), "--ca", files[0], "GET", "/a")["status"], 200)

    def test_no_authority(self):
        answer = self.one(self.port(self.good), "GET", "/a")
        self.assertEqual((answer["error"], "no certificate authority is given" in answer["text"]), ("invalid", True))

    def test_the_system_s_authorities_do_not_count(self):
        os.environ["SSL_CERT_FILE"] = str(self.authority.cert)
        self.addCleanup(os.environ.pop, "SSL_CERT_FILE")
        answer = self.one(self.port(self.good), "--ca", self.other.cert, "GET", "/a")
        self.assertEqual(answer["error"], "denied")

    def test_unverified_if_asked_for(self):
        files = self.other.sign("anybody", "DNS:elsewhere")
        self.assertEqual(self.one(self.port(files), "--insecure", "GET", "/a")["status"], 200)

    def test_client_certificates(self):
        port = self.port(self.good, asks_for_client=True)
        cert, key = self.authority.sign("kubelet", usage="clientAuth")
        answer = self.one(port, "--ca", self.authority.cert, "--cert", cert, "--key", key, "GET", "/who")
        self.assertEqual(json.loads(answer["body"]), {"peer": "kubelet"})
        foreign_cert, foreign_key = self.other.sign("stranger", usage="clientAuth")
        answer = self.one(port, "--ca", self.authority.cert, "--cert", foreign_cert, "--key", foreign_key, "GET", "/who")
        self.assertEqual(answer["error"], "denied", answer)
        self.assertIn("refuses our certificate", answer["text"])
        answer = self.one(port, "--ca", self.authority.cert, "GET", "/who")
        self.assertEqual(answer["error"], "denied", answer)
        answer = self.one(port, "--ca", self.authority.cert, "--cert", cert, "--key", foreign_key, "GET", "/who")
        self.assertIn("the client key does not belong to the certificate", answer["text"])

    def test_a_key_with_a_password_is_refused_without_asking(self):
        cert, key = self.authority.sign("secret", usage="clientAuth")
        locked = self.folder / "locked.key"
        openssl("pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked)
        answer = self.one(1, "--ca", self.authority.cert, "--cert", cert, "--key", locked, "GET", "/a")
        self.assertIn("the client certificate's key cannot be read", answer["text"])

    def test_old_versions_are_refused(self):
        context = self.tls(self.good)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        port = self.serve(context).server_address[1]
        self.assertIn("error", self.one(port, "--ca", self.authority.cert, "GET", "/a"))

    def test_version_1_2(self):
        context = self.tls(self.good)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        port = self.serve(context).server_address[1]
        self.assertEqual(self.one(port, "--ca", self.authority.cert, "GET", "/a")["status"], 200)

    def test_cut_without_the_end_of_tls(self):
        context = self.tls(self.good)

        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def work():
            peer = context.wrap_socket(listener.accept()[0], server_side=True)
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
            os.close(peer.detach())

        threading.Thread(target=work, daemon=True).start()
        answer = self.one(listener.getsockname()[1], "--ca", self.authority.cert, "GET", "/a")
        self.assertEqual(answer["error"], "unavailable")
        self.assertIn("without ending TLS", answer["text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
