"""podman reads what the agent keeps, while MIG devices come and go."""

import time
from collections.abc import Callable

from containers import cases, inside
from containers.cases import Case
from containers.engines.engine import SPEC, SYSTEM, Engine, Request
from containers.engines.podman import Podman
from containers.node import Facts, Node
from support.shell import Failure

FILE = "/var/run/cdi/nvidia.yaml"
SECONDS = 60
GPU = 7


class PodmanAgent(Podman):
    """Without the file of the other engines: two that name the same devices would serve nobody."""

    name = "podman-agent"

    def start(self) -> None:
        super().start()
        self.node.check(["rm", "-f", SPEC])
        config = self.scratch / "config.yaml"
        config.write_text(f"version: partita/v1\nlisten: unix:/run/{self.name}.sock\n", encoding="utf-8")
        command = [str(self.node.build / "bin" / "partita"), "agent", "--config-file", str(config)]
        self.node.machine.spawn("agent", command, {"PATH": SYSTEM})

    def stop(self) -> None:
        self.node.machine.stop("agent")
        self.node.check(["rm", FILE])
        self.node.partita("cdi", "generate", SPEC)


def until_named(node: Node, names: list[str]) -> None:
    deadline = time.monotonic() + SECONDS
    while not all(f"name: {name}\n" in node.run(["cat", FILE]).stdout for name in names):
        if time.monotonic() > deadline:
            raise Failure(f"the agent's file does not name {names}:\n{node.machine.last_words('agent')}")
        time.sleep(0.05)


def follows(change: bool) -> Callable[[Engine, Facts], list[str]]:
    """With another layout of a GPU, where `change`: its new devices are there, and by their old names the new ones."""
    def check(engine: Engine, facts: Facts) -> list[str]:
        case = Case("changed" if change else "unchanged", ("7:0", "6:1", "7:1"))
        if change:
            facts = engine.node.divide_again(GPU, ("9", "14"))
        until_named(engine.node, [part.uuid for part in facts.gpus[GPU].slices])
        said = engine.run(Request(case.name, case.devices, inside.command(facts)))
        return cases.problems(case, facts, inside.read(said))
    return check
