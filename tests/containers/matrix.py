"""Every engine with every case, in the order in which engines are started once and stopped."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from containers import attack, cases, corpus, images, inside
from containers.agent import PodmanAgent, follows
from containers.cases import CASES, Case
from containers.engines.engine import SPEC, Engine, Request
from containers.engines.containerd import Containerd, ContainerdRuntime
from containers.engines.docker import Docker, DockerRuntime, DockerUnified
from containers.engines.plain_runc import PlainRunc, PlainRuncUnified, RuncRuntime, RuncRuntimeUnified
from containers.engines.podman import Podman, PodmanHooks
from containers.killed import Harness, leaves_nothing
from containers.node import Facts, Node
from containers.place import Place
from support import cache
from support.shell import Failure

ENGINES: tuple[type[Engine], ...] = (
    PlainRunc, PlainRuncUnified, RuncRuntime, RuncRuntimeUnified, Podman, PodmanHooks, Containerd, ContainerdRuntime,
    Docker, DockerUnified, DockerRuntime,
)


@dataclasses.dataclass(frozen=True)
class Item:
    """One line of the report: an engine and what is done with it."""

    engine: type[Engine]
    case: str
    check: Callable[[Engine, Facts], list[str]]

    @property
    def name(self) -> str:
        return f"{self.engine.name} {self.case}"


def container(case: Case) -> Callable[[Engine, Facts], list[str]]:
    def check(engine: Engine, facts: Facts) -> list[str]:
        said = engine.run(Request(case.name, case.names(facts), inside.command(facts)))
        return cases.problems(case, facts, inside.read(said), engine.injection)
    return check


def missed(device: str, word: str, problem: str) -> Callable[[Engine, Facts], list[str]]:
    """A bench that is green whatever is injected would prove nothing: this it must notice."""
    def check(engine: Engine, facts: Facts) -> list[str]:
        case = Case(f"without-{word.rpartition('/')[2]}", (device,))
        said = engine.run(Request(case.name, case.devices, inside.command(facts), word))
        found = cases.problems(case, facts, inside.read(said))
        return [] if any(problem in line for line in found) else [f"{word} was left out and not missed: {found}"]
    return check


# Left out of the spec -> what must be said then.
LEFT_OUT = (
    ("1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.159.04", "nvidia-smi lists"),
    ("1", "/usr/bin/nvidia-cuda-mps-control", "file /usr/bin/nvidia-cuda-mps-control is missing"),
    ("1", "/dev/nvidia1", "node /dev/nvidia1 195:1 ENXIO is missing"),
    ("6:1", "/dev/nvidia-caps/nvidia-cap913", "nvidia-smi lists"),
    ("1", "create-symlinks", "file /usr/lib/x86_64-linux-gnu/libcuda.so is missing"),
    ("1", "update-ldcache", "in the loader's cache libcuda.so.1 is missing"),
    ("1", "disable-device-node-modification", "params lacks"),
)

ITEMS = [Item(engine, case.name, container(case)) for engine in ENGINES for case in CASES]
ITEMS += [
    Item(engine, cases.DOCUMENTED.name, container(cases.DOCUMENTED))
    for engine in (RuncRuntime, PodmanHooks, ContainerdRuntime, Docker, DockerUnified, DockerRuntime)
]
ITEMS.append(Item(Docker, cases.COUNTED.name, container(cases.COUNTED)))
ITEMS.append(Item(DockerRuntime, cases.BOTH.name, container(cases.BOTH)))
ITEMS += [Item(engine, attack.CASE.name, attack.fails) for engine in ENGINES]
ITEMS.append(Item(attack.CarelessRunc, "bait", attack.succeeds))
ITEMS += [Item(PlainRunc, f"without {word}", missed(device, word, problem)) for device, word, problem in LEFT_OUT]
ITEMS += [Item(corpus.DockerCorpus, name, corpus.docker_starts(name)) for name in corpus.files("docker")]
ITEMS += [Item(corpus.ContainerdCorpus, name, corpus.containerd_reads(name)) for name in corpus.files("containerd")]
ITEMS.append(Item(Harness, "killed", leaves_nothing))
# Last: the layout is another one afterwards.
ITEMS += [Item(PodmanAgent, "a MIG change" if change else "as it is", follows(change)) for change in (False, True)]


def run(place: Place, build: Path, chosen: list[Item]) -> int:
    """How many failed."""
    node = Node(place.name, place.folder, build)
    image = place.folder / "image"
    images.write_root(image)
    try:
        facts = node.start([Path(cache.cache_directory())])
        node.partita("cdi", "generate", SPEC)
        return sum(run_engine(engine, [item for item in chosen if item.engine is engine], node, image, facts)
                   for engine in dict.fromkeys(item.engine for item in chosen))
    finally:
        node.machine.halt()


def run_engine(kind: type[Engine], items: list[Item], node: Node, image: Path, facts: Facts) -> int:
    engine = kind(node, image)
    engine.start()
    try:
        return sum(not passes(item, engine, facts) for item in items)
    finally:
        engine.stop()


def passes(item: Item, engine: Engine, facts: Facts) -> bool:
    start = time.monotonic()
    try:
        found = item.check(engine, facts)
    except Failure as failure:
        found = [str(failure)]
    print(f"{'FAILED' if found else 'passed'}  {item.name} ({time.monotonic() - start:.1f} s)", flush=True)
    for problem in found:
        print("    " + problem.strip().replace("\n", "\n    "), flush=True)
    return not found
