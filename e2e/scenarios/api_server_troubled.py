"""The API server is slow, answers 429 and 410, cuts every watch each second: no change is lost, and no loop asks.

The agent's pod asks the real one through a proxy of the bench, which counts. In each trouble the node's label selects
another configuration, which the agent learns from a watch, and a GPU goes or comes, which it writes to the Node.
"""

import json

from testbench.troubled_api import Trouble
from testbench.verbs import allocatable, api, apply, bind, expect, label, namespace, note, now, serve, wait_for
from testbench.verbs_observe import Observation
from testbench.verbs_rights import allow, rule
from testbench.verbs_trouble import in_trouble, stand_before_api_server

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]  # NVIDIA's plugin and feature discovery do not watch the API server
GPU, COUNT, SELECT = "nvidia.com/gpu", "nvidia.com/gpu.count", "nvidia.com/device-plugin.config"
WHOLE = {"config": "whole", "driver": "nvidia", "offered": 8, "count": 8}
SHARED = {"config": "shared", "driver": "vfio", "offered": 14, "count": 7}
# The GPU that is back is offered, as the last label said that was heard of, and nothing is written.
UNHEARD = {"offered": 16, "count": 7}
CONFIGS = {
    "whole": {"version": "v1"},
    "shared": {"version": "v1", "sharing": {"timeSlicing": {"resources": [{"name": GPU, "replicas": 2}]}}},
}
PHASE_SECONDS = 8  # of a trouble in which nothing can be seen that ends it
DELAY_SECONDS = 3
RETRY_AFTER = 2
WATCH_SECONDS = 1
# After a stream that was cut early the agent waits for half of two seconds at least (src/kube/watcher.cc).
PAUSE_SECONDS = 1
WATCHES = ("nodes", "namespaces/{}/configmaps")


def select(config):
    """None: without the label."""
    api().patch("/api/v1/nodes/dgx", {"metadata": {"labels": {SELECT: config}}})


def change(to):
    select(to["config"])
    bind("dgx", 7, to["driver"])


def shows(what):
    wait_for(allocatable(GPU, on="dgx"), what["offered"])
    wait_for(label(COUNT, on="dgx"), what["count"])


def wait_until_over(begun):
    def over(seconds):
        """they are over"""
        return float(seconds) >= PHASE_SECONDS

    wait_for(Observation(f"{PHASE_SECONDS} s of it", lambda: f"{now() - begun:.1f}"), over, within=2 * PHASE_SECONDS)


def watches():
    return [f"/api/v1/{place.format(namespace())}" for place in WATCHES]


def expect_seldom(asked, seconds, apart):
    """Each question at once, and then with `apart` seconds at least between two."""
    note(f"most often asked in {seconds:.0f} s, {apart} s apart at least", max(asked.values()))
    most = 1 + int(seconds / apart)
    expect({what: times for what, times in asked.items() if times > most}, {},
           f"what was asked for more than {most} times in {seconds:.1f} s")


def slow(proxy, to):
    begun = now()
    with in_trouble(proxy, f"is slow: each answer takes {DELAY_SECONDS} s", Trouble(delay=DELAY_SECONDS)):
        change(to)
        shows(to)
        # Who asks waits for the answer before asking again.
        expect_seldom(proxy.asked(), now() - begun, DELAY_SECONDS)


def postponing(proxy, to, meanwhile):
    begun = now()
    with in_trouble(proxy, f"answers 429 to everything, Retry-After {RETRY_AFTER}", Trouble(retry_after=RETRY_AFTER)):
        change(to)
        wait_until_over(begun)
        asked = proxy.asked()
        expect_seldom(asked, now() - begun, RETRY_AFTER)
        for path in watches():
            expect(asked.get(f"watch {path}", 0) > 1, True, f"watch {path} is tried again")
        shows(meanwhile)
    shows(to)


def forgetful(proxy, to):
    with in_trouble(proxy, "answers 410 once to each watch", Trouble(gone=True)):
        change(to)
        shows(to)
        # What shows comes from the other watch.
        for path in watches():
            wait_for(Observation(f"lists of {path}", lambda what=f"GET {path}": str(proxy.asked().get(what, 0))), 1)
        asked = proxy.asked()
    for path in watches():
        expect(asked.get(f"GET {path}", 0), 1, f"lists of {path}")
        # One that is told, and one from where the list ends.
        expect(asked.get(f"watch {path}", 0) in (1, 2), True, f"watch {path} is begun once or twice")


def cutting(proxy, to):
    begun = now()
    with in_trouble(proxy, f"cuts each watch after {WATCH_SECONDS} s", Trouble(cut=WATCH_SECONDS)):
        change(to)
        shows(to)
        wait_until_over(begun)
        asked = proxy.asked()
        expect_seldom(asked, now() - begun, WATCH_SECONDS + PAUSE_SECONDS)
    for path in watches():
        expect(asked.get(f"watch {path}", 0) > 1, True, f"watch {path} is tried again")
        expect(asked.get(f"GET {path}", 0), 0, f"lists of {path}: it goes on from where it was")


def scenario():
    apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin"},
           "data": {name: json.dumps(document) for name, document in CONFIGS.items()}})
    allow("read-configurations", [rule("", "configmaps", "list watch")])
    proxy = stand_before_api_server()
    select("whole")
    serve("gpus", on="dgx", api=proxy.address, agent={"devicePlugin": {"configMap": f"{namespace()}/plugin"}})
    shows(WHOLE)
    slow(proxy, SHARED)
    postponing(proxy, WHOLE, meanwhile=UNHEARD)
    forgetful(proxy, SHARED)
    cutting(proxy, WHOLE)
    select(None)
