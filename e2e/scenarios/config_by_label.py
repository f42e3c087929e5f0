"""A node's configuration is switched by its label twelve times while pods run, and mistakes in it change nothing.

partita is installed by its chart, with the configurations among its values."""

import json
import statistics

from testbench.scenario_bench import current
from testbench.verbs import (
    allocatable, api, apply, expect, field, given, note, now, nvml_in, partition, phase, pod, wait_for,
)
from testbench.verbs_chart import agent_of_chart, install_chart
from testbench.verbs_listed import expect_listed, lists
from testbench.verbs_manifests import CUDA_IMAGE
from testbench.verbs_observe import CORE, Observation, look_up

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
LABEL = "nvidia.com/device-plugin.config"
GPU = "nvidia.com/gpu"
RESOURCES = {
    "gpu": GPU, "big": "nvidia.com/mig-3g.20gb", "small": "nvidia.com/mig-1g.5gb", "shared": "nvidia.com/gpu.shared",
}
# What kubelet knows is ours to bring about, each time. It tells the API server once a second, and less often where the
# machine is busy: so there one switch may be late, and half of them may not.
LISTED_SECONDS = 2
SECONDS = 10
MEDIAN_SECONDS = 2
CONFIGS_NAME = "partita/partita-configs"
CONFIGS_PLACE = "/api/v1/namespaces/partita/configmaps/partita-configs"


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


TEXTS = {name: json.dumps({"version": "v1", **document}) for name, document in CONFIGS.items()}


def write_configs(**others):
    """The chart's ConfigMap, some of it as told."""
    api().put_object(CONFIGS_PLACE, {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "partita-configs", "namespace": "partita"},
        "data": {**TEXTS, **others}})


def set_label(name):
    """None: without it."""
    api().patch(f"{CORE}/nodes/dgx", {"metadata": {"labels": {LABEL: name}}})


def none(amount):
    """none"""
    return amount in ("", "0")


def is_so(seen, amount):
    return none(seen) if amount is None else seen == str(amount)


class Switches:
    """Each within its time, half of them within less, and whoever holds something holds it after each."""

    def __init__(self):
        self.seconds, self.listed, self.held = [], [], {}
        self.agent = agent_of_chart("dgx").look()
        expect(self.agent.endswith(", 0"), True, f"the agent was started once ({self.agent})")

    def hold(self, name, resource):
        apply(pod(name, on="dgx", limits={resource: 1}, image=CUDA_IMAGE))
        wait_for(phase(name), "Running")
        self.held[name] = given(name, on="dgx")

    def to(self, name, **offered):
        """The label says this; the node then offers exactly that much, and kubelet knew it in time."""
        amounts = {RESOURCES[key]: offered.get(key) for key in RESOURCES}
        before = {resource: allocatable(resource, on="dgx").look() for resource in amounts}
        changed = [resource for resource, amount in amounts.items() if not is_so(before[resource], amount)]
        begun = now()
        with lists(changed, on="dgx") as told:
            set_label(name)
            for resource, amount in amounts.items():
                wait_for(allocatable(resource, on="dgx"), none if amount is None else amount, within=SECONDS)
            self.seconds.append(now() - begun)
        expect_listed(f"configuration {name}", told.seconds, LISTED_SECONDS)
        self.listed.append(told.seconds)
        self.expect_held()

    def expect_held(self):
        for name, devices in self.held.items():
            expect(nvml_in(name), devices)
            expect(field("pod", name, "status", "containerStatuses", "main", "restartCount"), 0)
        expect(agent_of_chart("dgx"), self.agent)

    def judge(self):
        median, most = statistics.median(self.seconds), max(self.seconds)
        note("s from the label to what the node offers, median and most", f"{median:.2f} {most:.2f}")
        note("s from the label to kubelet's lists, most", f"{max(self.listed):.2f}")
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
    source = f"configmap/{CONFIGS_NAME}"
    partition("dgx", gpu=0, want="3g.20gb,1g.5gb:2")
    current().undo_at_end("take the label off", lambda: set_label(None))
    install_chart({"config": {"map": TEXTS, "default": "whole"}})
    # GPU 0 is in MIG mode: nobody could compute on it as a whole.
    wait_for(allocatable(GPU, on="dgx"), 7)
    node = Switches()
    node.hold("one", GPU)

    node.to("slices", gpu=7, big=1, small=2)
    node.hold("slice", RESOURCES["big"])
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
    mistake(f"{source} is not there", lambda: api().delete(CONFIGS_PLACE), write_configs)

    node.expect_held()
