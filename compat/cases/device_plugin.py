"""nvidia-device-plugin judges enumeration, topology and events: kubelet's questions, asked by us."""

import contextlib
import dataclasses
import json
import os
import selectors
import subprocess
import tempfile
import time

from harness.layouts import layouts
from harness.node import stop
from support.refusal import check_refusal
from support.shell import Failure, run

NAME = "device-plugin"
NEEDS_NODE = True
STRATEGIES = ["none", "single", "mixed"]
# Why the strategy "single" forbids a layout: MIG on some GPUs only, without devices, of several kinds.
FORBIDDEN = (
    "all devices on the node must be configured with the same migEnabled value",
    "at least one device with migEnabled=true was not configured correctly",
    "more than one MIG device type present on node",
)
START_SECONDS = 30
UPDATE_SECONDS = 30
# The plugin's sockets lie in a directory that is fixed in kubelet's API. Our machine may have no such
# directory, or a kubelet that uses it: inside the node's own mounts it becomes a directory of ours.
PREPARE = (
    "mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/kubelet/device-plugins && "
    'mount --bind "$0" /var/lib/kubelet/device-plugins && cd / && exec "$@"'
)


def judge(context, session, node):
    for layout in layouts(node.facts):
        with session.case(f"{layout.name}: made"):
            node.apply(layout.specs())
        for strategy in STRATEGIES:
            with session.case(f"{layout.name}, strategy {strategy}"):
                lists(context, node, layout, strategy)
    full, slices = layouts(node.facts)[:2]
    with session.case("slices for health: made"):
        node.apply(slices.specs())
    with session.case("XID 79 makes a slice unhealthy, XID 31 does not"):
        health_of_slices(context, node, slices)
    with session.case("full GPUs for health: made"):
        node.apply(full.specs())
    with session.case("XID 79 makes a GPU unhealthy, XID 31 does not"):
        health_of_gpus(context, node)


# ---- lists ----


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A device that the plugin must list: its GPU, and whether it is a slice of it."""

    gpu: int
    uuid: str  # of the GPU
    numa: int
    is_slice: bool


def lists(context, node, layout, strategy):
    wanted = expected(node, layout, strategy)
    if wanted is None:
        refuses(context, node, strategy)
        return
    with plugin(context, node, strategy, wanted) as sockets:
        for resource, devices in wanted.items():
            answers = ask(context, node.log, sockets[resource], preferred_size(devices))
            check_devices(answers["devices"], devices, resource)
            if len(answers["preferred"]) != preferred_size(devices):
                raise Failure(f"{resource}: GetPreferredAllocation gave {answers['preferred']}")
            check_allocation(answers, devices, resource)


def expected(node, layout, strategy):
    """Resource -> [Wanted], or None where the plugin must refuse to start."""
    empty = any(layout.gpus[index] == {} for index in layout.enabled)
    uniform = not layout.disabled and not empty and len(layout.slices()) == 1
    if strategy == "single" and layout.enabled and not uniform:
        return None
    uuids, found = node.gpu_uuids(), {}
    for index, devices in layout.gpus.items():
        gpu = node.facts.gpus[index]
        if devices is None or strategy == "none":
            found.setdefault("gpu", []).append(Wanted(index, uuids[index], gpu.numa, False))
            continue
        for name, count in devices.items():
            # Version 0.19 matches profile names by their beginning, so that a slice with media
            # extensions counts as one of the ordinary profile, which comes first.
            resource = "gpu" if strategy == "single" else "mig-" + name.split("+")[0]
            found.setdefault(resource, []).extend([Wanted(index, uuids[index], gpu.numa, True)] * count)
    return found


def check_devices(found, wanted, resource):
    """IDs are unique; whole GPUs have their UUIDs; every device has the NUMA node of its GPU."""
    ids = [device["id"] for device in found]
    if len(set(ids)) != len(ids) or len(ids) != len(wanted):
        raise Failure(f"{resource}: {len(ids)} devices, {len(set(ids))} different, wanted {len(wanted)}")
    numa = sorted(device["numa"] for device in found)
    if numa != sorted([w.numa] for w in wanted):
        raise Failure(f"{resource}: NUMA nodes {numa}")
    whole = {i for i in ids if i.startswith("GPU-")}
    if whole != {w.uuid for w in wanted if not w.is_slice}:
        raise Failure(f"{resource}: whole GPUs {sorted(whole)}")
    strange = [i for i in ids if not i.startswith(("GPU-", "MIG-"))]
    sick = [device["id"] for device in found if device["health"] != "Healthy"]
    if strange or sick:
        raise Failure(f"{resource}: strange ids {strange}, not healthy {sick}")


def check_allocation(answers, wanted, resource):
    """The first device: its id in the environment, its nodes (a slice has two capability nodes)."""
    first, answer = answers["devices"][0]["id"], answers["allocated"]
    if answer.get("envs", {}).get("NVIDIA_VISIBLE_DEVICES") != first:
        raise Failure(f"{resource}: Allocate of {first} gave {answer}")
    nodes = {device["container_path"] for device in answer.get("devices", [])}
    caps = [path for path in nodes if path.startswith("/dev/nvidia-caps/nvidia-cap")]
    gpus = [path for path in nodes if path[len("/dev/nvidia"):].isdigit()]
    slices = first.startswith("MIG-")
    if len(gpus) != 1 or len(caps) != (2 if slices else 0) or "/dev/nvidiactl" not in nodes:
        raise Failure(f"{resource}: device nodes of {first}: {sorted(nodes)}")
    if gpus[0] not in {f"/dev/nvidia{w.gpu}" for w in wanted}:
        raise Failure(f"{resource}: {first} is behind {gpus[0]}")


def preferred_size(devices):
    """Half of the devices: a real choice, so that the plugin reads the links between GPUs."""
    return max(1, len(devices) // 2)


# ---- health ----


def health_of_gpus(context, node):
    """XID 31 on the first GPU, XID 79 on the last (the same where there is one): only 79 shows."""
    uuids = node.gpu_uuids()
    sick = sick_after_xid(context, node, "none", "gpu", healthy=0, broken=len(uuids) - 1)
    if sick != {uuids[-1]}:
        raise Failure(f"unhealthy: {sorted(sick)}, wanted {uuids[-1]} alone")


def health_of_slices(context, node, layout):
    """An XID of a whole GPU reaches its slices. Version 0.19 keeps one slice per GPU for this, so one
    of them is all that can be asked for."""
    ((name, _),) = layout.slices().items()
    broken = layout.enabled[-1]
    sick = sick_after_xid(
        context, node, "mixed", "mig-" + name, healthy=layout.enabled[0], broken=broken
    )
    own = node.slice_uuids(broken)
    if len(sick) != 1 or not sick <= own:
        raise Failure(f"unhealthy: {sorted(sick)}, wanted one of {sorted(own)}")


def sick_after_xid(context, node, strategy, resource, healthy, broken):
    """The unhealthy devices in the first list after XID 31 on one GPU and XID 79 on another."""
    resources = [resource] if len(node.facts.capable) == len(node.facts.gpus) else ["gpu", resource]
    with plugin(context, node, strategy, resources) as sockets:
        with watch(context, sockets[resource]) as lines:
            first = next_devices(lines, START_SECONDS)
            if any(device["health"] != "Healthy" for device in first):
                raise Failure(f"unhealthy before any fault: {first}")
            # The plugin registers for events some time after it serves: the faults are repeated until
            # it answers. Within one round, 31 always comes before 79.
            deadline = time.monotonic() + UPDATE_SECONDS
            while time.monotonic() < deadline:
                node.sim("fault", "xid", "31", "--node", node.name, "--gpu", str(healthy))
                node.sim("fault", "xid", "79", "--node", node.name, "--gpu", str(broken))
                update = next_devices(lines, 1, required=False)
                if update is not None:
                    return {device["id"] for device in update if device["health"] != "Healthy"}
            raise Failure(f"no list after XID 79 within {UPDATE_SECONDS} s")


@contextlib.contextmanager
def watch(context, socket):
    """listdevices on an open stream; yields the file of its answers."""
    process = subprocess.Popen(
        [context.programs["listdevices"], "-socket", socket, "-lists", "1000", "-timeout", "120s"],
        stdout=subprocess.PIPE,
        bufsize=0,  # a line held back in a buffer would not wake the selector
    )
    try:
        yield process.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def next_devices(lines, seconds, required=True):
    """The next list of devices, or None (a Failure if required) when none comes in time."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(lines, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0, deadline - time.monotonic())):
                if required:
                    raise Failure(f"the plugin sent no list within {seconds} s")
                return None
            line = lines.readline()
            if not line:
                raise Failure("the plugin closed the stream")
            answer = json.loads(line)
            if "devices" in answer:
                return answer["devices"]


