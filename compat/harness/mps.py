"""A place for MPS on a simulated node: /mps and kubelet's folder of sockets, which NVIDIA's programs have built in."""

import contextlib
import json
import os
import shutil
import signal
import socket
import tempfile
import time

from support.shell import Failure

# Our machine may have no /mps, and what is at its root is not ours to add to: a root with the same folders, and that.
PLACE = """
mount -t tmpfs tmpfs "$0/root" || exit 1
for path in /*; do
  [ ! -L "$path" ] || { cp -P "$path" "$0/root/" && continue; }
  [ ! -d "$path" ] || { mkdir "$0/root$path" && mount --rbind "$path" "$0/root$path"; } || exit 1
done
mkdir "$0/root/mps" && mount --bind "$0/mps" "$0/root/mps" && mount -t tmpfs tmpfs "$0/root/var/lib" &&
mkdir -p "$0/root/var/lib/kubelet/device-plugins" &&
mount --bind "$0/sockets" "$0/root/var/lib/kubelet/device-plugins" && exec chroot "$0/root" "$@"
"""
SECONDS = 60


class Place:
    """`with Place() as place`: nothing of MPS outlives it."""

    def __enter__(self):
        # Short: what lies in it is the path of a socket.
        self.folder = tempfile.mkdtemp(prefix="mps", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.mps = os.path.join(self.folder, "mps")
        self.sockets = os.path.join(self.folder, "sockets")
        for name in ("root", "mps", "sockets"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        # Partita serves where a kubelet listens; nobody answers here, and nobody needs to.
        self._kubelet = socket.socket(socket.AF_UNIX)
        self._kubelet.bind(os.path.join(self.sockets, "kubelet.sock"))
        self._kubelet.listen(64)
        return self

    def __exit__(self, *_):
        end_daemons(self.folder)
        self._kubelet.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, command):
        """Of a program that finds /mps and its sockets there; to be run in a mount namespace of its own."""
        return ["sh", "-c", PLACE, self.folder, *command]

    def file(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def socket_of(self, resource):
        return os.path.join(self.sockets, f"nvidia-{resource.partition('/')[2]}.sock")

    def variables(self):
        """Partita's folders."""
        return [
            "env", f"PARTITA_DEVICE_PLUGIN_DIR={self.sockets}",
            *(f"PARTITA_{name.upper()}_DIR={self.folder}/{name}" for name in ("run", "state", "cdi")),
        ]


def end_daemons(folder):
    """Daemons and servers whose pipes are there, or that have their root there."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                ours = f"CUDA_MPS_PIPE_DIRECTORY={folder}/".encode() in file.read()
            if ours or os.readlink(f"/proc/{pid}/root").startswith(f"{folder}/"):
                os.kill(int(pid), signal.SIGKILL)


def wait_until(what, holds, process=None, output=None):
    """`process` must not end before."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        if process is not None and process.poll() is not None:
            raise Failure(f"{what}: the program ended with {process.returncode}: {tail(output)}")
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {SECONDS} s: {tail(output)}")
        time.sleep(0.005)


def tail(output):
    if output is None:
        return ""
    output.seek(0)
    return " / ".join(output.read().strip().splitlines()[-3:])
