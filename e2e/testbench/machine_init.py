"""Process 1 of a machine: starts programs on request, reaps the dead, and ends when its harness does.

The harness holds the other end of the control socket. When it goes, however it goes, the socket reports the
end, this process exits, and the kernel kills every process of the machine and drops its mounts.
"""

import json
import os
import selectors
import signal
import socket
import sys
from typing import Any

from testbench import mounts

REQUEST_BYTES = 1 << 20


class Init:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, str] = {}
        self._programs: dict[str, dict[str, Any]] = {}

    def serve(self) -> None:
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # The kernel ignores these for process 1 anyway, unless it handles them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        self._send({"ready": True})
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if wake_read in ready:
                os.read(wake_read, 4096)
            self._reap()
            if self._control in ready:
                self._answer()

    def _answer(self) -> None:
        request = self._control.recv(REQUEST_BYTES)
        if not request:
            os._exit(0)
        try:
            self._send(self._carry_out(json.loads(request)))
        except OSError as error:
            self._send({"error": str(error)})

    def _send(self, answer: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(answer).encode())
        except BrokenPipeError:
            os._exit(0)

    def _carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "spawn":
            return self._spawn(request)
        if request["do"] == "signal":
            return self._signal(request["name"], request["signal"])
        return {"programs": self._programs}

    def _spawn(self, request: dict[str, Any]) -> dict[str, Any]:
        name, command = request["name"], request["command"]
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ]
        try:
            pid = os.posix_spawnp(
                command[0], command, request["environment"], file_actions=actions, setsid=True,
                setsigdef=[signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE],
            )
        finally:
            os.close(log)
        self._running[pid] = name
        self._programs[name] = {"pid": pid, "exit": None}
        return {"pid": pid}

    def _signal(self, name: str, number: int) -> dict[str, Any]:
        program = self._programs.get(name)
        if program is None or program["exit"] is not None:
            return {"sent": False}
        os.kill(program["pid"], number)
        return {"sent": True}

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self._running.pop(pid, None)
            if name is not None and self._programs[name]["pid"] == pid:
                self._programs[name]["exit"] = os.waitstatus_to_exitcode(status)


def main(arguments: list[str]) -> None:
    # As on a real node, where a container can ask that its mounts appear in others.
    mounts.share_all()
    os.chdir("/")
    control = socket.socket(fileno=int(arguments[0]))
    os.set_inheritable(control.fileno(), False)
    Init(control).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
