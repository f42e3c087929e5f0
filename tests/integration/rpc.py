#!/usr/bin/python3 -B
"""Our gRPC against one that nobody here wrote: Python's (Debian's python3-grpcio), as client and as server.

Usage: PARTITA_RPC_PEER=PROGRAM rpc.py [unittest's words]
"""

import concurrent.futures
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading
import unittest

import grpc

PEER = os.environ["PARTITA_RPC_PEER"]
LIMIT = 60  # seconds, far above what anything takes
TEXT = "größer als 100 %\n日本\ttab"


class Place(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="partita-rpc.")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "rpc.sock")

    def start(self, *words):
        peer = subprocess.Popen([PEER, *words, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, peer)
        return peer

    @staticmethod
    def end(peer):
        if peer.poll() is None:
            peer.terminate()
        peer.communicate(timeout=LIMIT)


class OurServer(Place):
    def setUp(self):
        super().setUp()
        self.serve()
        self.channel = self.connect()

    def serve(self):
        self.server = self.start("serve")
        self.assertEqual(self.server.stdout.readline(), "listening\n")

    def connect(self, **options):
        # Without the second, channels of one process share their connection.
        words = [(f"grpc.{key}", value) for key, value in options.items()]
        channel = grpc.insecure_channel(f"unix:{self.path}", options=[("grpc.use_local_subchannel_pool", 1), *words])
        self.addCleanup(channel.close)
        return channel

    def ask(self, method, request=b"", **words):
        words = {"timeout": LIMIT, "wait_for_ready": True, **words}
        return self.channel.unary_unary(f"/t.T/{method}")(request, **words)

    def refused(self, method, request=b"", **words):
        with self.assertRaises(grpc.RpcError) as caught:
            self.ask(method, request, **words)
        return caught.exception.code(), caught.exception.details()

    def watch(self, request=b"", **words):
        return self.channel.unary_stream("/t.T/Watch")(request, **{"timeout": LIMIT, **words})

    def test_unary(self):
        for request in (b"", b"x", bytes(range(256)) * 17):
            self.assertEqual(self.ask("Echo", request), request)

    def test_many_at_once(self):
        calls = [self.channel.unary_unary("/t.T/Echo").future(b"%d" % i, timeout=LIMIT) for i in range(500)]
        self.assertEqual([call.result() for call in calls], [b"%d" % i for i in range(500)])

    def test_three_megabytes(self):
        large = os.urandom(3 << 20)
        self.assertEqual(self.ask("Echo", large), large)

    def test_too_large_a_request(self):
        self.assertEqual(self.refused("Echo", bytes((4 << 20) + 1)),
                         (grpc.StatusCode.RESOURCE_EXHAUSTED, "the message has 4194305 bytes; 4194304 are taken at most"))
        self.assertEqual(self.ask("Echo", b"next"), b"next")

    def test_too_large_an_answer(self):
        self.assertEqual(self.refused("Large", b"17000000"),
                         (grpc.StatusCode.RESOURCE_EXHAUSTED, "the answer has 17000000 bytes, which nobody takes"))

    def test_errors_with_text(self):
        for text in (TEXT, "plain", "%", "ö" * 9000):
            code, details = self.refused("Fail", text.encode())
            self.assertEqual(code, grpc.StatusCode.ALREADY_EXISTS)
            whole = text + "; a hint"
            self.assertEqual(details, whole if len(whole) < 600 else whole[:len(details)])
            self.assertGreater(len(details), min(len(text), 600))

    def test_unknown_method(self):
        self.assertEqual(self.refused("Nothing"),
                         (grpc.StatusCode.UNIMPLEMENTED, "method /t.T/Nothing is not served here"))

    def test_compressed_request(self):
        code, details = self.refused("Echo", bytes(10000), compression=grpc.Compression.Gzip)
        self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn("compressed", details)

    def test_more_than_one_request(self):
        call = self.channel.stream_unary("/t.T/Echo")
        for requests in ([], [b"one", b"two"]):
            with self.assertRaises(grpc.RpcError) as caught:
                call(iter(requests), timeout=LIMIT)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_deadline(self):
        self.assertEqual(self.refused("Never", timeout=0.01)[0], grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.ask("Echo", b"next"), b"next")

    def test_authority_of_any_form(self):
        for name in ("localhost", str(self.path), str(self.path).replace("/", "%2F")):
            self.channel = self.connect(default_authority=name)
            self.assertEqual(self.ask("Echo", b"x"), b"x")

    def test_stream_with_updates(self):
        stream = self.watch(b"a")
        self.assertEqual(next(stream), b"first: a")
        for update in (b"one", b"", os.urandom(3 << 20), b"last"):
            self.assertEqual(self.ask("Publish", update), b"1")
            self.assertEqual(next(stream), update)
        self.ask("Finish", TEXT.encode())
        with self.assertRaises(grpc.RpcError):
            next(stream)
        self.assertEqual((stream.code(), stream.details()), (grpc.StatusCode.ABORTED, TEXT))

    def test_the_newest_counts(self):
        # Whoever does not look for a while gets what was on its way, then the newest.
        stream = self.watch(b"a")
        self.assertEqual(next(stream), b"first: a")
        updates = [b"%d" % i + bytes(1 << 20) for i in range(64)]
        for update in updates:
            self.ask("Publish", update)
        seen = []
        while not seen or seen[-1] != updates[-1]:
            seen.append(next(stream))
        self.assertLess(len(seen), 32)
        self.assertEqual([updates.index(each) for each in seen], sorted(updates.index(each) for each in seen))

    def test_two_streams_at_once(self):
        streams = [self.watch(b"a"), self.watch(b"b")]
        self.assertEqual([next(each) for each in streams], [b"first: a", b"first: b"])
        self.assertEqual(self.ask("Publish", b"both"), b"2")
        self.assertEqual([next(each) for each in streams], [b"both", b"both"])
        streams[0].cancel()
        self.ask("AwaitClosed")
        self.assertEqual(self.ask("Publish", b"one"), b"1")
        self.assertEqual(next(streams[1]), b"one")

    def test_cancelled_stream_is_heard_of(self):
        stream = self.watch()
        next(stream)
        stream.cancel()
        self.assertEqual(self.ask("AwaitClosed"), b"closed")
        self.assertEqual(self.ask("Publish"), b"0")

    def test_stream_of_a_lost_connection_is_heard_of(self):
        other = self.connect()
        stream = other.unary_stream("/t.T/Watch")(b"", timeout=LIMIT)
        next(stream)
        other.close()
        self.assertEqual(self.ask("AwaitClosed"), b"closed")

    def test_stream_with_a_deadline(self):
        stream = self.watch(timeout=0.5)
        with self.assertRaises(grpc.RpcError):
            while True:
                next(stream)
        self.assertEqual(stream.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.ask("Echo", b"next"), b"next")

    def test_restart_on_the_same_path(self):
        for signal_number in (signal.SIGKILL, signal.SIGTERM):
            stream = self.watch(wait_for_ready=True)
            next(stream)
            self.server.send_signal(signal_number)
            self.server.wait(LIMIT)
            with self.assertRaises(grpc.RpcError):
                next(stream)
            self.assertEqual(stream.code(), grpc.StatusCode.UNAVAILABLE)
            self.serve()
            self.assertEqual(self.ask("Echo", b"again"), b"again")

    def test_keepalive_pings(self):
        # A ping in every millisecond or so; one that is not answered would cost the connection.
        self.channel = self.connect(keepalive_time_ms=1, keepalive_timeout_ms=1000 * LIMIT,
                                    keepalive_permit_without_calls=1, **{"http2.max_pings_without_data": 0})
        stream = self.watch(b"a")
        next(stream)
        for i in range(1000):
            self.assertEqual(self.ask("Publish", b"%d" % i), b"1")
            self.assertEqual(next(stream), b"%d" % i)


class Methods(grpc.GenericRpcHandler):
    """The other way round: a server of Python's."""

    def __init__(self):
        self.heard = queue.Queue()
        self.let_go = threading.Event()

    def service(self, details):
        served = {"Echo": self.echo, "Fail": self.fail, "Never": self.never, "Unset": lambda request, context: 1 / 0}
        method = served.get(details.method.rpartition("/")[2])
        return grpc.unary_unary_rpc_method_handler(method) if method else None

    @staticmethod
    def echo(request, _):
        return request

    @staticmethod
    def fail(request, context):
        context.abort(list(grpc.StatusCode)[request[0]], request[1:].decode())

    def never(self, _, context):
        self.heard.put(context.time_remaining())
        context.add_callback(lambda: self.heard.put("cancelled"))
        self.let_go.wait(LIMIT)
        return b""


class OurChannel(Place):
    def setUp(self):
        super().setUp()
        self.methods = Methods()
        self.addCleanup(self.methods.let_go.set)
        self.serve()
        self.peer = self.start("call")
        self.number = 0

    def serve(self, **words):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), [self.methods],
                                  options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
                                  **words)
        self.server.add_insecure_port(f"unix:{self.path}")
        self.server.start()
        self.addCleanup(self.server.stop, None)

    def begin(self, method, request=b"", milliseconds=1000 * LIMIT):
        self.number += 1
        self.peer.stdin.write(f"{self.number} /t.T/{method} {milliseconds} {request.hex()}\n")
        self.peer.stdin.flush()
        return str(self.number)

    def answer(self):
        number, end, *text = self.peer.stdout.readline().split()
        text = bytes.fromhex(text[0]) if text else b""
        return number, end, text if end == "ok" else text.decode()

    def ask(self, *words, **named):
        number = self.begin(*words, **named)
        answer = self.answer()
        self.assertEqual(answer[0], number)
        return answer[1:]

    def test_unary(self):
        for request in (b"", b"x", bytes(range(256)) * 17):
            self.assertEqual(self.ask("Echo", request), ("ok", request))

    def test_many_at_once(self):
        numbers = {self.begin("Echo", b"%d" % i): b"%d" % i for i in range(300)}
        for _ in range(300):
            number, end, text = self.answer()
            self.assertEqual((end, text), ("ok", numbers.pop(number)))

    def test_three_megabytes(self):
        large = os.urandom(3 << 20)
        self.assertEqual(self.ask("Echo", large), ("ok", large))

    def test_errors_with_text(self):
        codes = {grpc.StatusCode.NOT_FOUND: "not-found", grpc.StatusCode.UNKNOWN: "internal",
                 grpc.StatusCode.PERMISSION_DENIED: "denied", grpc.StatusCode.UNAVAILABLE: "unavailable"}
        for code, meaning in codes.items():
            request = bytes([list(grpc.StatusCode).index(code)]) + TEXT.encode()
            self.assertEqual(self.ask("Fail", request), (meaning, f"/t.T/Fail of {self.path}: {TEXT}"))

    def test_unknown_method(self):
        self.assertEqual(self.ask("Nothing"), ("unsupported", f"/t.T/Nothing of {self.path}: Method not found!"))

    def test_exception_in_the_server(self):
        end, text = self.ask("Unset")
        self.assertEqual(end, "internal")
        self.assertIn("division by zero", text)

    def test_deadline(self):
        # Both sides keep it, and either may be the first to say so; on a busy machine before anything is served.
        self.assertEqual(self.ask("Never", milliseconds=100)[0], "timeout")
        self.assertEqual(self.ask("Echo", b"next"), ("ok", b"next"))

    def test_the_server_knows_the_deadline_and_hears_of_a_caller_that_is_gone(self):
        self.begin("Never", milliseconds=3_600_000)
        remaining = self.methods.heard.get(timeout=LIMIT)
        self.assertTrue(3600 - LIMIT < remaining <= 3600, remaining)
        self.peer.stdin.close()
        self.assertEqual(self.methods.heard.get(timeout=LIMIT), "cancelled")
        self.peer.wait(LIMIT)
        self.peer.stdin = None

    def test_a_server_that_compresses_without_being_asked(self):
        self.server.stop(None).wait(LIMIT)
        self.serve(compression=grpc.Compression.Gzip)
        end, text = self.ask("Echo", bytes(10000))
        self.assertEqual(end, "invalid")
        self.assertIn("the message is compressed", text)
        self.assertEqual(self.ask("Nothing")[0], "unsupported")

    def test_restart_on_the_same_path(self):
        for grace in (None, 0):
            self.assertEqual(self.ask("Echo", b"x"), ("ok", b"x"))
            number = self.begin("Never")
            self.methods.heard.get(timeout=LIMIT)
            self.server.stop(grace)
            self.assertEqual(self.answer()[:2], (number, "unavailable"))
            self.methods.let_go.set()
            self.server.stop(None).wait(LIMIT)
            self.assertEqual(self.ask("Echo")[0], "unavailable")
            self.methods = Methods()
            self.serve()
            self.assertEqual(self.ask("Echo", b"again"), ("ok", b"again"))

    def test_a_server_that_ends_in_order_lets_calls_end(self):
        number = self.begin("Never")
        self.methods.heard.get(timeout=LIMIT)
        stopped = self.server.stop(LIMIT)
        self.methods.let_go.set()
        self.assertEqual(self.answer(), (number, "ok", b""))
        stopped.wait(LIMIT)
        self.methods = Methods()
        self.serve()
        self.assertEqual(self.ask("Echo", b"again"), ("ok", b"again"))


if __name__ == "__main__":
    unittest.main()
