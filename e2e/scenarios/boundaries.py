"""Nobody gets in without a key, a node does not reach into another, and the host's network is left alone."""

from testbench.verbs import apply, exec_in, expect, expect_match, field, on_node, phase, pod, wait_for
from testbench.verbs_host import opened_on_host

NODES = {"dgx": "dgx-a100-40", "mixed": "mixed"}
HARDWARE = "md5sum </run/partita-sim/sim/node.yaml"
AS_KUBELET = "kubectl --kubeconfig=/etc/kubernetes/kubelet.kubeconfig"
MARKS = "/dev/nvidia-of-dgx /var/run/cdi/of-dgx.yaml /run/nvidia/of-dgx"


def answer_to_nobody(server, path):
    """The first line that a server answers to a client without a certificate."""
    ask = f"printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' | openssl s_client -quiet -connect {server} 2>&1"
    return on_node("dgx", f"{ask} | grep -m 1 ^HTTP")


def scenario():
    expect_match(answer_to_nobody("10.64.0.1:443", "/api/v1/secrets"), "403 Forbidden")
    expect_match(answer_to_nobody("mixed:10250", "/pods"), "401 Unauthorized")

    expect_match(on_node("dgx", f"{AS_KUBELET} get secrets -A 2>&1 || :"), "Forbidden.*system:node:dgx")
    expect_match(on_node("dgx", f"{AS_KUBELET} label node mixed a=b 2>&1 || :"), "(?i)forbidden")
    on_node("dgx", f"{AS_KUBELET} label node dgx partita.test/own=yes && {AS_KUBELET} label node dgx partita.test/own-")
    keys = on_node("dgx", "find /run /etc/kubernetes -name '*.key' -printf '%f\\n' | sort -u")
    expect(keys.split(), ["dgx-kubelet-server.key", "dgx-kubelet.key"], "keys that node dgx can read")

    for node in NODES:
        expect(field("node", node, "status", "nodeInfo", "kubeletVersion"), "v1.36.4")
        apply(pod(f"on-{node}", on=node))
    for node in NODES:
        wait_for(phase(f"on-{node}"), "Running")
        expect(exec_in(f"on-{node}", HARDWARE), on_node(node, HARDWARE))
    expect(on_node("dgx", HARDWARE) == on_node("mixed", HARDWARE), False, "the two nodes have the same hardware")

    expect(len(on_node("dgx", "ls /dev/nvidia[0-9]*").split()), 8, "GPUs in dgx's /dev")
    expect(len(on_node("mixed", "ls /dev/nvidia[0-9]*").split()), 3, "GPUs in mixed's /dev")
    on_node("dgx", f"mkdir -p /var/run/cdi /run/nvidia && touch {MARKS}")
    expect(on_node("mixed", f"ls {MARKS} 2>/dev/null || :"), "")
    on_node("dgx", f"rm {MARKS}")

    expect(opened_on_host(), "")
