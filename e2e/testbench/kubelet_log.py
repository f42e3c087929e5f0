"""What kubelet says in its log about those who serve a resource: device plugins that register, their lists, their
ends. It is the only witness of when it had which list."""

import dataclasses
import re
import time
from collections.abc import Iterable

REGISTERED, LISTED, ENDED, DROPPED = "registered", "listed", "ended", "dropped"

# kubelet 1.36: pkg/kubelet/cm/devicemanager/plugin/v1beta1/{handler,client}.go
WORDS = {
    "Registered client": REGISTERED,
    "State pushed for device plugin": LISTED,
    "ListAndWatch ended unexpectedly for device plugin": ENDED,
    "Deregistered client": DROPPED,
}
LINE = re.compile(r'^[IWEF](\d{4} \d\d:\d\d:\d\d)(\.\d{6}) +(\d+) \S+\] "([^"]+)"(.*)$')
RESOURCE = re.compile(r' (?:name|resource)="([^"]+)"')
CAPACITY = re.compile(r" resourceCapacity=(\d+)")


@dataclasses.dataclass(frozen=True)
class Event:
    at: float  # seconds, as time.time() counts them
    kubelet: int  # its process
    kind: str
    devices: int = 0  # of a list


def events(lines: Iterable[str], resource: str, year: int) -> list[Event]:
    """Those of one resource; a line of the log does not say the year."""
    found = []
    for line in lines:
        match = LINE.match(line)
        if match is None or match[4] not in WORDS or RESOURCE.findall(match[5]) != [resource]:
            continue
        second = time.mktime(time.strptime(f"{year}{match[1]}", "%Y%m%d %H:%M:%S"))
        devices = CAPACITY.search(match[5])
        found.append(Event(
            second + float(match[2]), int(match[3]), WORDS[match[4]], int(devices[1]) if devices else 0
        ))
    return found


def list_in_force(seen: list[Event], since: float) -> Event | None:
    """The list that kubelet goes by now, if it came after `since` and nobody has ended its stream."""
    told = [event for event in seen if event.kind != REGISTERED]
    return told[-1] if told and told[-1].kind == LISTED and told[-1].at >= since else None


def raced(seen: list[Event], kubelet: int, since: float) -> bool:
    """kubernetes#121994: whether the stream of the killed program ended, for this kubelet, only after the program
    that was started at `since` had registered. Kubelet then drops the new one, which runs, by the old one's name.
    `seen` begins with the kill, so the first end is that of the killed program."""
    own = [event for event in seen if event.kubelet == kubelet]
    ends = [number for number, event in enumerate(own) if event.kind == ENDED]
    registered = [number for number, event in enumerate(own) if event.kind == REGISTERED and event.at >= since]
    return bool(ends and registered) and registered[0] < ends[0]
