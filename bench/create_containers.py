"""Runs on the simulated node: creates containers by each runtime in turn and prints nanoseconds, as JSON. What to do
comes on standard input (creation_figures.py)."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
# As both hooks call it.
LDCONFIG = ("ldconfig", "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache")
LIBRARY = "usr/lib/x86_64-linux-gnu/libcuda.so"  # a link that a hook makes


def timed(command, environment, errors):
    """Nanoseconds, and those of processor time, of it and of all that it waited for: a busy machine hardly changes that.
    Output goes to a file: the container holds it open."""
    with open(errors, "w+b") as file:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic_ns()
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
        taken = time.monotonic_ns() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        file.seek(0)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} exited {done.returncode}: {file.read().decode(errors='replace')}")
    return taken, int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def without_hooks(config, asked):
    """What the runtime made of it, with no more hooks than there were."""
    return config | {"hooks": asked["hooks"]}


def added_hooks(config, asked):
    """List and hook, for each hook that the runtime added."""
    for stage, hooks in config["hooks"].items():
        for hook in hooks:
            if hook not in asked["hooks"].get(stage, []):
                yield stage, hook


def verb(words):
    """Of a hook's arguments: what it does. nvidia-ctk's hooks are behind a word of their own."""
    return words[2] if words[1] == "hook" else words[1]


def single(hook):
    """One that does several in turn as hooks of their own."""
    if hook["args"][1] != "in-turn":
        return [hook]
    parts = [[]]
    for word in hook["args"][2:]:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return [hook | {"args": [hook["args"][0], *words]} for words in parts]


def with_clocks(config, asked, split, times):
    """Each hook that the runtime added behind a program that measures it."""
    clocked = json.loads(json.dumps(asked["hooks"]))
    for stage, hook in added_hooks(config, asked):
        for each in single(hook) if split else [hook]:
            words = [times, verb(each["args"]), each["path"], *each["args"]]
            clock = {"path": sys.executable, "args": [sys.executable, "-BIS", f"{HERE}/clocked_hook.py", *words]}
            clocked.setdefault(stage, []).append(each | clock)
    return config | {"hooks": clocked}


class Creator:
    def __init__(self, order):
        self.order = order
        self.state = os.path.join(order["folder"], "state")
        self.number = 0

    def bundle(self, config):
        """A new one; its errors file too."""
        self.number += 1
        bundle = os.path.join(self.order["folder"], f"bundle-{self.number}")
        os.mkdir(bundle)
        shutil.copytree(self.order["image"], os.path.join(bundle, "rootfs"), symlinks=True)
        write_json(os.path.join(bundle, "config.json"), config)
        return bundle, os.path.join(bundle, "errors")

    def create(self, side, runtime, config, hooked=True, look=lambda *_: None):
        """Nanoseconds, and what `look` says of the container."""
        bundle, errors = self.bundle(config)
        environment = {"PATH": side["path"], "HOME": "/root"}
        name = f"c{self.number}"
        taken, _ = timed([runtime, "--root", self.state, "create", "--bundle", bundle, name], environment, errors)
        if os.path.lexists(os.path.join(bundle, "rootfs", LIBRARY)) != hooked:
            sys.exit(f"{side['name']}: libcuda.so is {'not ' if hooked else ''}in the container")
        seen = look(bundle, name)
        subprocess.run(["runc", "--root", self.state, "delete", "--force", name], check=True, capture_output=True)
        shutil.rmtree(bundle)
        return taken, seen

    def ldconfig(self, bundle, name):
        """Alone, on the root of a container that was made, with all of its mounts."""
        said = subprocess.run(["runc", "--root", self.state, "state", name], check=True, capture_output=True)
        root = f"/proc/{json.loads(said.stdout)['pid']}/root"
        auxiliary = os.path.join(bundle, "rootfs/var/cache/ldconfig/aux-cache")
        if os.path.exists(auxiliary):
            os.unlink(auxiliary)  # with which a second run is quicker
        return timed([*LDCONFIG, "-r", root], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, os.path.join(bundle, "said"))

    def runtime_alone(self, side):
        """Processor time before a stand-in for runc that does nothing, less that stand-in."""
        bundle, errors = self.bundle(side["config"])
        environment = {"PATH": f"{self.order['stand_in']}:{side['path']}", "HOME": "/root"}
        words = ["--root", self.state, "create", "--bundle", bundle, "none"]
        _, nothing = timed([os.path.join(self.order["stand_in"], "runc"), *words], environment, errors)
        _, taken = timed([side["runtime"], *words], environment, errors)
        shutil.rmtree(bundle)
        return taken - nothing

    def hooks_alone(self, side, split):
        """What it does -> nanoseconds of processor time, each in its place in a container's creation."""
        times = os.path.join(self.order["folder"], "times")
        self.create(side, "/usr/sbin/runc", with_clocks(side["edited"], side["config"], split, times))
        taken = {}
        with open(times, encoding="utf-8") as file:
            for line in file:
                name, nanoseconds = line.split()
                taken[name] = taken.get(name, 0) + int(nanoseconds)
        os.unlink(times)
        return taken

    def learn(self, side):
        """What the runtime makes of the configuration; everything is warm afterwards."""
        _, side["edited"] = self.create(
            side, side["runtime"], side["config"], look=lambda bundle, _: read_json(os.path.join(bundle, "config.json"))
        )

    def round(self, side, times):
        plain = without_hooks(side["edited"], side["config"])
        times["runc"].append(self.create(side, "/usr/sbin/runc", plain, hooked=False)[0])
        whole, ldconfig = self.create(side, side["runtime"], side["config"], look=self.ldconfig)
        times["whole"].append(whole)
        times["ldconfig"].append(ldconfig[0])
        times["ldconfig, processor"].append(ldconfig[1])
        times["runtime"].append(self.runtime_alone(side))
        times["all hooks"].append(sum(self.hooks_alone(side, False).values()))
        for name, taken in self.hooks_alone(side, True).items():
            times["hooks"].setdefault(name, []).append(taken)


def main():
    order = json.load(sys.stdin)
    creator = Creator(order)
    times = {}
    for side in order["sides"]:
        creator.learn(side)
        times[side["name"]] = {
            "runc": [], "whole": [], "ldconfig": [], "ldconfig, processor": [], "runtime": [], "all hooks": [], "hooks": {},
        }
    for number in range(order["rounds"]):
        # Who is first profits from nothing.
        for side in order["sides"] if number % 2 == 0 else reversed(order["sides"]):
            creator.round(side, times[side["name"]])
    json.dump(times, sys.stdout)


main()
