"""A machine of the cluster, as the harness sees it: a set of namespaces with an init of ours in it."""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.shell import Failure, SetupError
from testbench import cgroups

PACKAGES = Path(__file__).resolve().parent.parent
SUPPORT = PACKAGES.parent / "tests"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT_SECONDS = 60
ANSWER_SECONDS = 60
STOP_SECONDS = 20
POLL_SECONDS = 0.02
LAST_LINES = 15
# Begins when it is in its cgroups; without a harness that says so, never.
WHEN_TOLD = 'read -r _ && exec "$@" </dev/null'
NAMESPACES = ("mount", "uts", "ipc", "net", "pid")


@dataclasses.dataclass(frozen=True)
class FileSystem:
    """What a machine sees beside the host's files; machine_boot makes it."""

    keep: list[Path]  # of the host, although their folder may be covered
    folders: dict[str, Path]  # path in the machine -> folder that outlives a reboot
    files: dict[str, str]  # path in the machine -> text, written anew at each boot
    covered: dict[str, str] = dataclasses.field(default_factory=dict)  # of /proc: path -> text


class Machine:
    """Programs run in it under names. It can boot again after halt(); logs are appended to."""

    def __init__(self, cluster: str, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.cgroup = cgroups.machine_path(cluster, name)
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.pid = 0  # of its init, as the host counts
        self._launcher: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    # ---- life ----

    def boot(self, files: FileSystem, enter: Iterable[str] = (), environment: Mapping[str, str] = {}) -> None:
        """`enter` is a command that runs the rest of its line in a view of its own."""
        for source in files.folders.values():
            source.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        root = self.folder / "root"
        root.mkdir(exist_ok=True)
        plan = {
            "hostname": self.name,
            "root": str(root.resolve()),
            "control": theirs.fileno(),
            "keep": [str(path) for path in (*files.keep, PACKAGES, SUPPORT)],
            "folders": [[str(source), target] for target, source in files.folders.items()],
            "files": files.files,
            "covered": files.covered,
            "enter": list(enter),
        }
        with theirs:
            self._launch(plan, environment)
        self._await_init()

    def _launch(self, plan: dict[str, Any], environment: Mapping[str, str]) -> None:
        plan_file = self.folder / "boot.json"
        plan_file.write_text(json.dumps(plan, indent=1), encoding="utf-8")
        boot = [sys.executable, "-B", "-m", "testbench.machine_boot", str(plan_file)]
        with open(self.log_path("boot"), "ab") as log:
            self._launcher = subprocess.Popen(
                ["sh", "-c", WHEN_TOLD, "sh", *self._unshare(), *boot], stdin=subprocess.PIPE, stdout=log,
                stderr=log, pass_fds=[plan["control"]], cwd="/", start_new_session=True,
                env={**environment, "PYTHONPATH": f"{PACKAGES}:{SUPPORT}"},
            )
        cgroups.join(self.cgroup, self._launcher.pid)
        self._launcher.stdin.write(b"go\n")
        self._launcher.stdin.close()

    def _unshare(self) -> list[str]:
        """Mounts are kept from the host by machine_boot: in a chroot, unshare cannot."""
        chosen = [f"--{name}" for name in NAMESPACES]
        return ["unshare", *chosen, "--propagation=unchanged", "--fork", "--kill-child", "--"]

    def _await_init(self) -> None:
        self._control.settimeout(BOOT_SECONDS)
        try:
            answer = self._control.recv(4096)
        except TimeoutError:
            answer = b""
        if not answer:
            self.halt()
            raise SetupError(f"the machine {self.name} does not boot:\n{self.last_words('boot')}")
        self._control.settimeout(ANSWER_SECONDS)
        launcher = self._launcher.pid
        children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="utf-8")
        self.pid = int(children.split()[0])
        self.pid_file(self.folder).write_text(f"{self.pid}\n", encoding="utf-8")

    @staticmethod
    def pid_file(folder: Path) -> Path:
        """Says to other processes where the machine is; it has another init after a reboot."""
        return folder / "pid"

    @property
    def is_up(self) -> bool:
        return self.pid != 0

    def kill_all(self) -> None:
        """Everything in it dies at once, as when the power goes; halt() waits for that."""
        for pid in (self.pid, self._launcher.pid if self._launcher else 0):
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def halt(self) -> None:
        """Returns when nothing of it runs, and its cgroups are gone. It can boot again."""
        self.kill_all()
        if self._launcher is not None:
            self._launcher.wait()
        if self._control is not None:
            self._control.close()
        self.pid, self._launcher, self._control = 0, None, None
        cgroups.remove(self.cgroup, keep_parents=True)

    # ---- programs under a name ----

    def spawn(self, name: str, command: list[str], environment: Mapping[str, str]) -> int:
        """Starts a program that runs until it is stopped; its output goes to logs/NAME.log."""
        running = self.programs().get(name)
        if running and running["exit"] is None:
            raise Failure(f"{name} runs already on {self.name}, as process {running['pid']}")
        answer = self._ask(
            do="spawn", name=name, command=command, environment=dict(environment),
            log=str(self.log_path(name)),
        )
        return answer["pid"]

    def programs(self) -> dict[str, dict[str, Any]]:
        """Name -> {"pid": as the machine counts, "exit": status, None while it runs}."""
        return self._ask(do="list")["programs"]

    def exit_status(self, name: str) -> int | None:
        """None while it runs."""
        known = self.programs().get(name)
        if known is None:
            raise Failure(f"no program {name!r} was started on {self.name}")
        return known["exit"]

    def stop(self, name: str, number: int = signal.SIGTERM, seconds: float = STOP_SECONDS) -> int:
        """Signals the program and waits for its end; what ignores SIGTERM for long is killed."""
        self._ask(do="signal", name=name, signal=int(number))
        deadline = time.monotonic() + seconds
        while (status := self.exit_status(name)) is None:
            if time.monotonic() > deadline:
                if number == signal.SIGKILL:
                    raise Failure(f"{name} on {self.name} does not die")
                return self.stop(name, signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        return status

    def kill(self, name: str) -> None:
        self.stop(name, signal.SIGKILL)

    def _ask(self, **request: Any) -> dict[str, Any]:
        with self._lock:
            if self._control is None:
                raise Failure(f"{self.name} is not running")
            answer = self._exchange(json.dumps(request).encode())
        if not answer:
            raise Failure(f"{self.name} has died; its last words:\n{self.last_words('boot')}")
        parsed = json.loads(answer)
        if "error" in parsed:
            raise Failure(f"{self.name}: cannot {request['do']} {request.get('name', '')}: {parsed['error']}")
        return parsed

    def _exchange(self, request: bytes) -> bytes:
        """The answer of its init; nothing from a dead one. After one that is late nothing more is asked: the
        late answer would be taken for the next one."""
        try:
            self._control.send(request)
            return self._control.recv(1 << 20)
        except TimeoutError as late:
            self._control.close()
            self._control = None
            words = f"the init of {self.name} has not answered within {ANSWER_SECONDS} s, and is asked nothing more"
            raise Failure(f"{words}\n{self.last_words('boot')}") from late
        except OSError:
            return b""

    # ---- from outside ----

    def enter(self, command: Iterable[str], namespaces: Iterable[str] = NAMESPACES) -> list[str]:
        """The command line that runs `command` in this machine's namespaces."""
        return enter(self.pid, command, namespaces)

    def log_path(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def last_words(self, name: str, lines: int = LAST_LINES) -> str:
        return last_words(self.log_path(name), lines)


def enter(pid: int, command: Iterable[str], namespaces: Iterable[str] = NAMESPACES) -> list[str]:
    chosen = [f"--{name}" for name in namespaces]
    folder = ["--wdns=/"] if "mount" in namespaces else []
    return ["nsenter", f"--target={pid}", *chosen, *folder, "--", *command]


def last_words(path: Path, lines: int = LAST_LINES) -> str:
    """The end of a log, indented, under its name."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return f"  (no log {path})"
    kept = text.splitlines()[-lines:] or ["(empty)"]
    return "\n".join([f"  the end of {path}:", *(f"    {line[:400]}" for line in kept)])
