"""What `partita runtime configure` makes of every file of tests/data/engine-config, read by the engines themselves."""

import json
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from containers.engines.containerd import programs_folder
from containers.engines.engine import Engine
from containers.node import SOURCE, Facts, Node
from support.shell import Failure

CORPUS = SOURCE / "tests" / "data" / "engine-config"
RUNTIME = "/usr/bin/nvidia-container-runtime"
START_SECONDS = 60
# A table that a file begins has these where containerd's own table says nothing.
EMPTY = ("''", "0", "False", "[]")
Check = Callable[[Engine, Facts], list[str]]


def files(engine: str) -> list[str]:
    return sorted(path.name for path in CORPUS.glob(f"{engine}-*"))


class Configured:
    """A file of the corpus in the engine's own place on the node; afterwards as if it had never been."""

    def __init__(self, node: Node, engine: str, source: str, place: str) -> None:
        self._node = node
        self._engine = engine
        self._text = (CORPUS / source).read_bytes().decode("utf-8")
        self._place = place

    def __enter__(self) -> "Configured":
        self._node.check(["mkdir", "-p", str(Path(self._place).parent)])
        self._node.check(["sh", "-c", f"cat >{self._place}"], stdin=self._text)
        return self

    def configure(self, *words: str) -> None:
        self._node.partita("runtime", "configure", "--runtime", self._engine, *words)

    def __exit__(self, *_: object) -> None:
        self._node.check(["rm", "-rf", str(Path(self._place).parent)])


# ---- docker ----


class DockerCorpus(Engine):
    """Debian's dockerd 20.10, which knows no way to check a file but to start with it. One containerd serves all."""

    name = "docker-configure"
    place = "/run/docker-configure"

    def start(self) -> None:
        super().start()
        command = ["/usr/bin/containerd", "--address", f"{self.place}/containerd.sock", "--root", f"{self.place}/root"]
        command += ["--state", f"{self.place}/state"]
        self.node.machine.spawn("containerd", command, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def begin(self) -> None:
        """Returns when dockerd answers."""
        self.node.machine.spawn("dockerd", [
            "/usr/sbin/dockerd", "--data-root", f"{self.place}/data", "--exec-root", f"{self.place}/exec", "-H",
            f"unix://{self.place}/docker.sock", "--iptables=false", "--bridge=none", "--containerd",
            f"{self.place}/containerd.sock", "--pidfile", f"{self.place}/pid",
        ], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        deadline = time.monotonic() + START_SECONDS
        while self.node.run(self.docker("version")).returncode != 0:
            if time.monotonic() > deadline or self.node.machine.exit_status("dockerd") is not None:
                raise Failure(f"dockerd does not start:\n{self.node.machine.last_words('dockerd')}")
            time.sleep(0.05)

    def docker(self, *words: str) -> list[str]:
        return ["/usr/bin/docker", "-H", f"unix://{self.place}/docker.sock", *words]

    def info(self) -> dict[str, Any]:
        return json.loads(self.node.check(self.docker("info", "--format", "{{json .}}")))

    def stop(self) -> None:
        self.node.machine.stop("containerd")


def docker_starts(source: str) -> Check:
    def check(engine: DockerCorpus, _: Facts) -> list[str]:
        found: list[str] = []
        for words in ([], ["--set-as-default", "--enable-cdi"]):
            with Configured(engine.node, "docker", source, "/etc/docker/daemon.json") as file:
                file.configure("--runtime-path", RUNTIME, *words)
                engine.begin()
                info = engine.info()
                engine.node.machine.stop("dockerd")
            if info["Runtimes"].get("nvidia", {}).get("path") != RUNTIME:
                found.append(f"{words}: dockerd knows the runtimes {info['Runtimes']}")
            if words and info["DefaultRuntime"] != "nvidia":
                found.append(f"{words}: dockerd's default is {info['DefaultRuntime']}")
        return found
    return check


# ---- containerd ----


class ContainerdCorpus(Engine):
    """Debian's containerd 1.6, which reads versions 1 and 2 of the format, and the test bench's 2.4."""

    name = "containerd-configure"
    config = "/etc/containerd/config.toml"

    def start(self) -> None:
        super().start()
        self.programs = {"1.6": "/usr/bin/containerd", "2.4": str(programs_folder(self.node.folder) / "containerd")}

    def dump(self, version: str) -> dict[str, str]:
        """Every setting that containerd has after it has read its files: dotted name -> value."""
        text = self.node.check([self.programs[version], "--config", self.config, "config", "dump"])
        return flat(tomllib.loads(text))


def flat(table: dict[str, Any], above: str = "") -> dict[str, str]:
    result: dict[str, str] = {}
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        result |= flat(value, name) if isinstance(value, dict) else {name: repr(value)}
    return result


def containerd_reads(source: str) -> Check:
    def check(engine: ContainerdCorpus, _: Facts) -> list[str]:
        found: list[str] = []
        for version in readers(source):
            for words in ([], ["--set-as-default", "--enable-cdi"]):
                with Configured(engine.node, "containerd", source, engine.config) as file:
                    before = engine.dump(version)
                    file.configure("--runtime-path", RUNTIME, *words)
                    after = engine.dump(version)
                found += [f"{version} {words}: {problem}" for problem in wrong_dump(before, after, bool(words))]
        return found
    return check


def readers(source: str) -> list[str]:
    """containerd 1.6 knows two versions, and of a plugin that the file disables it says nothing."""
    text = tomllib.loads((CORPUS / source).read_text(encoding="utf-8"))
    is_old = text.get("version", 1) <= 2 and "cri" not in text.get("disabled_plugins", [])
    return ["1.6", "2.4"] if is_old else ["2.4"]


def wrong_dump(before: dict[str, str], after: dict[str, str], is_default: bool) -> list[str]:
    programs = [name for name in after if name.endswith(".containerd.runtimes.nvidia.options.BinaryName")]
    if [after[name] for name in programs] != [repr(RUNTIME)]:
        return [f"our runtime is not in it: {[(name, after[name]) for name in programs]}"]
    table = programs[0].removesuffix(".runtimes.nvidia.options.BinaryName")
    found = [] if after.get(f"{table}.runtimes.nvidia.runtime_type", "''") != "''" else ["no runtime_type"]
    if is_default and after.get(f"{table}.default_runtime_name") != "'nvidia'":
        found.append(f"the default is {after.get(f'{table}.default_runtime_name')}")
    default = after.get(f"{table}.default_runtime_name", "'runc'").strip("'")
    if f"{table}.runtimes.{default}.runtime_type" not in after:
        found.append(f"the default {default} is no runtime of it, and no pod would start")
    ours = (f"{table}.runtimes.nvidia.", f"{table}.default_runtime_name", "imports")
    cdi = f"{table.removesuffix('.containerd')}.enable_cdi"
    for name in sorted(before.keys() | after.keys()):
        was, now = (None if dump.get(name) in EMPTY else dump.get(name) for dump in (before, after))
        is_new_runc = was is None and name == f"{table}.runtimes.runc.runtime_type"
        if not name.startswith(ours) and name != cdi and was != now and not is_new_runc:
            found.append(f"{name} was {before.get(name)} and is {after.get(name)}")
    return found
