"""The agent's control socket, spoken without its code: length, then JSON."""

import json
import socket
import struct


class Failure(Exception):
    """Something is not as it must be; what, for people."""


class Control:
    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(path)

    def call(self, method, **params):
        text = json.dumps({"version": 1, "method": method, "params": params}).encode()
        self._socket.sendall(struct.pack(">I", len(text)) + text)
        while True:
            (size,) = struct.unpack(">I", self._read(4))
            answer = json.loads(self._read(size))
            if "error" in answer:
                raise Failure(f"{method}: {answer['error']}")
            if "result" in answer:
                return answer["result"]

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise Failure("the agent closed its socket")
            data += more
        return data
