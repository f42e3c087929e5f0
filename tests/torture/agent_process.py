"""A simulated node, the agent on it as a process, and what the kernel says of that process: for the scripts here."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.control_socket import Control, Failure  # noqa: E402  (also for those who import this)

__all__ = ["Control", "Failure", "Node", "descriptors_of", "memory_of", "pss_of", "sleeps_of", "threads_of"]


class Node:
    """A simulated node and the programs on it."""

    def __init__(self, build, directory, name):
        self.name = name
        self.bin = os.path.join(build, "bin")
        self.environment = dict(
            os.environ,
            PARTITA_SIM_DIR=os.path.join(directory, "nodes"),
            PARTITA_SIM_NODE=name,
            PARTITA_RUN_DIR=os.path.join(directory, "run"),
            PARTITA_STATE_DIR=os.path.join(directory, "state"),
            # The agent listens to changes of the folder above: /etc is others' too.
            PARTITA_CONFIG_FILE=os.path.join(directory, "etc", "config.yaml"),
            # Likewise the two above kubelet's: /var/lib changes with every package that somebody installs.
            PARTITA_DEVICE_PLUGIN_DIR=os.path.join(directory, "lib", "kubelet", "device-plugins"),
        )
        self.directory = directory
        os.makedirs(os.path.join(directory, "etc"))
        os.makedirs(self.environment["PARTITA_DEVICE_PLUGIN_DIR"])
        self.configure("version: partita/v1\n")
        self.agent = None
        os.makedirs(self.environment["PARTITA_SIM_DIR"])

    def configure(self, text):
        """Whole at once: a file that is half written is a configuration, too."""
        path = self.environment["PARTITA_CONFIG_FILE"]
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{path}.new", path)

    def program(self, name):
        return os.path.join(self.bin, name)

    def sim(self, *arguments, check=True):
        done = subprocess.run(
            [self.program("partita-sim"), *arguments],
            env=self.environment, capture_output=True, text=True, check=False, timeout=120,
        )
        if check and done.returncode:
            raise Failure(f"partita-sim {' '.join(arguments)}: {done.stderr}")
        return done

    def inside(self, *command):
        return [self.program("partita-sim"), "run", "--", *command]

    def start_agent(self):
        with open(os.path.join(self.directory, "agent.log"), "a", encoding="utf-8") as log:
            self.agent = subprocess.Popen(
                self.inside(self.program("partita"), "agent", "--listen", ""),
                env=self.environment, stdout=log, stderr=log,
            )
        path = os.path.join(self.environment["PARTITA_RUN_DIR"], "agent.sock")
        while True:
            if self.agent.poll() is not None:
                raise Failure("the agent did not start: " + self.log())
            try:
                Control(path)
                return path, self.agent.pid  # `run` became it
            except OSError:
                time.sleep(0.01)

    def stop_agent(self, seconds=10):
        """As systemd does; returns its status, none where none ran."""
        if not self.agent or self.agent.poll() is not None:
            return None
        self.agent.send_signal(signal.SIGTERM)
        try:
            return self.agent.wait(seconds)
        except subprocess.TimeoutExpired:
            self.agent.kill()
            return self.agent.wait()

    def remove(self):
        self.stop_agent()
        self.sim("workload", "stop", "--all", check=False)
        self.sim("down", "--force", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        if not self.agent:
            return ""
        with open(os.path.join(self.directory, "agent.log"), encoding="utf-8") as file:
            return file.read()

    def status(self, *options):
        done = subprocess.run(
            self.inside(self.program("partita"), "status", "--output", "json", *options),
            env=self.environment, capture_output=True, text=True, check=False, timeout=60,
        )
        if done.returncode or done.stderr:
            raise Failure(f"partita status {' '.join(options)}: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def pss_of(pid):
    """In kB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def memory_of(pid):
    """What it allocated, in kB: not its program, whose share depends on who else runs it."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def threads_of(pid):
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
            names.append(file.read().strip())
    return sorted(names)


def sleeps_of(pid):
    """Voluntary context switches, by thread."""
    switches = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file)
        switches[lines["Name"].strip()] = int(lines["voluntary_ctxt_switches"])
    return switches


def descriptors_of(pid):
    """How many of each kind: nodes and files by name, others without their number."""
    kinds = collections.Counter()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            kinds[re.sub(r"\[\d+\]", "", os.readlink(f"/proc/{pid}/fd/{name}"))] += 1
        except FileNotFoundError:
            pass  # closed since
    return kinds
