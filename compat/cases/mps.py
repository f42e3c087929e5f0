"""NVIDIA's mps-control-daemon and device plugin beside partita, with the same v1 configuration: what Allocate gives,
the limits that daemons have, and what a program sees under them."""

import contextlib
import dataclasses
import json
import os
import re

from harness import mps
from harness.node import stop
from support.refusal import check_refusal
from support.shell import Failure, run

NAME = "mps"
NEEDS_NODE = True
ONLY_ON = ["hgx-h200", "mixed"]
GPU = "nvidia.com/gpu"
HOST_ROOT = "/run/nvidia/mps"  # what NVIDIA's plugin is told; its daemon has /mps
SHARING = {
    "two shares": {"resources": [{"name": GPU, "replicas": 2}]},
    "seven shares, renamed": {"renameByDefault": True, "resources": [{"name": GPU, "replicas": 7}]},
    "twelve shares": {"resources": [{"name": GPU, "replicas": 12}]},
}


@dataclasses.dataclass(frozen=True)
class Kept:
    """A difference that stays: where, what each has there, and why. {gpu} is the GPU of the share, {resource} its
    name."""

    where: str
    theirs: str
    ours: str
    why: str


KEPT = (
    Kept(
        "host path of /mps/{resource}/pipe", "{root}/{resource}/pipe", "{root}/{gpu}/pipe",
        "a daemon for each GPU, not for each resource: a fault, or a changed limit, ends the programs of one GPU",
    ),
    Kept(
        "/mps/{resource}/pipe read-only", "False", "True",
        "clients need not write there (seen on an H200), and a daemon of root's writes through links that lie there",
    ),
    Kept(
        "host path of /dev/shm", "{root}/shm", "{root}/{gpu}/shm",
        "each GPU's programs have a tmpfs of their own, in which those of another GPU see and fill nothing",
    ),
    Kept(
        "daemon's environment CUDA_VISIBLE_DEVICES", "absent", "{gpu}",
        "limits are set by ordinal; NVIDIA's daemon has NVML's index where CUDA's ordinal belongs, which are the same "
        "only while CUDA orders by bus",
    ),
    Kept(
        "daemon's environment CUDA_DEVICE_ORDER", "absent", "PCI_BUS_ID", "for the same reason",
    ),
    Kept(
        "compute mode afterwards of a GPU that was exclusive before", "Default", "Exclusive_Process",
        "the mode before is kept on disk and comes back; NVIDIA's daemon sets Default whatever it was",
    ),
)
# And on nodes with GPUs of several models:
ROOM = "room for a program on "
WHY_ROOM = (
    "limits are keyed by NVML's index, and NVIDIA's daemon lets CUDA number the GPUs, fastest first: a GPU gets the "
    "limit of another, here the A100 that of the T4"
)
# What NVIDIA's programs refuse, and partita does.
REFUSED = {
    "MPS on MIG devices": (["--mig-strategy", "mixed"], "using --mig-strategy=mixed is not supported with MPS"),
}


def judge(context, session, node):
    for name, sharing in SHARING.items():
        with session.case(name):
            equal(context, node, sharing, f"{GPU}.shared" if sharing.get("renameByDefault") else GPU)
    for name, (flags, said) in REFUSED.items():
        with session.case(f"refused by NVIDIA's plugin alone: {name}"), mps.Place() as place:
            config = place.file("v1.yaml", document(SHARING["two shares"]))
            done = node.run(place.command(plugin_command(context, config, *flags)), timeout=mps.SECONDS)
            check_refusal(done, said)
    if node.profile == "mixed":
        with session.case("refused by NVIDIA's daemon alone: more than 16 shares of a V100"), mps.Place() as place:
            config = place.file("v1.yaml", document({"resources": [{"name": GPU, "replicas": 17}]}))
            daemon = [context.programs["mps-control-daemon"], "--config-file", config]
            done = node.run(place.command(daemon), timeout=mps.SECONDS)
            check_refusal(done, "maximum allowed replicas exceeded: 17 > 16")


def document(sharing):
    return {"version": "v1", "flags": {"plugin": {"deviceListStrategy": "envvar"}}, "sharing": {"mps": sharing}}


