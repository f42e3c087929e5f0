"""A node's configuration is switched by its label twelve times while pods run, and mistakes in it change nothing."""

import json
import statistics

from testbench.scenario_bench import current
from testbench.verbs import (
    allocatable, apply, delete, expect, field, given, namespace, note, now, nvml_in, partition, phase, pod, serve,
    wait_for,
)
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import CORE, Observation, agent_restarts, look_up
from testbench.verbs_rights import CONFIG_BY_LABEL, allow, rule

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
LABEL = "nvidia.com/device-plugin.config"
GPU, BIG, SMALL = "nvidia.com/gpu", "nvidia.com/mig-3g.20gb", "nvidia.com/mig-1g.5gb"
# The agent has told kubelet within half a second; kubelet tells the API server once a second, and less often where the
# machine is busy: so one switch may be late, and half of them may not.
SECONDS = 10
MEDIAN_SECONDS = 2


def shares(replicas, **more):
    return {"timeSlicing": {**more, "resources": [{"name": GPU, "replicas": replicas}]}}


CONFIGS = {
    "whole": {},
    "slices": {"flags": {"migStrategy": "mixed"}},
    "single": {"flags": {"migStrategy": "single"}},
    "shares-4": {"sharing": shares(4)},
    "shares-2": {"sharing": shares(2)},
    "slices-and-shares": {"flags": {"migStrategy": "mixed"}, "sharing": shares(3, renameByDefault=True)},
}


def write_configs(**others):
    """The ConfigMap, some of it as told."""
    texts = {name: json.dumps({"version": "v1", **document}) for name, document in CONFIGS.items()}
    apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin"}, "data": {**texts, **others}})


def set_label(name):
    """None: without it."""
    current().cluster.control_plane.api.patch(f"{CORE}/nodes/dgx", {"metadata": {"labels": {LABEL: name}}})


def none(amount):
    """none"""
    return amount in ("", "0")


class Switches:
    """Each within its time, half of them within less, and whoever holds something holds it after each."""

    def __init__(self):
        self.seconds, self.held = [], {}

    def hold(self, name, resource):
        apply(pod(name, on="dgx", limits={resource: 1}, image=CUDA_IMAGE))
        wait_for(phase(name), "Running")
        self.held[name] = given(name, on="dgx")

    def to(self, name, **offered):
        """The label says this; the node then offers exactly that much."""
        begun = now()
        set_label(name)
        for resource, amount in ((GPU, offered["gpu"]), (BIG, offered.get("big")), (SMALL, offered.get("small")),
                                 (f"{GPU}.shared", offered.get("shared"))):
            wait_for(allocatable(resource, on="dgx"), none if amount is None else amount, within=SECONDS)
        self.seconds.append(now() - begun)
        self.expect_held()

    def expect_held(self):
        for name, devices in self.held.items():
            expect(nvml_in(name), devices)
            expect(field("pod", name, "status", "containerStatuses", "main", "restartCount"), 0)
        expect(agent_restarts("dgx"), 0)

    def judge(self):
        median, most = statistics.median(self.seconds), max(self.seconds)
        note("s from the label to what the node offers, median and most", f"{median:.2f} {most:.2f}")
        expect(median <= MEDIAN_SECONDS, True, f"half of the switches take {MEDIAN_SECONDS} s at most ({median:.2f})")


def condition(key):
    return field("node", "dgx", "status", "conditions", "partita.dev/GPUConfigApplied", key)


def events():
    """What our Events of this node say, one a line."""
    def look():
        path = f"{CORE}/events?fieldSelector=involvedObject.name=dgx,reason=ConfigRejected"
        return "\n".join(event["message"] for event in json.loads(look_up(path, ("items",)) or "[]"))
    return Observation("Events ConfigRejected of node dgx", look)


def mistake(place, do, undo):
    """What `do` does is passed over and told with its place, until `undo`."""
    do()
    wait_for(condition("status"), "False", within=10)
    expect(place in condition("message").look(), True, f"{place} in the condition's message")
    wait_for(events(), lambda text: place in text, within=20)
    expect(allocatable(GPU, on="dgx"), 24)
    undo()
    wait_for(condition("status"), "True", within=10)


def scenario():
    source = f"configmap/{namespace()}/plugin"
    partition("dgx", gpu=0, want="3g.20gb,1g.5gb:2")
    write_configs()
    allow("config-by-label", [*CONFIG_BY_LABEL, rule("", "configmaps", "list watch")])
    current().undo_at_end("take the label off", lambda: set_label(None))
    serve("gpus", on="dgx", token=True, agent={
        "devicePlugin": {"configMap": f"{namespace()}/plugin", "default": "whole"}})
    # GPU 0 is in MIG mode: nobody could compute on it as a whole.
    wait_for(allocatable(GPU, on="dgx"), 7)
    node = Switches()
    node.hold("one", GPU)

    node.to("slices", gpu=7, big=1, small=2)
    node.hold("slice", BIG)
    node.to("slices-and-shares", gpu=None, big=1, small=2, shared=18)
    node.to("slices", gpu=7, big=1, small=2)
    # The GPU that `one` holds is not shared beside it, and that of `share` is not offered whole.
    node.to("shares-4", gpu=24)
    node.hold("share", GPU)
    node.to("whole", gpu=6)
    node.to("shares-2", gpu=12)
    node.to("slices", gpu=6, big=1, small=2)
    node.to("single", gpu=6)
    node.to("shares-4", gpu=24)
    node.to("shares-2", gpu=12)
    node.to(None, gpu=6)
    node.to("shares-4", gpu=24)
    node.judge()

    unknown = f'no configuration in {source} is called "shares-5"'
    mistake(unknown, lambda: set_label("shares-5"), lambda: set_label("shares-4"))
    broken = "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: many}]\n"
    mistake(f"{source}/shares-4:4:50", lambda: write_configs(**{"shares-4": broken}), write_configs)
    mistake(f"{source} is not there", lambda: delete("configmap", "plugin"), write_configs)

    node.expect_held()
