"""nvidia-ctk judges the driver's files: its CDI must name every device, node and library; and
nvidia-cdi-hook carries that CDI's hooks out on a container root."""

import dataclasses
import json
import os
import re
import shutil

from harness.layouts import layouts
from support.refusal import check_refusal
from support.shell import Failure

NAME = "nvidia-ctk"
NEEDS_NODE = True
DRIVER_ROOT = "/run/partita-sim"
UNDER_ROOT = [f"--driver-root={DRIVER_ROOT}"]
CONTROL_NODES = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}
NO_DEVICE = 'failed add device \\"all\\": invalid device, empty device edits'
LIBRARIES = ["libnvidia-ml.so", "libcuda.so"]
HOOKS = {
    "create-symlinks", "enable-cuda-compat", "update-ldcache", "disable-device-node-modification",
}



@dataclasses.dataclass(frozen=True)
class Places:
    """Where nvidia-ctk finds the driver, and so where its files are in a container."""

    root: str  # before a path of the host
    dev_root: str  # the same for device nodes
    libraries: str


def library_folder():
    """Of this distribution: where a real driver's libraries would be, and the libc is."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return os.path.dirname(re.search(r"(/\S+)/libc[.-]\S*$", maps.read(), re.M)[0])


USUAL = Places("", "", library_folder())
ROOTED = Places(DRIVER_ROOT, DRIVER_ROOT, "/usr/lib64")

# A hook runs inside the container's mounts: the root is a mount, with a proc of its own in which the
# driver shows.
CONTAINER = (
    'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && '
    'mount --bind /proc/driver "$0/proc/driver" && exec "$@"'
)


def judge(context, session, node):
    for layout in layouts(node.facts):
        with session.case(f"{layout.name}: made"):
            node.apply(layout.specs())
        if layout.name == "enabled and empty" and not layout.disabled:
            with session.case(f"{layout.name}: nothing to describe"):
                check_refusal(generate_run(context, node), NO_DEVICE)
            continue
        with session.case(f"{layout.name}: CDI"):
            check_spec(generate(context, node), node, layout, USUAL)
        with session.case(f"{layout.name}: CDI under a driver root"):
            check_spec(generate(context, node, *UNDER_ROOT), node, layout, ROOTED)
        with session.case(f"{layout.name}: CDI under a driver root, /dev at the root"):
            spec = generate(context, node, *UNDER_ROOT, "--dev-root=/")
            check_spec(spec, node, layout, dataclasses.replace(ROOTED, dev_root=""))
        with session.case(f"{layout.name}: hooks"):
            check_hooks(context, node, generate(context, node), USUAL)
        with session.case(f"{layout.name}: hooks under a driver root"):
            check_hooks(context, node, generate(context, node, *UNDER_ROOT), ROOTED)


def generate_run(context, node, *options):
    return node.run([
        context.programs["nvidia-ctk"], "cdi", "generate", "--mode=nvml", "--format=json",
        f"--nvidia-cdi-hook-path={context.programs['nvidia-cdi-hook']}",
        f"--output={context.scratch('cdi.json')}", *options,
    ])


def generate(context, node, *options):
    done = generate_run(context, node, *options)
    if done.returncode != 0:
        raise Failure(f"nvidia-ctk cdi generate: {done.stderr.strip().splitlines()[-1]}")
    with open(context.scratch("cdi.json"), encoding="utf-8") as file:
        return json.load(file)


# ---- the spec ----


def check_spec(spec, node, layout, places):
    if spec["kind"] != "nvidia.com/gpu":
        raise Failure(f"kind {spec['kind']}")
    devices = {device["name"]: device["containerEdits"] for device in spec["devices"]}
    check_names(devices, node, layout)
    check_gpu_nodes(devices, layout, places.dev_root)
    check_slice_nodes(devices, node, layout)
    check_all(devices)
    check_common(spec["containerEdits"], node, places)


def check_names(devices, node, layout):
    """By index and UUID: whole GPUs, and slices as "<GPU>:<slot>"; and "all"."""
    uuids = node.gpu_uuids()
    wanted = {"all"}
    for index in layout.disabled:
        wanted |= {str(index), uuids[index]}
    for index in layout.enabled:
        wanted |= {f"{index}:{slot}" for slot in range(sum(layout.gpus[index].values()))}
    slices = {name for name in devices if name.startswith("MIG-")}
    if len(slices) != sum(layout.slices().values()) or devices.keys() - slices != wanted:
        raise Failure(f"devices {sorted(devices)}")


def check_gpu_nodes(devices, layout, dev_root):
    for index in layout.disabled:
        node = {"path": f"/dev/nvidia{index}"}
        if dev_root:
            node["hostPath"] = f"{dev_root}/dev/nvidia{index}"
        found = devices[str(index)]["deviceNodes"]
        if [{k: v for k, v in n.items() if k in ("path", "hostPath")} for n in found] != [node]:
            raise Failure(f"GPU {index} has the nodes {found}")
        if (found[0].get("major"), found[0].get("minor", 0)) != (195, index):
            raise Failure(f"GPU {index} has the device number {found[0]}")


def check_slice_nodes(devices, node, layout):
    """Each slice: its GPU's node and the two capability nodes of its instances, as /proc has them."""
    for index in layout.enabled:
        found = set()
        for name, edits in devices.items():
            if name.startswith(f"{index}:"):
                found.add(frozenset(n["path"] for n in edits["deviceNodes"]))
        if found != live_instances(node, index):
            raise Failure(f"slices of GPU {index}: {sorted(map(sorted, found))}")
        for name in [n for n in devices if n.startswith(f"{index}:")]:
            for entry in devices[name]["deviceNodes"]:
                if "nvidia-caps" in entry["path"] and entry.get("major") != node.facts.caps_major:
                    raise Failure(f"{name}: {entry}")


