"""Asks a cluster's API server, from outside of the cluster's network."""

import ctypes
import http.client
import json
import os
import select
import socket
import ssl
import threading
from typing import Any

from support.shell import Failure
from testbench import addresses
from testbench.machine import Machine
from testbench.pki import AUTHORITY, Pki

SECONDS = 10
NEW_NETWORK = 0x40000000  # CLONE_NEWNET

_libc = ctypes.CDLL(None, use_errno=True)


def socket_in(pid: int) -> socket.socket:
    """A socket of the network namespace of process `pid`: it stays there when this thread comes back."""
    target = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(target)
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        finally:
            enter(own)
    finally:
        os.close(target)
        os.close(own)


def enter(namespace: int) -> None:
    if _libc.setns(namespace, NEW_NETWORK) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"enter a network namespace: {os.strerror(error)}")


class Connection(http.client.HTTPSConnection):
    def __init__(self, pid: int, context: ssl.SSLContext) -> None:
        super().__init__(addresses.CONTROL_PLANE, addresses.API_PORT, timeout=SECONDS, context=context)
        self._pid = pid

    def connect(self) -> None:
        plain = socket_in(self._pid)
        plain.settimeout(SECONDS)
        try:
            plain.connect((self.host, self.port))
            self.sock = self._context.wrap_socket(plain, server_hostname=self.host)
        except OSError:
            plain.close()
            raise


class ApiClient:
    """As the administrator. For waiting: asking a hundred times costs less than starting kubectl once. Each
    thread has a connection of its own, which stays open from one question to the next."""

    def __init__(self, machine: Machine, pki: Pki, token: str = "") -> None:
        """With a token: as whoever it is of."""
        self._machine = machine
        self._token = token
        self._pki = pki
        self._kept = threading.local()

    def get(self, path: str, accept: str = "") -> tuple[int, str]:
        """Status and body. OSError when nobody answers."""
        return self.request("GET", path, headers={"Accept": accept} if accept else {})

    def create(self, path: str, made: dict[str, Any]) -> None:
        """Puts one more object into the collection at `path`."""
        self._succeed("POST", path, json.dumps(made))

    def put_object(self, path: str, wanted: dict[str, Any]) -> None:
        """Makes or changes the object at `path` (server-side apply)."""
        options = "fieldManager=e2e&force=true"
        self._succeed("PATCH", f"{path}?{options}", json.dumps(wanted), "application/apply-patch+yaml")

    def patch(self, path: str, changes: dict[str, Any]) -> None:
        """A merge patch: null removes."""
        self._succeed("PATCH", path, json.dumps(changes), "application/merge-patch+json")

    def delete(self, path: str, options: dict[str, Any] | None = None) -> bool:
        """An object, or a whole collection. False: it was not there."""
        status, body = self.request("DELETE", path, json.dumps(options or {}))
        if status == http.client.NOT_FOUND:
            return False
        self._judge("DELETE", path, status, body)
        return True

    def object(self, path: str) -> dict[str, Any] | None:
        """None where there is no such object, or no API server that answers."""
        try:
            status, body = self.get(path)
        except OSError:
            return None
        return json.loads(body) if status == 200 else None

    def items(self, path: str, accept: str = "") -> list[dict[str, Any]]:
        """Of the collection at `path`."""
        status, body = self.get(path, accept)
        self._judge("GET", path, status, body)
        return json.loads(body).get("items") or []

    def _succeed(self, method: str, path: str, body: str, kind: str = "application/json") -> None:
        status, answer = self.request(method, path, body, {"Content-Type": kind})
        self._judge(method, path, status, answer)

    def _judge(self, method: str, path: str, status: int, body: str) -> None:
        if status >= http.client.BAD_REQUEST:
            raise Refused(method, path, status, body)

    def request(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        connection = self._connection()
        try:
            own = {"Authorization": f"Bearer {self._token}"} if self._token else {}
            connection.request(method, path, body, {"Content-Type": "application/json", **own, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except http.client.HTTPException as error:
            self.close()
            raise OSError(f"{method} {path}: {error!r}") from error
        except BaseException:  # half of an answer must not be taken for the next one
            self.close()
            raise

    def as_owner_of(self, token: str) -> "ApiClient":
        return ApiClient(self._machine, self._pki, token)

    def close(self) -> None:
        connection = getattr(self._kept, "connection", None)
        if connection is not None:
            connection.close()
        self._kept.connection = None

    def _connection(self) -> Connection:
        """The open one, unless the server has ended it meanwhile: then there is something to read, its end."""
        kept = getattr(self._kept, "connection", None)
        if kept is not None and kept.sock is not None and not readable(kept.sock):
            return kept
        self.close()
        context = ssl.create_default_context(cafile=str(self._pki.certificate(AUTHORITY)))
        if not self._token:
            context.load_cert_chain(self._pki.certificate("admin"), self._pki.key("admin"))
        self._kept.connection = Connection(self._machine.pid, context)
        return self._kept.connection


class Refused(Failure):
    """What the API server says no to."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: HTTP {status}: {refusal(body)}")
        self.status = status


def refusal(body: str) -> str:
    """What the API server says in an answer that is an error: an object with a message, or plain text."""
    try:
        return json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.strip()


def readable(open_socket: socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(open_socket, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(0))
