"""Labels as an object: Node Feature Discovery itself makes labels of it, and each right that it takes is used."""

import json

from testbench.stack_nfd import NFD
from testbench.verbs import allocatable, api, expect, expect_match, label, labels, partition, serve, wait_for
from testbench.verbs_account import answer_to, manager_of, rights_of, token_of, without
from testbench.verbs_chart import (
    RELEASE, agent_log, agent_on, changed_chart, helm, install_chart, restart_agent, upgrade_chart, with_values,
)
from testbench.verbs_observe import Observation, look_up

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PROGRAMS = ["nfd-master", "nfd-api-crds.yaml"]
LIMIT = 420
COUNT = "nvidia.com/gpu.count"
OBJECT = f"/apis/{NFD}/v1alpha1/namespaces/partita/nodefeatures/nvidia-features-for-dgx"
OF_NODE = "nfd.node.kubernetes.io/node-name"
ONLY_ITS_OWN = "^(403|422): .*this account may write the NodeFeature nvidia-features-for-dgx only"
ONLY_LABELS_OF_OURS = "^(403|422): .*may have labels below nvidia.com/ and partita.dev/, and no features"
AS_OBJECT = {"labels": {"backend": "nodefeature"}, "migStrategy": "mixed"}


def in_object():
    """What it counts; what is no object says why."""
    return Observation(f"label {COUNT} of the object", lambda: look_up(OBJECT, ("spec", "labels", COUNT)))


def owner():
    def look():
        found = look_up(OBJECT, ("metadata", "ownerReferences"))
        return " ".join(each["kind"] for each in json.loads(found)) if found.startswith("[") else found
    return Observation("who owns the object", look)


def remove_object():
    api().delete(OBJECT)


def remove_object_before_next_agent():
    remove_object()
    restart_agent("dgx")


def spoil_object():
    api().patch(OBJECT, {"spec": {"labels": {COUNT: "0"}}})


# Right -> what makes the agent use it, and where that is seen, with which value.
USES = {
    (NFD, "nodefeatures", "list"): (remove_object, in_object, "8"),
    (NFD, "nodefeatures", "watch"): (remove_object, in_object, "8"),
    (NFD, "nodefeatures", "create"): (remove_object, in_object, "8"),
    (NFD, "nodefeatures", "update"): (spoil_object, in_object, "8"),
    ("", "pods", "get"): (remove_object_before_next_agent, owner, "DaemonSet Pod"),
}


def each_right_is_used():
    rights = rights_of([("role", "partita", "partita")])
    expect(sorted(rights), sorted(USES), "rights of the role")
    for right, (provoke, seen, done) in USES.items():
        _, resource, verb = right
        with without(right, rights[right]):
            restart_agent("dgx")
            provoke()
            wait_for(agent_log("dgx"), has_refusal(f'cannot {verb} resource "{resource}"'))
            expect(seen().look() == done, False, f"{seen().words} is {done} without the right to {' '.join(right)}")
        provoke()
        wait_for(seen(), done)


def only_its_own_object():
    """By the right to write objects like its own it can write no other, nor say with its own what another node is, or
    what is not ours to say."""
    token, folder = token_of(agent_on("dgx")["metadata"]["name"]), OBJECT.rpartition("/")[0]
    own = api().object(OBJECT)
    of_other = {**own, "metadata": {"name": "nvidia-features-for-elsewhere", "labels": {OF_NODE: "elsewhere"}}}
    renamed = {**of_other, "metadata": {"name": "any", "labels": {OF_NODE: "dgx"}}}
    for labels_of_own in ({OF_NODE: "elsewhere"}, {}):
        changed = {**own, "metadata": {**own["metadata"], "labels": labels_of_own}}
        expect_match(answer_to(token, "PUT", OBJECT, changed), ONLY_ITS_OWN)
    flags = {"flags": {"cpu.cpuid": {"elements": {"AVX": {}}}}, "attributes": {}, "instances": {}}
    for said in ({"labels": {**own["spec"]["labels"], "example.com/x": "1"}}, {"features": flags}):
        changed = {**own, "spec": {**own["spec"], **said}}
        expect_match(answer_to(token, "PUT", OBJECT, changed), ONLY_LABELS_OF_OURS)
    for alien in (of_other, renamed):
        expect_match(answer_to(token, "POST", folder, alien), ONLY_ITS_OWN)
    expect(answer_to(token, "PUT", OBJECT, api().object(OBJECT)), "200")


def removes_none_of_others():
    """By the right to remove its own it can remove no other."""
    token, folder = token_of(agent_on("dgx")["metadata"]["name"]), OBJECT.rpartition("/")[0]
    name = "nvidia-features-for-elsewhere"
    nothing = {"features": {"flags": {}, "attributes": {}, "instances": {}}}
    head = {"apiVersion": f"{NFD}/v1alpha1", "kind": "NodeFeature", "metadata": {"name": name}}
    api().create(folder, {**head, "spec": nothing})
    expect_match(answer_to(token, "DELETE", f"{folder}/{name}"), ONLY_ITS_OWN)
    api().delete(f"{folder}/{name}")


def object_goes_by_right(values):
    """Under another backend. The rights were ours to change, as Helm sees it."""
    lacking = changed_chart("rbac.yaml", (r"(resources: \[nodefeatures\]\n +verbs: )\[delete\]", r"\g<1>[get]"))
    helm("upgrade", RELEASE, str(lacking), "--wait", "--force-conflicts", *with_values(values))
    wait_for(agent_log("dgx"), has_refusal('cannot delete resource "nodefeatures"'))
    expect(look_up(OBJECT, ("kind",)), "NodeFeature", "what is still there")
    upgrade_chart(values, "--force-conflicts")
    wait_for(Observation("the object", lambda: look_up(OBJECT, ("kind",))[:8]), "HTTP 404")


def has_refusal(said):
    def refused(text):
        return said in text
    refused.__doc__ = said
    return refused


def scenario():
    serve("node feature discovery", on="dgx")
    install_chart(AS_OBJECT)
    wait_for(allocatable("nvidia.com/gpu", on="dgx"), 8)
    wait_for(label(COUNT, on="dgx"), 8)
    expect(owner(), "DaemonSet Pod")
    expect_match(manager_of(COUNT, on="dgx").look(), "^(?!.*partita)nfd-master", "who has said the label")

    only_its_own_object()
    each_right_is_used()

    partition("dgx", gpu=0, want="3g.20gb:2")
    wait_for(label("nvidia.com/mig-3g.20gb.count", on="dgx"), 2)
    through_object = labels("nvidia.com/", on="dgx")

    # The object goes, and with it who says the labels; they are the same.
    object_goes_by_right({**AS_OBJECT, "labels": {"backend": "node"}})
    wait_for(manager_of(COUNT, on="dgx"), "partita-labels")
    expect(without_times(labels("nvidia.com/", on="dgx")), without_times(through_object), "labels on the Node")
    removes_none_of_others()


def without_times(found):
    """The only label that says when it was made."""
    return {key: value for key, value in found.items() if key != "nvidia.com/gfd.timestamp"}