def live_instances(node, minor):
    """What /proc/driver/nvidia/capabilities says of a GPU: the sets of nodes that a slice needs."""
    base = os.path.join(node.root, f"proc/driver/nvidia/capabilities/gpu{minor}/mig")
    found = set()
    for gi in sorted(os.listdir(base)):
        for ci in sorted(os.listdir(os.path.join(base, gi))):
            if ci.startswith("ci"):
                caps = [cap_minor(os.path.join(base, gi)), cap_minor(os.path.join(base, gi, ci))]
                nodes = [f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in caps]
                found.add(frozenset([f"/dev/nvidia{minor}", *nodes]))
    return found


def cap_minor(directory):
    with open(os.path.join(directory, "access"), encoding="utf-8") as file:
        return re.search(r"DeviceFileMinor: (\d+)", file.read())[1]


def check_all(devices):
    everything = {n["path"] for n in devices["all"]["deviceNodes"]}
    single = {n["path"] for name, e in devices.items() if name != "all" for n in e["deviceNodes"]}
    if everything != single:
        raise Failure(f"\"all\" has {sorted(everything ^ single)} more or less than its devices")


def check_common(edits, node, places):
    nodes = {entry["path"] for entry in edits["deviceNodes"]}
    if not CONTROL_NODES <= nodes:
        raise Failure(f"control nodes {sorted(nodes)}")
    mounts = {m["containerPath"]: m["hostPath"] for m in edits["mounts"]}
    for library in LIBRARIES:
        path = f"{places.libraries}/{library}.{node.facts.driver}"
        if mounts.get(path) != places.root + path:
            raise Failure(f"{path} is not mounted: {sorted(mounts)}")
    stray = [path for path in mounts if ".so." in path and not path.endswith(node.facts.driver)]
    if stray:
        raise Failure(f"libraries of another version: {stray}")
    if "/usr/bin/nvidia-smi" not in mounts:
        raise Failure("nvidia-smi is not mounted")
    firmware = f"/lib/firmware/nvidia/{node.facts.driver}/gsp"
    if not any(path.startswith(firmware) for path in mounts):
        raise Failure(f"no firmware {firmware}*: {sorted(mounts)}")
    hooks = {hook_name(hook) for hook in edits["hooks"]}
    if not HOOKS <= hooks:
        raise Failure(f"hooks {sorted(hooks)}")


def hook_name(hook):
    return hook["args"][1]


# ---- the hooks ----


def check_hooks(context, node, spec, places):
    """Builds a container root from the spec and runs its hooks there, as a runtime does."""
    bundle = context.scratch("bundle")
    shutil.rmtree(bundle, ignore_errors=True)
    rootfs = os.path.join(bundle, "rootfs")
    for folder in ("etc", "proc", "sys", "dev", "tmp"):
        os.makedirs(os.path.join(rootfs, folder))
    for mount in spec["containerEdits"]["mounts"]:
        inside = mount["hostPath"][len(places.root):]
        copy_into(rootfs, node.root + in_driver_root(inside, places), mount["containerPath"])
    with open(os.path.join(bundle, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"ociVersion": "1.0.2", "root": {"path": "rootfs"}}, file)
    state = json.dumps({"ociVersion": "1.0.2", "id": "judged", "pid": 1, "bundle": bundle})
    for hook in spec["containerEdits"]["hooks"]:
        if hook["hookName"] == "createContainer":
            command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", CONTAINER, rootfs]
            node.check([*command, hook["path"], *hook["args"][1:]], stdin=state)
    check_root(rootfs, node.facts.driver, places)


def in_driver_root(path, places):
    """Of a file of the node: where the node's folder, which is a driver root, has it."""
    return re.sub(f"^{re.escape(places.libraries)}/", "/usr/lib64/", path)


def copy_into(rootfs, source, path):
    target = rootfs + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def check_root(rootfs, driver, places):
    """The names that programs ask for exist, and the loader's cache knows the library."""
    for link, target in {
        "libnvidia-ml.so.1": f"libnvidia-ml.so.{driver}",
        "libcuda.so.1": f"libcuda.so.{driver}",
        "libcuda.so": "libcuda.so.1",
    }.items():
        path = os.path.join(rootfs + places.libraries, link)
        if not os.path.islink(path) or os.readlink(path) != target:
            raise Failure(f"{places.libraries}/{link} does not point at {target} in the container")
    with open(os.path.join(rootfs, "etc/ld.so.cache"), "rb") as file:
        if b"libnvidia-ml.so.1" not in file.read():
            raise Failure("the container's loader cache does not know libnvidia-ml.so.1")
