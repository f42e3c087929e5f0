"""What listens in the network of the host, and who holds it."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

# Table -> the state of a socket in it that waits for whoever comes (include/net/tcp_states.h): LISTEN, and
# for UDP, which knows no listening, CLOSE: bound and not connected.
TABLES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}


@dataclasses.dataclass(frozen=True)
class Listener:
    table: str
    address: str  # as the kernel writes it: hexadecimal address:port
    inode: str

    def __str__(self) -> str:
        address, _, port = self.address.rpartition(":")
        return f"{self.table} port {int(port, 16)} (address {address})"


def on_host() -> set[Listener]:
    return {listener for table in TABLES for listener in parse(table, read_table(table))}


def read_table(table: str) -> str:
    try:
        return Path(f"/proc/thread-self/net/{table}").read_text(encoding="ascii")
    except FileNotFoundError:  # a kernel without IPv6
        return ""


def parse(table: str, text: str) -> Iterator[Listener]:
    for line in text.splitlines()[1:]:
        fields = line.split()
        if fields[3] == TABLES[table]:
            yield Listener(table, fields[1], fields[9])


def opened_since(before: set[Listener], cgroup: str) -> list[str]:
    """The listeners that are new and not held by processes of others: those of this process, of the cgroup
    and of nobody who can be found. The machine has other users, who open what they like."""
    new = on_host() - before
    foreign = held_by_others({listener.inode for listener in new}, cgroup) if new else set()
    return sorted(str(listener) for listener in new & on_host() if listener.inode not in foreign)


def held_by_others(inodes: set[str], cgroup: str) -> set[str]:
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        if process.name != str(os.getpid()) and not is_in(process, cgroup):
            found |= {wanted[held] for held in open_files(process) if held in wanted}
    return found


def is_in(process: Path, cgroup: str) -> bool:
    try:
        lines = (process / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # it has ended
        return False
    return any(f"{cgroup}/" in line.split(":", 2)[2] + "/" for line in lines)


def open_files(process: Path) -> Iterator[str]:
    folder = f"{process}/fd"
    with contextlib.suppress(OSError):  # the process has ended
        for descriptor in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                yield os.readlink(f"{folder}/{descriptor}")
