"""What cleans up after the last agent uses each of its rights: without one, what that is for stays on the node."""

import re

from testbench.scenario_bench import current
from testbench.verbs import expect, expect_match, field, kubectl, label, taints, wait_for
from testbench.verbs_chart import CHART, RELEASE, attempt_helm, changed_chart, helm, remove_chart, with_values

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 400
COUNT = "nvidia.com/gpu.count"
TAINT = "nvidia.com/gpu=present:NoSchedule"
VALUES = {
    "cleanup": {"onUninstall": True}, "config": {"map": {"default": "version: v1\n"}}, "taints": {"enabled": True},
}
JOB = "job/partita-cleanup"
# The resources and verbs of the rule that has the right, and the verbs that it has without.
RULES = {
    ("nodes", "list"): ("[nodes]", "[list, patch]", "[patch]"),
    ("nodes", "patch"): ("[nodes]", "[list, patch]", "[list]"),
    ("nodes", "get"): ("[nodes]", "[get]", "[none]"),
    ("nodes/status", "patch"): ("[nodes/status]", "[patch]", "[none]"),
}


def chart_without(right):
    """A copy whose clean-up lacks the right, and is tried once."""
    resources, verbs, fewer = RULES[right]
    return changed_chart(
        "cleanup.yaml", (rf"(resources: {re.escape(resources)}\n +verbs: ){re.escape(verbs)}", rf"\g<1>{fewer}"),
        (r"backoffLimit: \d+", "backoffLimit: 0"))


def condition():
    return field("node", "dgx", "status", "conditions", "partita.dev/GPUConfigApplied", "status")


def install(chart):
    helm("install", RELEASE, str(chart), "--wait", *with_values(VALUES))
    wait_for(label(COUNT, on="dgx"), 8)
    wait_for(condition(), "True")
    wait_for(taints(on="dgx"), TAINT)


def what_stays(right):
    if right == ("nodes/status", "patch"):
        return condition(), "True"
    return (taints(on="dgx"), TAINT) if right == ("nodes", "get") else (label(COUNT, on="dgx"), "8")


def without(right):
    resource, verb = right
    install(chart_without(right))
    refused = attempt_helm("uninstall", RELEASE, "--wait", "--cascade=foreground")
    expect(refused.returncode == 0, False, f"the end is clean without the right to {verb} {resource}")
    said = kubectl("logs", JOB, "--namespace=partita", words="read what the job says")
    expect_match(said, f'cannot {verb} resource "{resource}"')
    seen, stays = what_stays(right)
    expect(seen, stays)
    kubectl("delete", JOB, "--namespace=partita", words="remove the job that failed")
    helm("uninstall", RELEASE, "--no-hooks", "--ignore-not-found")


def scenario():
    current().undo_at_end("install the chart", remove_chart)
    for right in RULES:
        without(right)
    install(CHART)
    helm("uninstall", RELEASE, "--wait", "--cascade=foreground")
    expect(label(COUNT, on="dgx"), "")
    expect(condition(), "")
    expect(taints(on="dgx"), "")
