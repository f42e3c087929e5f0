"""A proxy before an API server: it counts what it is asked for and, told to, answers as servers in trouble do.

Each answer ends its connection: nobody asks anything past it.
"""

import collections
import contextlib
import dataclasses
import http
import json
import math
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

PIECE = 1 << 16
HEAD_END = b"\r\n\r\n"
SECONDS = 30  # for a question to come whole
POLL_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class Trouble:
    """How whoever asks fares; as it stands here, well."""

    delay: float = 0  # seconds before each answer
    retry_after: int = 0  # everything is answered 429, with this wish in seconds
    gone: bool = False  # each watch is told once that its past is forgotten (410)
    cut: float = 0  # seconds that a watch lives


@dataclasses.dataclass(frozen=True)
class Question:
    words: str  # "PATCH /api/v1/nodes/dgx", "watch /api/v1/nodes"
    is_watch: bool
    text: bytes  # to pass on


class Proxy:
    """Threads of its own, from start() to stop()."""

    def __init__(
        self, listener: socket.socket, identity: ssl.SSLContext, connect: Callable[[], socket.socket],
        pause: Callable[[float], Any] | None = None,
    ) -> None:
        """`connect` gives a connection to the server, encrypted where that is; `pause` waits."""
        self._listener, self._identity, self._connect = listener, identity, connect
        self._ended = threading.Event()
        self._pause = pause or self._ended.wait
        self._lock = threading.Lock()
        self._trouble = Trouble()
        self._asked: collections.Counter[str] = collections.Counter()
        self._told_gone: set[str] = set()
        self._watches: set[tuple[socket.socket, socket.socket]] = set()

    def start(self) -> None:
        threading.Thread(target=self._accept, name="troubled API server", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        shut(self._listener)  # close() alone does not wake up who accepts
        self._listener.close()
        self._cut_watches()

    @property
    def address(self) -> tuple[str, int]:
        return self._listener.getsockname()

    def make(self, trouble: Trouble) -> None:
        """From now on. It counts anew, and the watches that are open are cut: they would not notice."""
        with self._lock:
            self._trouble = trouble
            self._asked.clear()
            self._told_gone.clear()
        self._cut_watches()

    def end_trouble(self) -> None:
        with self._lock:
            self._trouble = Trouble()

    def asked(self) -> dict[str, int]:
        """How often for what, since the trouble began."""
        with self._lock:
            return dict(self._asked)

    # ---- one connection ----

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # stopped
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(SECONDS)
        with contextlib.suppress(OSError), connection:
            with self._identity.wrap_socket(connection, server_side=True) as client:
                question = read_question(client)
                if question is not None:
                    self._answer(question, client)

    def _answer(self, question: Question, client: socket.socket) -> None:
        with self._lock:
            trouble = self._trouble
            self._asked[question.words] += 1
            tell_gone = trouble.gone and question.is_watch and question.words not in self._told_gone
            if tell_gone:
                self._told_gone.add(question.words)
        if trouble.delay:
            self._pause(trouble.delay)
        if trouble.retry_after:
            client.sendall(too_many(trouble.retry_after))
        elif tell_gone:
            client.sendall(gone())
        else:
            with self._connect() as server, self._kept(question, trouble, client, server):
                server.sendall(question.text)
                lives = trouble.cut if question.is_watch and trouble.cut else math.inf
                pass_on(server, client, time.monotonic() + lives)

    @contextlib.contextmanager
    def _kept(
        self, question: Question, trouble: Trouble, client: socket.socket, server: socket.socket
    ) -> Iterator[None]:
        """A watch is where the next trouble finds it."""
        pair = (client, server)
        with self._lock:
            if question.is_watch:
                self._watches.add(pair)
                if self._trouble is not trouble and self._trouble != Trouble():
                    shut(client)  # it began before, and would have none of it
        try:
            yield
        finally:
            with self._lock:
                self._watches.discard(pair)

    def _cut_watches(self) -> None:
        with self._lock:
            for pair in self._watches:
                for each in pair:
                    shut(each)


def shut(connection: socket.socket) -> None:
    """Who reads from it reads its end. As a plain socket: SSLSocket.shutdown() would have its other thread read what is
    encrypted."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def pass_on(server: socket.socket, client: socket.socket, until: float) -> None:
    """What the server says, until one of the two ends or the time has come."""
    server.settimeout(POLL_SECONDS)
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([server, client], [], [], min(left, POLL_SECONDS))
        if client in ready:
            return  # it has asked, and has no more to say
        if server not in ready:
            continue
        try:
            piece = server.recv(PIECE)
        except TimeoutError:
            continue  # what came was TLS's own
        if not piece:
            return
        client.sendall(piece)


# ---- what is said ----


def read_question(connection: socket.socket) -> Question | None:
    """None: the other end has gone before it asked."""
    text = b""
    while HEAD_END not in text:
        if not (piece := connection.recv(PIECE)):
            return None
        text += piece
    head, body = text.split(HEAD_END, 1)
    line, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    size = int(headers.get("content-length", "0"))
    while len(body) < size:
        if not (piece := connection.recv(PIECE)):
            return None
        body += piece
    method, target, _ = line.split(" ")
    place = urlsplit(target)
    is_watch = parse_qs(place.query).get("watch", ["false"])[0] in ("true", "1")
    kept = [field for field in fields if not field.lower().startswith("connection:")]
    passed = "\r\n".join([line, *kept, "Connection: close"]).encode("latin-1") + HEAD_END + body
    return Question(f"{'watch' if is_watch else method} {place.path}", is_watch, passed)


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason,
        "code": code,
    }


def too_many(retry_after: int) -> bytes:
    document = status(429, "TooManyRequests", "too many requests, as the test bench says; try again later")
    return answer(429, json.dumps(document).encode(), f"Retry-After: {retry_after}")


def gone() -> bytes:
    """As of a watch that begins with a version which etcd has no more."""
    event = {"type": "ERROR", "object": status(410, "Expired", "too old resource version, as the test bench says")}
    return answer(200, json.dumps(event).encode() + b"\n")


def answer(code: int, body: bytes, *fields: str) -> bytes:
    lines = [
        f"HTTP/1.1 {code} {http.HTTPStatus(code).phrase}", "Content-Type: application/json",
        f"Content-Length: {len(body)}", "Connection: close", *fields,
    ]
    return "\r\n".join(lines).encode() + HEAD_END + body
