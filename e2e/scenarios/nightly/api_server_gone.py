"""The API server is gone for a minute: the agent asks for it seldom, and what changed meanwhile is there afterwards."""

import json

from testbench.verbs import apply, bind, expect, label, now, on_node, phase, pod, serve, start, stop, wait_for
from testbench.verbs_observe import Observation

NODES = {"dgx": "dgx-a100-40"}
STACKS = ["partita"]
LIMIT = 300
COUNT = "nvidia.com/gpu.count"
GONE_SECONDS = 60
# Each pause is twice the one before, up to half a minute.
TRIES = 12
# How often the agent asked for what, also where nobody heard it.
ASKED = """
import json, socket, struct
peer = socket.socket(socket.AF_UNIX)
peer.connect("/run/partita/agent.sock")
text = json.dumps({"version": 1, "method": "agent.state", "params": {}}).encode()
peer.sendall(struct.pack(">I", len(text)) + text)
(size,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
print(json.dumps(json.loads(peer.recv(size, socket.MSG_WAITALL))["result"]["cluster"]["requests"]))
"""


def asked():
    return json.loads(str(on_node("dgx", ["python3", "-c", ASKED])))


def over(seconds):
    """a minute"""
    return float(seconds) >= GONE_SECONDS


def scenario():
    serve("gpus", on="dgx")
    wait_for(label(COUNT, on="dgx"), 8)
    before = asked()
    stop("API server")
    begun = now()
    bind("dgx", 7, "vfio")
    wait_for(Observation("seconds without the API server", lambda: f"{now() - begun:.1f}"), over, within=2 * GONE_SECONDS)
    tried = {what: times - before.get(what, 0) for what, times in asked().items()}
    expect({what: times for what, times in tried.items() if times > TRIES}, {}, f"what was asked for more than {TRIES} times")
    expect(tried.get("watch nodes", 0) > 1, True, "the watch of the Node is tried again")
    start("API server")
    wait_for(label(COUNT, on="dgx"), 7, within=60)
    # kubelet has pauses of its own: a pod that runs says that they are over.
    apply(pod("after", on="dgx", limits={"nvidia.com/gpu": 1}))
    wait_for(phase("after"), "Running", within=120)