def equal(context, node, sharing, resource):
    uuids = node.gpu_uuids()
    facts = {}
    for whose, serving in (("theirs", nvidia), ("ours", partita)):
        node.check(["nvidia-smi", "-i", "0", "-c", "EXCLUSIVE_PROCESS"])
        with mps.Place() as place:
            with serving(context, node, place, document(sharing), resource) as pipe_of:
                found = look(context, node, place, resource, uuids, pipe_of)
            found["compute mode afterwards of a GPU that was exclusive before"] = modes(node)[0]
            found["compute modes afterwards of the others"] = " ".join(modes(node)[1:])
        node.check(["nvidia-smi", "-i", "0", "-c", "DEFAULT"])
        facts[whose] = found
    if len({gpu.product.name for gpu in node.facts.gpus}) > 1:
        compare_rooms(facts["theirs"], facts["ours"], uuids)
    compare(facts["theirs"], facts["ours"], resource)


def compare_rooms(theirs, ours, uuids):
    """Takes them out. Ours are those of the limit that the GPU's daemon says; a GiB is what it cuts off and what a
    context takes."""
    pairs = {uuid: (int(theirs.pop(ROOM + uuid)), int(ours.pop(ROOM + uuid))) for uuid in uuids}
    for uuid, (_, room) in pairs.items():
        limit = int(ours[f"memory limit of {uuid}"].removesuffix("G")) * 1024
        if not limit - 1024 < room < limit + 1024:
            raise Failure(f"{ROOM}{uuid} is {room} MiB, its limit {limit}")
    if all(one == other for one, other in pairs.values()):
        raise Failure(f"{ROOM}GPUs of several models is the same by now; it was to differ: {WHY_ROOM}")


def compare(theirs, ours, resource):
    names = {"resource": resource, "gpu": ours["the share's GPU"], "root": "ROOT"}
    kept = {each.where.format(**names): each for each in KEPT}
    wrong = [f"{where} is in no answer" for where in kept if where not in ours]
    for where in sorted(theirs.keys() | ours.keys()):
        pair = theirs.get(where, "absent"), ours.get(where, "absent")
        wanted = kept.get(where)
        if wanted and pair != (wanted.theirs.format(**names), wanted.ours.format(**names)):
            wrong.append(f"{where}, which is to differ, is {pair[1]!r}, NVIDIA's {pair[0]!r}")
        if not wanted and pair[0] != pair[1]:
            wrong.append(f"{where} is {pair[1]!r}, NVIDIA's {pair[0]!r}")
    if wrong:
        raise Failure("; ".join(wrong))


# ---- what is looked at ----


def look(context, node, place, resource, uuids, pipe_of):
    """Where -> what is there. Paths below MPS's folder on the host begin with ROOT."""
    devices, answer = allocated(context, node.log, place.socket_of(resource))
    share = min(device["id"] for device in devices)
    found = {"the share's GPU": share.partition("::")[0], "shares": str(sorted(device["id"] for device in devices))}
    for name, value in answer.get("envs", {}).items():
        found[f"environment {name}"] = value
    for each in answer.get("mounts", []):
        host = each["host_path"].replace(place.mps, "ROOT").replace(HOST_ROOT, "ROOT")
        found[f"host path of {each['container_path']}"] = host
        found[f"{each['container_path']} read-only"] = str(each.get("read_only", False))
    for kind in ("devices", "annotations", "cdi_devices"):
        found[f"{kind} of the answer"] = json.dumps(answer.get(kind))
    for index, uuid in enumerate(uuids):
        pipe, ordinal = pipe_of(index, uuid)
        found[f"memory limit of {uuid}"] = asked(node, pipe, f"get_default_device_pinned_mem_limit {ordinal}")
        found[f"percentage of {uuid}"] = asked(node, pipe, "get_default_active_thread_percentage")
        seen = seen_by_program(context, node, pipe, uuid)
        found[f"what a program says on {uuid}"] = re.sub(r"(?<=room: )\d+", "so many", seen)
        found[ROOM + uuid] = re.search(r"room: (\d+) of", seen)[1]
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        daemon = pipe_of(uuids.index(found["the share's GPU"]), found["the share's GPU"])[0]
        found[f"daemon's environment {name}"] = environment_of(daemon).get(name, "absent")
    found["compute modes"] = " ".join(modes(node))
    return found


