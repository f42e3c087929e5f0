"""The stacks that there are."""

from testbench.scenario_bench import WrongUse
from testbench.stack import Stack
from testbench.stack_nvidia import NVIDIA
from testbench.stack_partita import PARTITA

DEFAULT = "nvidia,partita"
STACKS = {stack.name: stack for stack in (NVIDIA, PARTITA)}


def choose(names: str) -> list[Stack]:
    """By name, several by commas; the first one also runs what no stack has a part in."""
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name not in STACKS:
            raise WrongUse(f"no stack {name!r}; there are: {', '.join(STACKS)}")
    if not wanted:
        raise WrongUse(f"no stack named; there are: {', '.join(STACKS)}")
    return [STACKS[name] for name in dict.fromkeys(wanted)]
