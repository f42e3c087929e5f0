#!/usr/bin/env python3
"""Compares the labels of an H200 with what nvidia-smi and the driver's library said of a real one.

  compare_labels.py LABELS.txt SMI.xml CONVERSATION.jsonl

LABELS.txt has commands with what they printed ("$ COMMAND", lines, "[exit status N]"): `partita labels show`, with
--explain and with --reference, and the name gpu-feature-discovery. Every one that prints labels must have all of
these facts.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

from compare_status import conversation

COMMANDS = ("labels show --explain", "labels show --reference", "gpu-feature-discovery")
LABEL = re.compile(r"((?:nvidia\.com|partita\.dev)/[\w.-]+)(?:=|\s+)(\S+)")


def expected(smi_path, conversation_path):
    """The labels of that card, whole and shared with nobody."""
    smi = ElementTree.parse(smi_path).getroot()
    gpu = smi.find("gpu")
    driver, cuda = smi.findtext("driver_version"), smi.findtext("cuda_version")
    capability = conversation(conversation_path)[("nvmlDeviceGetCudaComputeCapability",)]["out"]
    want = {
        "gpu.product": gpu.findtext("product_name").replace(" ", "-"),
        "gpu.memory": gpu.findtext("fb_memory_usage/total").removesuffix(" MiB"),
        "gpu.family": gpu.findtext("product_architecture").lower(),
        "gpu.compute.major": str(capability[0]),
        "gpu.compute.minor": str(capability[1]),
        "gpu.count": smi.findtext("attached_gpus"),
        "mig.capable": "false" if gpu.findtext("mig_mode/current_mig") == "N/A" else "true",
        "cuda.driver-version.full": driver,
        "cuda.runtime-version.full": cuda,
    }
    for names, version in (
        (("driver-version.major", "driver-version.minor", "driver-version.revision"), driver),
        (("driver.major", "driver.minor", "driver.rev"), driver),
        (("runtime-version.major", "runtime-version.minor"), cuda),
        (("runtime.major", "runtime.minor"), cuda),
    ):
        for name, part in zip(names, version.split("."), strict=True):
            want["cuda." + name] = part
    return {"nvidia.com/" + name: value for name, value in want.items()}


def printed(path):
    """Each command with the labels that it printed; those that printed none are left out."""
    with open(path, encoding="utf-8") as file:
        commands = re.split(r"^\$ ", file.read(), flags=re.M)[1:]
    for text in commands:
        command, _, output = text.partition("\n")
        labels = dict(LABEL.match(line).groups() for line in output.splitlines() if LABEL.match(line))
        if labels:
            yield command, labels


def differences(command, labels, want):
    want = dict(want)
    if labels.get("nvidia.com/gpu.replicas") != "1":
        want["nvidia.com/gpu.product"] += "-SHARED"
    if "partita.dev/gpu.models" in labels:
        want["partita.dev/gpu.models"] = "1"
        for fact in ("product", "memory", "count"):
            want["partita.dev/gpu.0." + fact] = want["nvidia.com/gpu." + fact]
    for key, value in want.items():
        if labels.get(key) != value:
            yield f"{command}: {key} is {labels.get(key)!r}, of the real card {value!r}"


def main(labels_path, smi_path, conversation_path):
    want = expected(smi_path, conversation_path)
    sections = list(printed(labels_path))
    wrong = [line for command, labels in sections for line in differences(command, labels, want)]
    for command in COMMANDS:
        if not any(command in said for said, _ in sections):
            wrong.append(f"{labels_path} has no labels by {command}")
    print("\n".join(wrong))
    print(f"{labels_path}: {len(want)} facts of {len(sections)} commands compared, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
