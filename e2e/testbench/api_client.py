"""Asks a cluster's API server, from outside of the cluster's network."""

import ctypes
import http.client
import json
import os
import socket
import ssl
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
    """As the administrator. For waiting: asking 20 times costs less than starting kubectl once."""

    def __init__(self, machine: Machine, pki: Pki) -> None:
        self._machine = machine
        self._pki = pki

    def get(self, path: str) -> tuple[int, str]:
        """Status and body. OSError when nobody answers."""
        return self._request("GET", path)

    def create(self, path: str, made: dict[str, Any]) -> None:
        """Puts one more object into the collection at `path`."""
        status, body = self._request("POST", path, json.dumps(made))
        if status != http.client.CREATED:
            raise Failure(f"POST {path}: HTTP {status}: {body.strip()}")

    def _request(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=str(self._pki.certificate(AUTHORITY)))
        context.load_cert_chain(self._pki.certificate("admin"), self._pki.key("admin"))
        connection = Connection(self._machine.pid, context)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def object(self, path: str) -> dict[str, Any] | None:
        """None where there is no such object, or no API server that answers."""
        try:
            status, body = self.get(path)
        except OSError:
            return None
        return json.loads(body) if status == 200 else None
