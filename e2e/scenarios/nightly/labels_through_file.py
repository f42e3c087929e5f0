"""Labels as a file: Node Feature Discovery's own worker reads it, and the Node has what `partita labels show` shows."""

import json

from testbench.verbs import expect, expect_match, kubectl, label, on_node, partition, serve, wait_for
from testbench.verbs_account import manager_of
from testbench.verbs_chart import agent_on, helm, install_chart
from testbench.verbs_labels import there

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
PROGRAMS = ["nfd-master", "nfd-worker", "nfd-api-crds.yaml"]
LIMIT = 300
COUNT = "nvidia.com/gpu.count"
FOLDER = "/etc/kubernetes/node-feature-discovery/features.d"


def shown():
    """By `partita labels show` where the agent runs."""
    name = agent_on("dgx")["metadata"]["name"]
    command = ["partita", "labels", "show", "--output=json"]
    return json.loads(kubectl(
        "exec", name, "--namespace=partita", "--container=agent", "--", *command, words="ask which labels it gets",
    ))["labels"]


def scenario():
    serve("node feature discovery's worker", on="dgx")
    install_chart({"labels": {"backend": "file"}, "migStrategy": "mixed"})
    wait_for(label(COUNT, on="dgx"), 8)
    expect_match(manager_of(COUNT, on="dgx").look(), "^(?!.*partita)nfd-master", "who has said the label")
    expect(there("dgx"), shown(), "labels of the Node")

    partition("dgx", gpu=0, want="3g.20gb:2")
    wait_for(label("nvidia.com/mig-3g.20gb.count", on="dgx"), 2)
    expect(there("dgx"), shown(), "labels of the Node")

    # The file outlives its agent, as docs/install.md says, until somebody removes it.
    helm("uninstall", "partita", "--wait", "--cascade=foreground")
    expect(on_node("dgx", f"ls {FOLDER}"), "gfd")
    expect(label(COUNT, on="dgx"), 8)
    on_node("dgx", f"rm -r {FOLDER}")
    wait_for(label(COUNT, on="dgx"), "")
    expect(there("dgx"), {}, "labels of the Node")