# ---- the plugin ----


@contextlib.contextmanager
def plugin(context, node, strategy, resources):
    """A running plugin; yields resource -> socket once all of them are there."""
    with tempfile.TemporaryDirectory(prefix="dp", dir="/tmp") as folder:
        sockets = {name: os.path.join(folder, f"nvidia-{name}.sock") for name in resources}
        with open(context.scratch("device-plugin.log"), "w+", encoding="utf-8") as output:
            process = node.start(command(context, folder, strategy), output)
            try:
                wait_for(sockets.values(), process, output)
                yield sockets
                surplus = set(os.listdir(folder)) - {os.path.basename(s) for s in sockets.values()}
                if surplus:
                    raise Failure(f"resources that nobody expects: {sorted(surplus)}")
            finally:
                stop(process)
                output.seek(0)
                node.log.write(output.read())


def command(context, folder, strategy):
    return [
        "sh", "-c", PREPARE, folder, context.programs["nvidia-device-plugin"],
        "--kubelet-socket", "", "--mig-strategy", strategy, "--pass-device-specs",
        "--driver-root-ctr-path", "/run/partita-sim", "--device-discovery-strategy", "nvml",
    ]


def wait_for(sockets, process, output):
    deadline = time.monotonic() + START_SECONDS
    while not all(os.path.exists(socket) for socket in sockets):
        if process.poll() is not None:
            raise Failure(f"the plugin ended with {process.returncode}: {tail(output)}")
        if time.monotonic() > deadline:
            raise Failure(f"no socket within {START_SECONDS} s: {tail(output)}")
        time.sleep(0.02)


def refuses(context, node, strategy):
    """A layout that the strategy forbids: the plugin says so and ends with 1."""
    with tempfile.TemporaryDirectory(prefix="dp", dir="/tmp") as folder:
        done = node.run(command(context, folder, strategy), timeout=START_SECONDS)
        check_refusal(done, *FORBIDDEN)


def ask(context, log, socket, size):
    done = run(
        [context.programs["listdevices"], "-socket", socket, "-prefer", str(size), "-allocate"], log
    )
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    answers = {}
    for line in done.stdout.splitlines():
        answers.update(json.loads(line))
    return answers


def tail(output):
    output.seek(0)
    return " / ".join(output.read().strip().splitlines()[-3:])
