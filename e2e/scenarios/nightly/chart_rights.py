"""Each right in the chart is used, and the agent's account reaches neither another node nor a secret."""

import itertools
import json

from testbench.scenario_bench import current
from testbench.verbs import allocatable, api, expect, expect_match, field, label, wait_for
from testbench.verbs_account import answer_to, rights_of, token_of, without
from testbench.verbs_chart import PODS, agent_log, install_chart, restart_agent
from testbench.verbs_observe import Observation, look_up

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
STACKS = ["partita"]
LIMIT = 420
SELECT, OVERLAY = "nvidia.com/device-plugin.config", "partita.dev/config"
GPU, COUNT = "nvidia.com/gpu", "nvidia.com/gpu.count"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/partita-own-node"
NUMBERS = itertools.count()
ROLES = [("clusterrole", "", "partita"), ("role", "default", "partita-events"), ("role", "partita", "partita")]
# What other scenarios take away.
ELSEWHERE = {
    ("events.k8s.io", "events", "patch"): "chart_event_series.py: it is used after ten minutes",
    ("nfd.k8s-sigs.io", "nodefeatures", "delete"): "labels_through_nfd.py: only where labels were an object before",
}


def shared_by(replicas):
    resources = [{"name": GPU, "replicas": replicas}]
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": resources}}})


def set_labels(labels):
    api().patch("/api/v1/nodes/dgx", {"metadata": {"labels": labels}})


def select_shared():
    """And spoils a label: when that is right again, the agent has seen both."""
    set_labels({SELECT: "shared", COUNT: "0"})


def select_shared_by_three():
    """By another text of the same name."""
    api().patch("/api/v1/namespaces/partita/configmaps/partita-configs", {"data": {"shared": shared_by(3)}})
    select_shared()


def select_unknown():
    """Another one each time: the same mistake is told once in ten minutes."""
    set_labels({SELECT: f"nonesuch-{next(NUMBERS)}"})


def spoil_label():
    set_labels({COUNT: "0"})


def condition():
    return field("node", "dgx", "status", "conditions", "partita.dev/GPUConfigApplied", "status")


def events():
    """How many Events tell of a configuration that was rejected."""
    path = "/api/v1/events?fieldSelector=involvedObject.name=dgx,reason=ConfigRejected"
    return Observation("Events ConfigRejected", lambda: str(len(json.loads(look_up(path, ("items",)) or "[]"))))


def shares():
    return allocatable(GPU, on="dgx")


def count_label():
    return label(COUNT, on="dgx")


# Right -> what makes the agent use it, and where that is seen, with which value.
USES = {
    ("events.k8s.io", "events", "create"): (select_unknown, events, "1"),
    ("", "nodes", "list"): (select_shared, shares, "16"),
    ("", "nodes", "watch"): (select_shared, shares, "16"),
    ("", "nodes/status", "patch"): (select_unknown, condition, "False"),
    ("", "nodes", "patch"): (spoil_label, count_label, "8"),
    ("", "configmaps", "list"): (select_shared, shares, "16"),
    ("", "configmaps", "watch"): (select_shared_by_three, shares, "24"),
}


def each_right_is_used():
    """Taken away, the API server says no to the agent and what it is for is not done; given back, it is."""
    rights = rights_of(ROLES)
    expect(sorted(rights.keys() - USES.keys() - ELSEWHERE.keys()), [], "rights of which nobody knows who uses them")
    for right, (provoke, seen, done) in USES.items():
        with without(right, rights[right]):
            restart_agent("dgx")
            provoke()
            wait_until_refused(right)
            expect(seen().look() == done, False, f"{seen().words} is {done} without the right to {' '.join(right)}")
        provoke()
        wait_for(seen(), done)
        set_labels({SELECT: None})
        wait_for(shares(), 8)


def wait_until_refused(right):
    """The agent's log says it, but for two: the condition says what the Event should have said, and a ConfigMap that
    is not told leaves what was good last in force."""
    _, resource, verb = right
    if resource == "events":
        return wait_for(condition(), "False")
    if resource == "configmaps":
        return wait_for(count_label(), "8")
    said = f'cannot {verb} resource "{resource}"'

    def refused(text):
        return said in text
    refused.__doc__ = said
    return wait_for(agent_log("dgx"), refused)


def event_of(kind, name):
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "tried-", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "partita.dev/agent",
        "reportingInstance": "tried",
        "action": "Tried",
        "reason": "Tried",
        "type": "Normal",
        "note": "one that only a node's own agent may write",
        "regarding": {"apiVersion": "v1", "kind": kind, "name": name},
    }


def every_field_is_named():
    """A Kubernetes that is newer than the policy may have fields of a Node that it does not name."""
    schemas = api().object("/openapi/v3/api/v1")["components"]["schemas"]
    policy = json.dumps(api().object(POLICY)["spec"]["validations"])
    for part in ("spec", "status"):
        fields = schemas[f"io.k8s.api.core.v1.Node{part.capitalize()}"]["properties"]
        unnamed = [name for name in fields if f"object.{part}.?{name}" not in policy]
        expect(unnamed, [], f"fields of a node's {part} that the policy does not name")


