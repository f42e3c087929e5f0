"""What a cluster leaves behind: two pictures of the machine, and the difference in words.

A picture holds processes, mounts of every mount namespace, namespaces, cgroups of every hierarchy, network
devices and files. Other tests run on the same machine at the same time, so a difference can be limited to
what bears a mark: a text, such as the cluster's name or folder, that everything of a cluster carries
somewhere. Where nobody but a node writes (OWN_FOLDERS), what is new counts without a mark.
"""

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Folders that a kubelet, a container runtime or a GPU stack writes. Nodes have their own: a new file in
# the machine's is a leak, whatever its name.
OWN_FOLDERS = [
    "/etc/cdi", "/etc/cni", "/etc/kubernetes", "/run/cdi", "/run/cni", "/run/containerd", "/run/netns",
    "/run/nvidia", "/run/partita", "/run/runc", "/var/lib/cni", "/var/lib/containerd", "/var/lib/etcd",
    "/var/lib/kubelet", "/var/lib/partita", "/var/log/containers", "/var/log/pods",
]
SHARED_FOLDERS = ["/run", "/tmp", "/var/lib", "/var/run", "/var/tmp"]
NAMESPACE_LINK = re.compile(r"^(cgroup|ipc|mnt|net|pid|time|user|uts):\[\d+\]$")


@dataclasses.dataclass(frozen=True)
class Trace:
    """One thing that exists: `key` identifies it among its kind, `bears` is where a mark is looked for."""

    kind: str
    key: str
    words: str
    bears: str = dataclasses.field(default="", compare=False, repr=False)
    always: bool = dataclasses.field(default=False, compare=False)  # counts without a mark

    def __str__(self) -> str:
        return f"{self.kind} {self.words}"


@dataclasses.dataclass
class Process:
    pid: int
    start: str  # in clock ticks since boot: with the pid it identifies the process
    parent: int
    words: str
    bears: str
    namespaces: dict[str, str]  # "net" -> "net:[4026531840]"


Snapshot = dict[tuple[str, str], Trace]


def take() -> Snapshot:
    """The picture of the machine now."""
    processes = list(read_processes())
    mounts = list(read_mounts(processes))
    found = [
        *process_traces(processes), *mounts, *namespace_traces(processes, mounts), *cgroup_traces(),
        *device_traces(), *file_traces(OWN_FOLDERS, SHARED_FOLDERS),
    ]
    return {(trace.kind, trace.key): trace for trace in found}


def left(before: Snapshot, after: Snapshot, *marks: str) -> list[Trace]:
    """What is in `after` and not in `before`; with marks, only what bears one of them (or counts always)."""
    new = [trace for key, trace in after.items() if key not in before]
    return [trace for trace in new if not marks or trace.always or any(mark in trace.bears for mark in marks)]


