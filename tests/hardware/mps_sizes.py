#!/usr/bin/env python3
"""Shares of two sizes of one GPU, by an MPS domain of the agent: their limits seen inside, and a kill of the agent.

Usage: mps_sizes.py PARTITA

For a machine with one idle GPU. As mps_on_gpu.py, it changes no mode of the card and compares them. What a pod of each size
would get says `partita explain`; a program with that environment sees its part of the multiprocessors, gets memory up to its
limit and no more. Then the agent is killed under a program that goes on, and its successor takes over the same daemon.
Ends with 1 where something is not as it should be.
"""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from mps_on_gpu import Agent, Cuda, modes, smi

SHARES = """    sharing:
      mps:
        resources:
        - name: nvidia.com/gpu
          shares:
          - {name: small, replicas: 3, memory: 10Gi, threads: 10}
          - {name: large, replicas: 1, memory: 50%, threads: 50}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {{name: {size}}}
spec:
  containers:
  - name: main
    image: any
    resources: {{limits: {{nvidia.com/gpu.{size}: 1}}}}
"""
FITS_MIB = 1024  # below the limit, which also counts the context


def client(limit):
    """What a program with a limit of so many MiB has: multiprocessors, and codes of an allocation below and beyond it. Stays
    until it is told to go, and then allocates once more."""
    cuda = Cuda()
    multiprocessors = cuda.start()
    below, pointer = cuda.allocate((limit - FITS_MIB) << 20)
    beyond, _ = cuda.allocate((FITS_MIB + 1) << 20)
    print(f"{multiprocessors} {below} {beyond}", flush=True)
    sys.stdin.readline()
    if below == 0:
        cuda.call("cuMemFree_v2", ctypes.c_uint64(pointer.value))
    print(cuda.allocate(FITS_MIB << 20)[0], flush=True)


class Sizes(Agent):
    def write(self, shared):
        super().write(False)
        if shared:
            self.config.write_text(self.config.read_text().rstrip() + "\n" + SHARES)

    def start_again(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.began = time.monotonic()
        with self.log.open("a") as log:
            self.process = subprocess.Popen([self.partita, "agent"], env=self.environment, stderr=log)

    def explain(self, size):
        """Environment and limit of a pod with one share of that size."""
        command = [self.partita, "explain", "-f", "-", "--output", "json"]
        answers = []

        def would_run():  # what kubelet is shown follows a domain's state by 100 ms
            said = subprocess.run(
                command, env=self.environment, input=POD.format(size=size), capture_output=True, text=True, check=False
            )
            answers.append(said.stdout)
            return said.returncode == 0

        self.began = time.monotonic()
        self.wait(would_run, f"a pod with a {size} share")
        resource = json.loads(answers[-1])["pods"][0]["containers"][0]["resources"][0]
        share = resource["devices"][0]["share"]
        print(f"{size}: {share['memoryLimitMiB']} MiB and {share['threadPercent']} % by `partita explain`", flush=True)
        return resource["gets"]["environment"], share["memoryLimitMiB"], share["threadPercent"]


def begin(environment, limit):
    command = [sys.executable, __file__, "--client", str(limit)]
    program = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return program, [int(word) for word in program.stdout.readline().split()]


def end(program):
    last = program.communicate("go\n", timeout=60)[0].strip()
    return program.returncode, last


def daemon_of(pipe):
    return int((pipe / "nvidia-cuda-mps-control.pid").read_text())


def look(agent, pipe, processors):
    """What is wrong with a program of each size, and with one that took its variables away."""
    wrong = []
    for size, keeps in (("small", True), ("large", True), ("small", False)):
        told, limit, percent = agent.explain(size)
        if not keeps:  # the most that one share of any size has
            _, limit, percent = agent.explain("large")
            told = {}
        program, seen = begin({**os.environ, **told, "CUDA_MPS_PIPE_DIRECTORY": str(pipe)}, limit)
        words = size if keeps else f"{size} without its variables"
        print(f"{words}: {seen[0]} of {processors} multiprocessors, {limit - FITS_MIB} MiB: code {seen[1]}, "
              f"{FITS_MIB + 1} more: code {seen[2]}", flush=True)
        end(program)
        if seen[0] > processors * percent / 100 + 1 or seen[1:] != [0, 2]:
            wrong.append(f"limits of {words}")
    return wrong


def survive(agent, pipe):
    """What is wrong after a kill of the agent under a program."""
    told, limit, _ = agent.explain("small")
    program, _ = begin({**os.environ, **told, "CUDA_MPS_PIPE_DIRECTORY": str(pipe)}, limit)
    daemon = daemon_of(pipe)
    agent.start_again()
    agent.wait(lambda: "MPS domain adopted" in agent.log.read_text(), "the domain adopted")
    print(f"adopted {1000 * (time.monotonic() - agent.began):.0f} ms after the second agent's start", flush=True)
    wrong = ["another daemon"] if daemon_of(pipe) != daemon else []
    return wrong + ([] if end(program) == (0, "0") else ["the program did not survive the agent"])


def main():
    before = modes()
    print(f"compute, persistence and MIG mode before: {before}")
    processors = int(subprocess.run(
        [sys.executable, "-c", "from mps_on_gpu import Cuda; print(Cuda().start())"], check=True, capture_output=True,
        text=True, env=dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__))),
    ).stdout)
    with tempfile.TemporaryDirectory() as folder:
        agent = Sizes(sys.argv[1], pathlib.Path(folder))
        pipe = agent.domain_pipe()
        wrong = look(agent, pipe, processors) + survive(agent, pipe)
        agent.end_domain(pipe)
        wrong += ["agent's status"] if agent.stop() != 0 else []
    after = modes()
    print(f"compute, persistence and MIG mode after: {after}; memory in use {smi('memory.used')} MiB")
    wrong += ["modes changed"] if before != after else []
    print("wrong: " + ", ".join(wrong) if wrong else "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client(int(sys.argv[2]))
    else:
        sys.exit(main())
