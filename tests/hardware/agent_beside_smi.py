#!/usr/bin/env python3
"""Runs the agent for a while beside a load that comes and goes, and compares what it says with nvidia-smi.

Usage: agent_beside_smi.py PARTITA SECONDS [FOLDER]

Reads only, but for memory that it allocates itself through CUDA where there is a libcuda.so.1. Prints a line a
look; ends with 1 where the agent and nvidia-smi differed at a quiet point, or a descriptor stayed open.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.control_socket import Control  # noqa: E402

LOOK_SECONDS = 5
LOAD_SECONDS = 20  # on, then as long off
MEMORY = 1 << 30


def hold_memory():
    """A process that has a context and a gibibyte, until it is ended."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    for code in (
        cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device),
        cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(MEMORY)),
    ):
        if code != 0:
            sys.exit(f"libcuda: {code}")
    print("held", flush=True)
    signal.pause()


def smi(query, what="--query-gpu"):
    done = subprocess.run(
        ["nvidia-smi", f"{what}={query}", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True
    )
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]


def facts_of_smi():
    gpus = {row[0]: row[1:] for row in smi("uuid,name,pci.bus_id,driver_version,mig.mode.current,persistence_mode")}
    holders = sorted((row[0], int(row[1])) for row in smi("gpu_uuid,pid", "--query-compute-apps"))
    return gpus, holders


def facts_of_agent(status):
    """In nvidia-smi's words, from the published form that `partita status -o json` prints."""
    gpus, holders = {}, []
    driver = status["driver"]["version"]
    for gpu in status["gpus"]:
        mig = gpu.get("mig")
        gpus[gpu["uuid"]] = [
            gpu["name"], gpu["pciBusId"].upper(), driver,
            "[N/A]" if mig is None else "Enabled" if mig["enabled"] else "Disabled",
            "Enabled" if gpu.get("persistenceMode") else "Disabled",
        ]
        holders += [(gpu["uuid"], process["pid"]) for process in gpu.get("processes", [])]
    return gpus, sorted(holders)


def open_nodes(pid):
    names = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("/dev/nvidia"):
            names.append(target)
    return sorted(names)


def memory_of(pid):
    """PSS in kB: all of it, and what is not the driver's libraries and what they allocated."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def main():
    if sys.argv[1:] == ["--hold"]:
        hold_memory()
    partita, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    folder = sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp(prefix="partita-agent-")
    environment = dict(os.environ, PARTITA_RUN_DIR=folder, PARTITA_STATE_DIR=folder)
    with open(os.path.join(folder, "agent.log"), "w", encoding="utf-8") as log:
        begin = time.monotonic()
        agent = subprocess.Popen(
            [partita, "agent", "--listen", f"unix:{folder}/http"], env=environment, stdout=log, stderr=log
        )
    path = os.path.join(folder, "agent.sock")
    while not os.path.exists(path):
        if agent.poll() is not None or time.monotonic() - begin > 60:
            sys.exit("the agent did not start: " + open(log.name, encoding="utf-8").read())
        time.sleep(0.001)
    print(f"socket after {1000 * (time.monotonic() - begin):.0f} ms, PSS {memory_of(agent.pid)} kB, "
          f"open {open_nodes(agent.pid)}")
    failed = watch(partita, environment, agent, seconds, path)
    agent.send_signal(signal.SIGTERM)
    status = agent.wait(10)
    print(f"agent ended with {status}\n-- its log")
    print(open(log.name, encoding="utf-8").read(), end="")
    return 1 if failed or status else 0


def watch(partita, environment, agent, seconds, path):
    load, failed, before = None, False, time.monotonic()
    switched, reopened = before, False
    while time.monotonic() - before < seconds:
        now = time.monotonic()
        if now - switched > LOAD_SECONDS:
            switched = now
            load = change_load(load)
        if not reopened and now - before > seconds / 2:
            reopened = True
            session = Control(path).call("driver.reopen")["session"]
            print(f"reopened: session {session}, open {open_nodes(agent.pid)}")
        answer = time.monotonic()
        # The agent's word: it says so itself where it did not answer.
        done = subprocess.run([partita, "status", "-o", "json"], env=environment, capture_output=True, text=True)
        took = time.monotonic() - answer
        agents, smis = facts_of_agent(json.loads(done.stdout)), facts_of_smi()
        same = agents == smis and done.returncode == 0 and not done.stderr
        failed = failed or not same
        print(f"{now - before:6.1f} s  {'equal' if same else 'DIFFERENT'}  status {1000 * took:.0f} ms  "
              f"holders {len(smis[1])}  PSS {memory_of(agent.pid)} kB  descriptors {len(os.listdir(f'/proc/{agent.pid}/fd'))}")
        if not same:
            print(f"  agent: {agents}\n  smi:   {smis}\n  {done.stderr}")
        time.sleep(LOOK_SECONDS)
    if load:
        change_load(load)
    return failed


def change_load(load):
    """Begins one, or ends the one that is there."""
    if load is None:
        load = subprocess.Popen([sys.executable, __file__, "--hold"], stdout=subprocess.PIPE, text=True)
        print(f"load begins: {load.stdout.readline().strip() or 'it failed'}")
        return load
    load.kill()
    load.wait()
    print("load ended")
    return None


if __name__ == "__main__":
    sys.exit(main())