def settle(before: Snapshot, *marks: str, seconds: float = 10, kinds: Sequence[str] = ()) -> list[Trace]:
    """What is left (of these kinds) when the kernel is done with dying processes, or the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        found = [trace for trace in left(before, take(), *marks) if not kinds or trace.kind in kinds]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def describe(traces: list[Trace]) -> str:
    """A line for each trace, grouped by kind."""
    return "\n".join(str(trace) for trace in sorted(traces, key=lambda t: (t.kind, t.key)))


# ---- processes ----


def read_processes() -> Iterator[Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = read_process(int(entry))
            if process:
                yield process


def read_process(pid: int) -> Process | None:
    """A process, or None for a kernel thread, a dead child that waits for its parent, or one just gone."""
    folder = f"/proc/{pid}"
    try:
        # The name, in parentheses, may hold anything; the fields are those after the last parenthesis.
        fields = read(f"{folder}/stat").rpartition(")")[2].split()
        state, parent, start = fields[0], int(fields[1]), fields[19]
        command = read(f"{folder}/cmdline").replace("\0", " ").strip()
    except OSError:
        return None
    if not command or state in "ZX":
        return None
    bears = [command, *(quietly(read, f"{folder}/{name}") for name in ("environ", "cgroup"))]
    bears += [quietly(os.readlink, f"{folder}/{name}") for name in ("exe", "cwd", "root")]
    words = f"{pid} ({command[:120]})"
    return Process(pid, start, parent, words, "\n".join(bears), process_namespaces(folder))


def process_namespaces(folder: str) -> dict[str, str]:
    names = quietly(os.listdir, f"{folder}/ns") or []
    return {name: quietly(os.readlink, f"{folder}/ns/{name}") for name in names}


def process_traces(processes: list[Process]) -> Iterator[Trace]:
    own = descendants(os.getpid(), processes)
    for process in processes:
        key = f"{process.pid}/{process.start}"
        yield Trace("process", key, process.words, process.bears, always=process.pid in own)


def descendants(root: int, processes: list[Process]) -> set[int]:
    """Everything below `root`. What has lost its parents is below process 1, and known by its mark."""
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting.extend(below)
    return found


# ---- mounts and namespaces ----


def read_mounts(processes: list[Process]) -> Iterator[Trace]:
    """The mounts of every mount namespace in which a process lives, read once for each namespace."""
    seen: set[str] = set()
    for process in processes:
        namespace = process.namespaces.get("mnt", "")
        table = quietly(read, f"/proc/{process.pid}/mountinfo")
        if namespace in seen or not table:
            continue
        seen.add(namespace)
        for line in table.splitlines():
            yield mount_trace(namespace, process, line)


def mount_trace(namespace: str, process: Process, line: str) -> Trace:
    fields = line.split(" ")
    kind, source = fields[fields.index("-") + 1:][:2]
    words = f"{kind} {source} on {fields[4]} in {namespace}, seen by process {process.words}"
    return Trace("mount", f"{namespace}/{fields[0]}/{fields[4]}", words, line)


def namespace_traces(processes: list[Process], mounts: list[Trace]) -> Iterator[Trace]:
    """Namespaces held by a process, by a descriptor of one, or by a mount of their file."""
    holders: dict[str, list[tuple[str, str]]] = {}
    for process in processes:
        links = {*process.namespaces.values(), *held_by_descriptors(process.pid)}
        for link in links:
            holders.setdefault(link, []).append((f"process {process.words}", process.bears))
    for mount in mounts:
        for kind, inode in re.findall(r" (\w+):\[(\d+)\] ", mount.bears):
            holders.setdefault(f"{kind}:[{inode}]", []).append((str(mount), mount.bears))
    for link, held in holders.items():
        if NAMESPACE_LINK.match(link):
            bears = "\n".join(text for _, text in held)
            yield Trace("namespace", link, f"{link}, held by {held[0][0]}", bears)


def held_by_descriptors(pid: int) -> set[str]:
    names = quietly(os.listdir, f"/proc/{pid}/fd") or []
    links = {quietly(os.readlink, f"/proc/{pid}/fd/{name}") for name in names}
    return {link for link in links if link and NAMESPACE_LINK.match(link)}


# ---- cgroups, network devices, files ----


def cgroup_traces() -> Iterator[Trace]:
    for hierarchy in cgroup_hierarchies():
        for folder, _, _ in os.walk(hierarchy):
            yield Trace("cgroup", folder, folder, folder)


def cgroup_hierarchies() -> list[str]:
    lines = [line.split() for line in read("/proc/self/mounts").splitlines()]
    return sorted({fields[1] for fields in lines if fields[2] in ("cgroup", "cgroup2")})


def device_traces() -> Iterator[Trace]:
    """Network devices of our own network namespace; those of others end with their namespaces."""
    for name in sorted(quietly(os.listdir, "/sys/class/net") or []):
        yield Trace("network device", name, name, name, always=True)


def file_traces(own: list[str], shared: list[str]) -> Iterator[Trace]:
    """Every file of the own folders, and two levels of the shared ones, each once."""
    seen: set[str] = set()
    for folders, always, depth in ((own, True, 99), (shared, False, 2)):
        for folder in map(os.path.realpath, folders):
            for path in walk(folder, depth):
                if path not in seen:
                    seen.add(path)
                    yield Trace("file", path, path, path, always)


def walk(folder: str, depth: int) -> Iterator[str]:
    for entry in quietly(lambda path: sorted(os.scandir(path), key=lambda e: e.name), folder) or []:
        yield entry.path
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path, depth - 1)


# ---- reading what may vanish meanwhile ----


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


def quietly(call: Callable[[str], Any], path: str) -> Any:
    """The answer of `call`, or an empty text where the thing is gone or not ours to see."""
    try:
        return call(path)
    except OSError:
        return ""
