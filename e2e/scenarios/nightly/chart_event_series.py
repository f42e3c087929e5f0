"""How often an Event came again is told after ten minutes, and not without the right to patch Events."""

import json

from testbench.scenario_bench import current
from testbench.verbs import allocatable, api, expect, field, now, wait_for
from testbench.verbs_account import rights_of, without
from testbench.verbs_chart import agent_log, install_chart
from testbench.verbs_observe import Observation, look_up

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 900
SELECT = "nvidia.com/device-plugin.config"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
RIGHT = ("events.k8s.io", "events", "patch")
WINDOW_SECONDS = 600  # kWindow of src/kube/events.h
APART_SECONDS = 20  # after the first Events' ten minutes the right is given back, and before those of the second one


def select(config):
    """None: without the label."""
    api().patch("/api/v1/nodes/dgx", {"metadata": {"labels": {SELECT: config}}})


def wait_until_judged(status):
    wait_for(field("node", "dgx", "status", "conditions", "partita.dev/GPUConfigApplied", "status"), status)


def mistake_twice(config):
    for _ in range(2):
        select(config)
        wait_until_judged("False")
        select(None)
        wait_until_judged("True")


def times_of(config):
    """How often the Event that names it came, once that is told."""
    def look():
        found = look_up(EVENTS, ("items",))
        events = json.loads(found) if found.startswith("[") else []
        told = [event for event in events if config in event.get("note", "")]
        return ", ".join(str((event.get("series") or {}).get("count", "not told")) for event in told)

    return Observation(f"how often the Event about {config} came", look)


def apart(since):
    def over(seconds):
        """enough"""
        return float(seconds) >= APART_SECONDS

    wait_for(Observation("seconds between the mistakes", lambda: f"{now() - since:.1f}"), over)


def refused(text):
    """cannot patch resource "events\""""
    return 'cannot patch resource "events"' in text


def scenario():
    current().undo_at_end("take the label off", lambda: select(None))
    install_chart({"config": {"map": {"default": "version: v1\n"}}})
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    rights = rights_of([("role", "default", "partita-events")])
    with without(RIGHT, rights[RIGHT]):
        begun = now()
        mistake_twice("nonesuch-first")
        apart(begun)
        mistake_twice("nonesuch-told")
        wait_for(agent_log("dgx"), refused, within=WINDOW_SECONDS + 30)
    # That its own configuration is in force again was told more than once, too, and refused first: the right may be back
    # in time for the first mistake.
    expect(times_of("nonesuch-told"), "not told")
    wait_for(times_of("nonesuch-told"), "2", within=2 * APART_SECONDS + 30)
