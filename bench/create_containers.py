"""Runs on the simulated node: creates containers by each runtime in turn and prints nanoseconds, as JSON. What to do
comes on standard input (creation_figures.py)."""

import json
import os
import shutil
import subprocess
import sys
import time


def timed(command, environment, errors):
    """Output goes to a file: the container holds it open."""
    with open(errors, "w+b") as file:
        start = time.monotonic_ns()
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
        taken = time.monotonic_ns() - start
        file.seek(0)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} exited {done.returncode}: {file.read().decode(errors='replace')}")
    return taken


def create(order, subject, number):
    bundle = os.path.join(order["folder"], f"bundle-{number}")
    root = os.path.join(bundle, "rootfs")
    os.mkdir(bundle)
    shutil.copytree(order["image"], root, symlinks=True)
    with open(os.path.join(bundle, "config.json"), "w", encoding="utf-8") as file:
        json.dump(subject["config"], file)
    environment = {"PATH": subject["path"], "HOME": "/root"}
    runtime = [subject["runtime"], "--root", os.path.join(order["folder"], "state")]
    name, errors = f"c{number}", os.path.join(bundle, "errors")
    taken = timed([*runtime, "create", "--bundle", bundle, name], environment, errors)
    has_gpu = os.path.exists(os.path.join(root, "usr/lib/x86_64-linux-gnu/libcuda.so"))
    subprocess.run([*runtime, "delete", "--force", name], env=environment, check=True, capture_output=True)
    if has_gpu != subject["asks"]:
        sys.exit(f"{subject['name']}: libcuda.so is {'' if has_gpu else 'not '}in the container")
    caching = None
    if subject["asks"]:
        caching = timed(["ldconfig", "-r", root], environment, errors)
    shutil.rmtree(bundle)
    return taken, caching


def main():
    order = json.load(sys.stdin)
    times = {subject["name"]: [] for subject in order["subjects"]} | {"ldconfig": []}
    number = 0
    for _ in range(order["rounds"]):
        for subject in order["subjects"]:
            number += 1
            taken, caching = create(order, subject, number)
            times[subject["name"]].append(taken)
            if caching is not None:
                times["ldconfig"].append(caching)
    json.dump(times, sys.stdout)


main()
