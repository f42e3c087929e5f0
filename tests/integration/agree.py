"""Compares what `partita status --output json` says with what `partita-sim show --output json` says.

Usage: agree.py SHOW STATUS EXIT_STATUS [FACT…]

Facts, each of which must hold as well: exit=N, mig-devices=N, processes=N, vfio=N,
fault=INDEX:KIND, problem=INDEX:FUNCTION. Faults and problems that are not named must not be there.
"""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        show = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        status = json.load(file)
    facts = {}
    for fact in sys.argv[4:]:
        key, value = fact.split("=", 1)
        facts.setdefault(key, []).append(value)

    differences = list(compare(show, status, facts, int(sys.argv[3])))
    for difference in differences:
        print(f"  {difference}", file=sys.stderr)
    sys.exit(1 if differences else 0)


def compare(show, status, facts, exit_status):
    for wanted in facts.get("exit", []):
        yield from equal("exit status", int(wanted), exit_status)
    bound = [gpu for gpu in show["gpus"] if gpu["pci_driver"] == "nvidia"]
    if not show["driver"]["loaded"]:
        yield from equal("driver", None, status.get("driver"))
        return
    yield from equal("driver", show["driver"]["version"], status["driver"]["version"])
    yield from equal("CUDA", show["driver"]["cuda"], status["driver"]["cudaVersion"])
    yield from equal("GPUs", len(bound), len(status["gpus"]))
    yield from faults(status, facts)
    nodes = {node["path"] for node in status["deviceNodes"]}
    for index, (expected, seen) in enumerate(zip(bound, status["gpus"])):
        yield from compare_gpu(index, expected, seen, nodes)
    yield from compare_totals(show, status, facts)


def compare_gpu(index, expected, seen, nodes):
    name = f"GPU {index}"
    yield from equal(f"{name} index", index, seen.get("index"))
    for ours, theirs in (("uuid", "uuid"), ("name", "name"), ("pci", "pciAddress"), ("minor", "minor")):
        yield from equal(f"{name} {ours}", expected[ours], seen.get(theirs))
    numa = expected["numa_node"] if expected["numa_node"] >= 0 else None
    yield from equal(f"{name} NUMA node", numa, seen.get("numaNode"))
    yield from contains(f"{name} node", nodes, f"/dev/nvidia{expected['minor']}")
    hung = any(fault["kind"] == "hung" for fault in seen["faults"])
    if expected["lost"] or hung:
        return
    yield from equal(f"{name} serial", expected["serial"], seen.get("serial"))
    yield from equal(f"{name} persistence", expected["persistence"], seen["persistenceMode"])
    yield from equal(f"{name} MIG", expected["mig"] is None, seen.get("mig") is None)
    if expected["mig"] is not None:
        yield from compare_mig(name, expected["mig"], seen["mig"], nodes)


def compare_mig(name, expected, seen, nodes):
    yield from equal(f"{name} MIG mode", expected["current"], seen["enabled"])
    yield from equal(f"{name} pending MIG mode", expected["pending"], seen["pendingEnabled"])
    theirs = [
        {
            "id": instance["id"],
            "profile": instance["profileName"],
            "profile_id": instance["profileId"],
            "start": instance["placement"]["start"],
            "size": instance["placement"]["size"],
            "compute_instances": [
                {
                    "id": compute["id"],
                    "profile": compute["name"],
                    "start": compute["placement"]["start"],
                    "size": compute["placement"]["size"],
                    "uuid": compute["uuid"],
                }
                for compute in instance["computeInstances"]
            ],
        }
        for instance in seen["gpuInstances"]
    ]
    yield from equal(f"{name} instances", expected["instances"], theirs)
    for instance in seen["gpuInstances"]:
        for part in [instance, *instance["computeInstances"]]:
            minor = part.get("capabilityMinor")
            yield from contains(f"{name} capability", nodes, f"/dev/nvidia-caps/nvidia-cap{minor}")


def compare_totals(show, status, facts):
    processes = [process for gpu in status["gpus"] for process in gpu["processes"]]
    yield from equal("processes", len(show["workloads"]), len(processes))
    for workload, process in zip(show["workloads"], processes):
        yield from equal("process instance", workload["gpu_instance"], process.get("gpuInstanceId"))
        yield from equal("process kind", workload["kind"], process["kind"])
    migs = [
        compute
        for gpu in status["gpus"]
        for instance in (gpu.get("mig") or {}).get("gpuInstances", [])
        for compute in instance["computeInstances"]
    ]
    vfio = [gpu["pci"] for gpu in show["gpus"] if gpu["pci_driver"] == "vfio"]
    yield from equal("vfio GPUs", vfio, [gpu["pciAddress"] for gpu in status["vfioGpus"]])
    totals = {"processes": len(processes), "mig-devices": len(migs), "vfio": len(vfio)}
    for key, total in totals.items():
        for wanted in facts.get(key, []):
            yield from equal(f"{key} in all", int(wanted), total)


def faults(status, facts):
    seen = [
        f"{gpu.get('index')}:{fault['kind']}" for gpu in status["gpus"] for fault in gpu["faults"]
    ]
    yield from equal("faults", facts.get("fault", []), seen)
    problems = [
        f"{problem.get('gpu')}:{problem['error']['message'].split(':')[0]}"
        for problem in status["problems"]
    ]
    yield from equal("problems", facts.get("problem", []), problems)


def equal(what, expected, seen):
    if expected != seen:
        yield f"{what}: {expected!r} expected, but status says {seen!r}"


def contains(what, group, member):
    if member not in group:
        yield f"{what}: status has no {member}"


if __name__ == "__main__":
    main()