def event_named(name, of):
    """One that is there: what it is about nobody may change, so that the policy is asked for the rest of it."""
    api().create(EVENTS, {**event_of("Node", of), "metadata": {"name": name, "namespace": "default"}})
    current().undo_at_end(f"remove Event {name}", lambda: api().delete(f"{EVENTS}/{name}"))
    return f"{EVENTS}/{name}"


def only_its_own_node():
    pods = {pod["spec"]["nodeName"]: pod["metadata"]["name"] for pod in json.loads(look_up(PODS, ("items",)))}
    token, node = token_of(pods["dgx"]), "/api/v1/nodes/dgx"
    ours, alien = {COUNT: "99"}, {"example.com/mine": "1"}
    taint, down = {"key": "example.com/mine", "effect": "NoSchedule"}, {"type": "Ready", "status": "False"}
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "00000000-0000-0000-0000-000000000000"}
    own_event, event_of_other = event_named("tried-own", of="dgx"), event_named("tried-other", of="mixed")
    outside = {"type": "ExternalIP", "address": "192.0.2.1"}
    for method, path, changes, said in (
        ("PATCH", "/api/v1/nodes/mixed", {"metadata": {"labels": ours}}, "this account may change node dgx only"),
        ("PATCH", "/api/v1/nodes/mixed/status", {"metadata": {"labels": ours}}, "may change node dgx only"),
        ("PATCH", node, {"metadata": {"labels": alien}}, "of a node's labels"),
        ("PATCH", node, {"metadata": {"labels": {"kubernetes.io/hostname": None}}}, "of a node's labels"),
        ("PATCH", f"{node}/status", {"metadata": {"labels": alien}}, "of a node's labels"),
        ("PATCH", node, {"metadata": {"annotations": alien}}, "of a node's annotations"),
        ("PATCH", node, {"metadata": {"finalizers": ["example.com/mine"]}}, "may not change a node's finalizers"),
        ("PATCH", node, {"metadata": {"ownerReferences": [owner]}}, "may not change a node's finalizers or owners"),
        ("PATCH", node, {"spec": {"unschedulable": True}}, "of a node's spec"),
        ("PATCH", node, {"spec": {"providerID": "example://mine"}}, "of a node's spec"),
        ("PATCH", node, {"spec": {"taints": [taint]}}, "of a node's taints"),
        ("PATCH", f"{node}/status", {"status": {"capacity": {GPU: "99"}}}, "of a node's status"),
        ("PATCH", f"{node}/status", {"status": {"allocatable": {GPU: "99"}}}, "of a node's status"),
        ("PATCH", f"{node}/status", {"status": {"addresses": [outside]}}, "of a node's status"),
        ("PATCH", f"{node}/status", {"status": {"nodeInfo": {"kubeletVersion": "v1.0.0"}}}, "of a node's status"),
        ("PATCH", f"{node}/status", {"status": {"declaredFeatures": ["Tried"]}}, "of a node's status"),
        ("PATCH", f"{node}/status", {"status": {"conditions": [down]}}, "of a node's status"),
        ("POST", EVENTS, event_of("Node", "mixed"), "may write Events of node dgx only"),
        ("POST", EVENTS, event_of("Pod", "dgx"), "may write Events of node dgx only"),
        ("PATCH", event_of_other, {"metadata": {"labels": ours}}, "may write Events of node dgx only"),
        ("PATCH", own_event, {"regarding": {"name": "mixed"}}, "field is immutable"),
        ("DELETE", node, None, 'cannot delete resource "nodes"'),
        ("GET", "/api/v1/secrets", None, 'cannot list resource "secrets"'),
        ("GET", "/api/v1/namespaces/partita/secrets/any", None, 'cannot get resource "secrets"'),
        ("GET", "/api/v1/pods", None, 'cannot list resource "pods"'),
        ("GET", "/api/v1/namespaces/kube-system/configmaps", None, 'cannot list resource "configmaps"'),
    ):
        expect_match(answer_to(token, method, path, changes), f"^(403|422): .*{said}")
    expect_match(answer_to(token_of(), "PATCH", node, {"metadata": {"labels": ours}}), "the token names no node")
    expect(answer_to(token, "POST", EVENTS, event_of("Node", "dgx")), "201")
    expect(answer_to(token, "PATCH", own_event, {"metadata": {"labels": ours}}), "200")
    for value in ("1", None):
        expect(answer_to(token, "PATCH", node, {"metadata": {"labels": {"nvidia.com/own": value}}}), "200")


def overlay_by_label():
    """What one node has otherwise than the others."""
    for name, offered in (("idle", no_gpu), (None, 8)):
        set_labels({OVERLAY: name})
        wait_for(allocatable(GPU, on="dgx"), offered)


def no_gpu(amount):
    """none"""
    return amount in ("", "0")


def scenario():
    current().undo_at_end("take the labels off", lambda: set_labels({SELECT: None, OVERLAY: None}))
    install_chart({"config": {"map": {"default": "version: v1\n", "shared": shared_by(2)}},
                   "overlays": {"idle": {"offer": {"default": "none"}}}})
    wait_for(allocatable(GPU, on="dgx"), 8)
    overlay_by_label()
    every_field_is_named()
    only_its_own_node()
    each_right_is_used()
