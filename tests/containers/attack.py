"""Images whose environment would have the host's hooks load a library of theirs (CVE-2025-23266): hooks run in the
container's root folder, and runc gives one without an environment that of the container."""

from typing import Any

from containers import cases, inside
from containers.cases import Case
from containers.engines.engine import Engine, Request
from containers.engines.plain_runc import PlainRunc
from containers.node import Facts

MARK = "/run/partita-evil"
ENVIRONMENT = tuple(f"{name}=/proc/self/cwd/evil.so" for name in ("LD_PRELOAD", "LD_AUDIT"))
CASE = Case("hostile-image", ("1", "6:0"))


def fails(engine: Engine, facts: Facts) -> list[str]:
    """The container is as any other, and the machine has no mark."""
    said = engine.run(Request(CASE.name, CASE.names(facts), inside.command(facts), environment=ENVIRONMENT))
    found = cases.problems(CASE, facts, inside.read(said), engine.injection)
    return [*found, "a library of the image ran on the host"] if is_marked(engine) else found


def is_marked(engine: Engine) -> bool:
    seen = engine.node.run(["test", "-e", MARK]).returncode == 0
    engine.node.check(["rm", "-f", MARK])
    return seen


class CarelessRunc(PlainRunc):
    """With a hook as NVIDIA's were before: no environment of its own, and not static."""

    name = "runc-careless"

    def ask(self, config: dict[str, Any], request: Request) -> None:
        super().ask(config, request)
        hooks = config.setdefault("hooks", {}).setdefault("createContainer", [])
        hooks.append({"path": "/usr/bin/true", "args": ["true"]})


def succeeds(engine: Engine, facts: Facts) -> list[str]:
    """The bait bites where hooks are careless; without this nothing would be shown above."""
    engine.run(Request("bait", (), inside.command(facts), environment=ENVIRONMENT))
    return [] if is_marked(engine) else ["the library did not run, so that nothing is shown by the others"]
