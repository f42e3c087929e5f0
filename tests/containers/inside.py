"""What the program `inspect` of the image said about the container that it ran in."""

import dataclasses
import re
from collections.abc import Sequence

from containers.node import LISTED_GPU, LISTED_SLICE, Facts
from support.shell import Failure

LOADED = re.compile(r"\s*(\S+) => (\S+) \(")


@dataclasses.dataclass
class Inside:
    nodes: set[str] = dataclasses.field(default_factory=set)  # "/dev/nvidia0 195:0 ENXIO"
    others: set[str] = dataclasses.field(default_factory=set)  # "195:1 EPERM"
    proc: set[str] = dataclasses.field(default_factory=set)
    params: list[str] = dataclasses.field(default_factory=list)
    files: set[str] = dataclasses.field(default_factory=set)
    state: set[str] = dataclasses.field(default_factory=set)
    cached: set[str] = dataclasses.field(default_factory=set)  # libraries
    loader: dict[str, str] = dataclasses.field(default_factory=dict)  # library -> file
    listed: list[tuple[str, tuple[tuple[str, str], ...]]] = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


def command(facts: Facts) -> list[str]:
    numbers = [f"{major}:{minor}" for major, minor in facts.all_nodes().values()]
    return ["/inspect", *numbers, "--", *facts.libraries]


def read(text: str) -> Inside:
    result = Inside()
    lines = text.replace("\r", "").splitlines()
    if not lines or lines[-1] != "end":
        raise Failure(f"the container did not come to its end:\n{text}")
    sets = {"node": result.nodes, "other": result.others, "proc": result.proc, "file": result.files}
    sets |= {"state": result.state, "cached": result.cached}
    for line in lines[:-1]:
        kind, _, rest = line.partition(" ")
        if kind in sets:
            sets[kind].add(rest)
        elif kind == "params":
            result.params.append(rest)
        elif kind == "loader" and (said := LOADED.match(rest)):
            result.loader[said[1].rpartition("/")[2]] = said[2]
        elif kind == "env":
            name, _, value = rest.partition("=")
            result.environment[name] = value
    result.listed = listed([line.removeprefix("smi ") for line in lines if line.startswith("smi ")])
    return result


def listed(lines: Sequence[str]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """GPUs with their MIG devices in the order of the list; an index that does not count on is kept as an error."""
    result: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for line in lines:
        if (said := LISTED_GPU.match(line)) and int(said[1]) == len(result):
            result.append((said[3], ()))
        elif result and (said := LISTED_SLICE.match(line)):
            uuid, slices = result.pop()
            result.append((uuid, (*slices, (said[1], said[3]))))
        else:
            result.append((line, ()))
    return result