def allocated(context, log, socket):
    """The devices of a resource, and the answer for the first of them."""
    command = [context.programs["listdevices"], "-socket", socket, "-allocate"]
    done = run(command, log)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    answers = {}
    for line in done.stdout.splitlines():
        answers.update(json.loads(line))
    return answers["devices"], answers["allocated"]


def asked(node, pipe, command):
    environment = ["env", f"CUDA_MPS_PIPE_DIRECTORY={pipe}"]
    return node.check([*environment, "nvidia-cuda-mps-control"], stdin=command + "\n").stdout.strip()


def seen_by_program(context, node, pipe, uuid):
    """Its multiprocessors and room, in the words of the program."""
    program = os.path.join(os.path.dirname(context.tool), "partita-sim-cuda-client")
    environment = ["env", f"CUDA_MPS_PIPE_DIRECTORY={pipe}", f"CUDA_VISIBLE_DEVICES={uuid}"]
    return " ".join(node.check([*environment, program, "devices", "context", "room"]).stdout.split("\n"))


def environment_of(pipe):
    with open(os.path.join(pipe, "nvidia-cuda-mps-control.pid"), encoding="utf-8") as file:
        pid = file.read().strip()
    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
        return dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)


def modes(node):
    return node.check(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"]).stdout.split()


# ---- who serves ----


def plugin_command(context, config, *flags):
    return [
        context.programs["nvidia-device-plugin"], "--config-file", config, "--mps-root", HOST_ROOT,
        "--kubelet-socket", "", "--driver-root-ctr-path", "/run/partita-sim", "--device-discovery-strategy", "nvml", *flags,
    ]


@contextlib.contextmanager
def nvidia(context, node, place, config, resource):
    """One daemon for all GPUs: its pipe, and NVML's index, by which it has its limits."""
    path = place.file("v1.yaml", config)
    daemon = place.command([context.programs["mps-control-daemon"], "--config-file", path])
    ready = os.path.join(place.mps, ".ready")
    with started(context, node, daemon, "mps-control-daemon", lambda: os.path.exists(ready)):
        plugin = place.command(plugin_command(context, path))
        socket = place.socket_of(resource)
        with started(context, node, plugin, "nvidia-device-plugin", lambda: os.path.exists(socket)):
            yield lambda index, uuid: (os.path.join(place.mps, resource, "pipe"), index)


@contextlib.contextmanager
def partita(context, node, place, config, resource):
    """A daemon for each GPU."""
    path = place.file("v1.yaml", config)
    settings = {
        "version": "partita/v1", "mps": {"runner": "child", "root": place.mps}, "devicePlugin": {"configFile": path},
    }
    agent = [context.partita, "agent", "--listen", "", "--config-file", place.file("agent.yaml", settings)]
    command = [*place.variables(), *agent]
    socket = place.socket_of(resource)

    def all_healthy():
        if not os.path.exists(socket):
            return False
        said = run([context.programs["listdevices"], "-socket", socket], node.log).stdout
        return '"Healthy"' in said and '"Unhealthy"' not in said

    with started(context, node, command, "partita", all_healthy):
        yield lambda index, uuid: (os.path.join(place.mps, uuid, "pipe"), 0)
    # Whoever was given a share keeps its daemon until kubelet says that they have gone, and here is none: the next agent
    # knows nobody.
    for name in os.listdir(os.path.join(place.folder, "state")):
        if name.startswith("ledger"):
            os.remove(os.path.join(place.folder, "state", name))
    place.file("agent.yaml", {**settings, "devicePlugin": {"enabled": False}})

    def ended():
        return "domain.json" not in files_below(place.mps) and set(modes(node)[1:]) == {"Default"}

    with started(context, node, command, "partita", ended):
        pass


def files_below(folder):
    return [name for _, _, names in os.walk(folder) for name in names]


@contextlib.contextmanager
def started(context, node, command, name, ready):
    with open(context.scratch(f"{name}.log"), "w+", encoding="utf-8") as output:
        process = node.start(command, output)
        try:
            mps.wait_until(f"{name} is ready", ready, process, output)
            yield process
        finally:
            stop(process)
            output.seek(0)
            node.log.write(output.read())
