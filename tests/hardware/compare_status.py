#!/usr/bin/env python3
"""Compares `partita status --output json` of an H200 with a recorded conversation with a real one.

  compare_status.py STATUS.json CONVERSATION.jsonl MIG_PROFILES.txt

Every fact that does not differ from card to card, or from moment to moment, must be equal. What differs
per card (UUID, serial, part number, module id, IRQ, bus address) must be there and have the right form.
"""
import json
import re
import sys

ARCHITECTURES = {9: "hopper"}
BRANDS = {14: "nvidia"}
ADDRESSING = {0: "none"}
VIRTUALIZATION = {1: "pass-through"}


def conversation(path):
    """The first answer to each call, by name and its plain arguments."""
    answers = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            key = (row["call"],) + tuple(a for a in row["args"] if a != "·")
            answers.setdefault(key, row)
    return answers


def expected_facts(said):
    """Pairs of where a fact stands in the status document and what the real driver said."""
    out = lambda *key: said[key]["out"]
    memory = out("nvmlDeviceGetMemoryInfo", 33554472)
    capability = out("nvmlDeviceGetCudaComputeCapability")
    ecc = out("nvmlDeviceGetEccMode")
    mig = out("nvmlDeviceGetMigMode")
    cuda = out("nvmlSystemGetCudaDriverVersion")
    pci = out("nvmlDeviceGetPciInfo")
    return [
        ("driver.version", out("nvmlSystemGetDriverVersion")),
        ("driver.nvmlVersion", out("nvmlSystemGetNVMLVersion")),
        ("driver.cudaVersion", "%d.%d" % (cuda // 1000, cuda % 1000 // 10)),
        ("gpu.index", out("nvmlDeviceGetIndex")),
        ("gpu.minor", out("nvmlDeviceGetMinorNumber")),
        ("gpu.name", out("nvmlDeviceGetName")),
        ("gpu.pciVendorId", "%04x" % (pci["pciDeviceId"] & 0xFFFF)),
        ("gpu.pciDeviceId", "%04x" % (pci["pciDeviceId"] >> 16)),
        ("gpu.pciSubsystemId", "%04x" % (pci["pciSubSystemId"] >> 16)),
        ("gpu.vbiosVersion", out("nvmlDeviceGetVbiosVersion")),
        ("gpu.architecture", ARCHITECTURES[out("nvmlDeviceGetArchitecture")]),
        ("gpu.brand", BRANDS[out("nvmlDeviceGetBrand")]),
        ("gpu.computeCapability", "%d.%d" % tuple(capability)),
        ("gpu.cores", out("nvmlDeviceGetNumGpuCores")),
        ("gpu.memory.totalBytes", memory["total"]),
        ("gpu.memory.reservedBytes", memory["reserved"]),
        ("gpu.bar1TotalBytes", out("nvmlDeviceGetBAR1MemoryInfo")["bar1Total"]),
        ("gpu.pcie.maxGeneration", out("nvmlDeviceGetMaxPcieLinkGeneration")),
        ("gpu.pcie.maxLanes", out("nvmlDeviceGetMaxPcieLinkWidth")),
        ("gpu.persistenceMode", bool(out("nvmlDeviceGetPersistenceMode"))),
        ("gpu.computeMode", {0: "default"}[out("nvmlDeviceGetComputeMode")]),
        ("gpu.ecc.enabled", bool(ecc[0])),
        ("gpu.ecc.pendingEnabled", bool(ecc[1])),
        ("gpu.addressingMode", ADDRESSING[out("nvmlDeviceGetAddressingMode")]),
        ("gpu.virtualizationMode", VIRTUALIZATION[out("nvmlDeviceGetVirtualizationMode")]),
        ("gpu.mig.enabled", bool(mig[0])),
        ("gpu.mig.pendingEnabled", bool(mig[1])),
        ("gpu.readings.powerLimitMilliwatts", out("nvmlDeviceGetEnforcedPowerLimit")),
    ]


def expected_profiles(said, listing):
    """The MIG profiles: numbers from the conversation, placements from nvidia-smi's own listing."""
    placements = {}
    for line in open(listing, encoding="utf-8"):
        found = re.match(r"GPU\s+0 Profile ID\s+(\d+) Placements? ?: \{([\d,]+)\}:(\d+)", line)
        if found:
            size = int(found[3])
            starts = [int(start) for start in found[2].split(",")]
            placements[int(found[1])] = [{"start": start, "size": size} for start in starts]
    profiles = {}
    for key, row in said.items():
        if key[0] == "nvmlDeviceGetGpuInstanceProfileInfo" and key[2] == 2 and row["rc"] == 0:
            info = row["out"]
            profiles[info["id"]] = {
                "nvmlName": info["name"].removeprefix("MIG "),
                "name": info["name"].removeprefix("MIG "),
                "constant": key[1],
                "id": info["id"],
                "computeSlices": info["sliceCount"],
                "maxInstances": info["instanceCount"],
                "memoryMebibytes": info["memorySizeMB"],
                "multiprocessors": info["multiprocessorCount"],
                "copyEngines": info["copyEngineCount"],
                "decoders": info["decoderCount"],
                "encoders": info["encoderCount"],
                "jpegEngines": info["jpegCount"],
                "opticalFlowEngines": info["ofaCount"],
                "peerToPeer": bool(info["isP2pSupported"]),
                "placements": placements[info["id"]],
            }
    return profiles


PER_CARD = {
    "gpu.uuid": r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "gpu.serial": r"\d{13}",
    "gpu.partNumber": r"692-2G520-0282-\d{3}",
    "gpu.moduleId": r"[1-8]",
    "gpu.irq": r"\d+",
    "gpu.pciAddress": r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0",
}


def at(document, path):
    for key in path.split("."):
        if not isinstance(document, dict) or key not in document:
            return None
        document = document[key]
    return document


def main(status_path, conversation_path, listing_path):
    status = json.load(open(status_path, encoding="utf-8"))
    said = conversation(conversation_path)
    document = {"driver": status["driver"], "gpu": status["gpus"][0]}
    checked, wrong = 0, []

    def check(what, ok, got, want):
        nonlocal checked
        checked += 1
        if not ok:
            wrong.append("%s: status says %r, the real driver %r" % (what, got, want))

    for path, want in expected_facts(said):
        check(path, at(document, path) == want, at(document, path), want)
    for path, form in PER_CARD.items():
        got = at(document, path)
        check(path, re.fullmatch(form, str(got)) is not None, got, form)
    got_profiles = {profile["id"]: profile for profile in document["gpu"]["mig"]["profiles"]}
    for number, want in expected_profiles(said, listing_path).items():
        got = got_profiles.pop(number, {})
        for key, value in want.items():
            check("profile %d %s" % (number, key), got.get(key) == value, got.get(key), value)
    check("profiles beyond those of the real driver", not got_profiles, sorted(got_profiles), [])

    print("\n".join(wrong))
    print("%s: %d facts compared, %d differ" % (status_path, checked, len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
