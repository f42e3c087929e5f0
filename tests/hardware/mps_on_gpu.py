#!/usr/bin/env python3
"""Two CUDA programs alone, time-sliced and under an MPS domain that the agent started; their limits seen inside.

Usage: mps_on_gpu.py PARTITA

For a machine with one idle GPU. Starts an agent with folders of its own, `mps.computeMode: unchanged`,
`mig.restoreAtBoot: off` and `health.autoReset: off`, so that no mode of the card changes; compares the modes before
and after. Ends with 1 where something is not as it should be.
"""

import ctypes
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

REPLICAS = 2
ROUNDS = 10
# What is allocated is so much less than what is free, and then 1 MiB more than that.
MARGIN_MIB = 1024
OUT_OF_MEMORY = 2
LIMIT_SECONDS = 60
# A chain of multiply-adds on 64 blocks: less than half of the multiprocessors of a data-centre GPU, so that two of
# them fit side by side where the GPU lets them.
BLOCKS, THREADS, STEPS = 64, 128, 20_000_000
IMAGE = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 steps)
{
  .reg .u32 %i, %n;
  .reg .f32 %f;
  .reg .pred %p;
  .reg .u64 %o;
  ld.param.u64 %o, [out];
  ld.param.u32 %n, [steps];
  mov.u32 %i, 0;
  mov.f32 %f, 0f3F800000;
again:
  fma.rn.f32 %f, %f, %f, %f;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra again;
  cvta.to.global.u64 %o, %o;
  st.global.f32 [%o], %f;
  ret;
}
"""


class Cuda:
    """What the driver's library answers, a code of its own for every failure."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            sys.exit(f"{name}: {code}")

    def start(self):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        count = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(count), 16, device)
        return count.value

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        return self.library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)), pointer

    def kernel(self):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), IMAGE)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"spin")
        code, out = self.allocate(4096)
        steps = ctypes.c_uint32(STEPS)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(steps))

        def run(*_kept):
            grid = [ctypes.c_uint(number) for number in (BLOCKS, 1, 1, THREADS, 1, 1, 0)]
            self.call("cuLaunchKernel", function, *grid, None, arguments, None)
            self.call("cuCtxSynchronize")

        if code != 0:
            sys.exit(f"cuMemAlloc_v2: {code}")
        return functools.partial(run, out, steps)  # which `arguments` points to


def client():
    """Once told to, says what it has, and the codes of an allocation below and of one just beyond it; told again, how long a
    kernel takes."""
    cuda = Cuda()
    multiprocessors = cuda.start()
    sys.stdin.readline()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    below, pointer = cuda.allocate(free.value - (MARGIN_MIB << 20))
    beyond, _ = cuda.allocate((MARGIN_MIB + 1) << 20)
    if below == 0:
        cuda.call("cuMemFree_v2", ctypes.c_uint64(pointer.value))
    run = cuda.kernel()
    run()
    print(f"{multiprocessors} {free.value >> 20} {total.value >> 20} {below} {beyond}", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    for _ in range(ROUNDS):
        run()
    print(f"{1000 * (time.monotonic() - begin) / ROUNDS:.1f}", flush=True)


class Seen:
    """What one program has and takes."""

    def __init__(self, words):
        self.processors, self.free, self.total, self.below, self.beyond = (int(word) for word in words)
        self.milliseconds = 0.0


def tell(program):
    program.stdin.write("go\n")
    program.stdin.flush()


def measure(what, count, environment):
    """What `count` programs at once see and take. They allocate one after the other: what one is refused the GPU still has
    where all have shares."""
    command = [sys.executable, __file__, "--client"]
    programs = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    all_seen = []
    for program in programs:
        tell(program)
        words = program.stdout.readline().split()
        if not words:
            sys.exit(f"{what}: a program failed")
        all_seen.append(Seen(words))
    for program in programs:
        tell(program)
    for program, seen in zip(programs, all_seen):
        time_taken = program.stdout.readline().strip()
        if program.wait() != 0 or not time_taken:
            sys.exit(f"{what}: a program failed")
        seen.milliseconds = float(time_taken)
    print(f"{what}: {' and '.join(str(seen.milliseconds) for seen in all_seen)} ms", flush=True)
    for seen in all_seen:
        print(f"  {seen.processors} multiprocessors, {seen.free} of {seen.total} MiB free; {seen.free - MARGIN_MIB} MiB: "
              f"code {seen.below}, {MARGIN_MIB + 1} more: code {seen.beyond}", flush=True)
    return all_seen


def smi(query):
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def modes():
    return smi("compute_mode,persistence_mode,mig.mode.current")


CONFIG = """version: partita/v1
log: {{level: info}}
listen: "unix:{folder}/http.sock"
mig: {{restoreAtBoot: "off"}}
health: {{autoReset: "off"}}
labels: {{backend: none}}
{mps}
devicePlugin:
  config:
    version: v1
    flags: {{plugin: {{deviceListStrategy: [envvar]}}}}
{sharing}
"""
MPS = "mps: {{root: {folder}/mps, runner: child, computeMode: unchanged}}"
SHARING = f"    sharing: {{mps: {{resources: [{{name: nvidia.com/gpu, replicas: {REPLICAS}}}]}}}}"


class Agent:
    def __init__(self, partita, folder):
        self.partita, self.folder = partita, folder
        self.config = folder / "config.yaml"
        self.environment = dict(
            os.environ, PARTITA_CONFIG_FILE=str(self.config), PARTITA_RUN_DIR=str(folder), PARTITA_STATE_DIR=str(folder),
            PARTITA_CDI_DIR=str(folder / "cdi"), PARTITA_DEVICE_PLUGIN_DIR=str(folder),
        )
        self.write(shared=True)
        self.log = folder / "log"
        self.began = time.monotonic()
        with self.log.open("w") as log:
            self.process = subprocess.Popen([partita, "agent"], env=self.environment, stderr=log)

    def write(self, shared):
        mps = MPS.format(folder=self.folder)
        self.config.write_text(CONFIG.format(folder=self.folder, mps=mps, sharing=SHARING if shared else ""))

    def wait(self, true, what):
        while not true():
            if self.process.poll() is not None or time.monotonic() - self.began > LIMIT_SECONDS:
                sys.exit(f"{what}: not after {LIMIT_SECONDS} s\n{self.log.read_text()}")
            time.sleep(0.005)

    def domain_pipe(self):
        self.wait(lambda: "MPS domain started" in self.log.read_text(), "a domain")
        found = list((self.folder / "mps").glob("GPU-*/pipe"))
        print(f"domain ready {1000 * (time.monotonic() - self.began):.0f} ms after the agent's start", flush=True)
        return found[0]

    def end_domain(self, pipe):
        pid = int((pipe / "nvidia-cuda-mps-control.pid").read_text())
        self.write(shared=False)
        subprocess.run([self.partita, "config", "reload"], env=self.environment, check=True)
        self.began = time.monotonic()
        self.wait(lambda: not os.path.exists(f"/proc/{pid}"), "the daemon's end")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        print(f"agent ended with {status}\n-- its log\n{self.log.read_text()}", end="")
        return status


def wrong_shares(programs, processors, memory):
    """What is wrong with programs that have a share of so many multiprocessors and MiB."""
    return [what for what, bad in {
        "multiprocessors are not those of a share": any(seen.processors > processors / REPLICAS + 1 for seen in programs),
        "memory is not that of a share": any(
            not memory / REPLICAS - MARGIN_MIB <= seen.free <= memory / REPLICAS for seen in programs),
        "an allocation below the share fails": any(seen.below != 0 for seen in programs),
        "one beyond the share is not out of memory": any(seen.beyond != OUT_OF_MEMORY for seen in programs),
    }.items() if bad]


def main():
    before = modes()
    print(f"compute, persistence and MIG mode before: {before}")
    plain = dict(os.environ)
    processors = measure("alone", 1, plain)[0].processors
    sliced = measure("two, time-sliced", 2, plain)
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(sys.argv[1], pathlib.Path(folder))
        pipe = agent.domain_pipe()
        under = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=str(pipe))
        lonely = measure("alone under MPS", 1, under)
        both = measure("two under MPS", 2, under)
        for command in ("get_default_active_thread_percentage", "get_default_device_pinned_mem_limit 0"):
            said = subprocess.run(["nvidia-cuda-mps-control"], env=under, input=command + "\n", capture_output=True,
                                  text=True, check=True)
            print(f"{command}: {said.stdout.strip()}")
        agent.end_domain(pipe)
        status = agent.stop()
    after = modes()
    print(f"compute, persistence and MIG mode after: {after}")
    wrong = wrong_shares(lonely + both, processors, float(smi("memory.total")))
    wrong += ["modes changed"] if before != after else []
    wrong += ["agent's status"] if status != 0 else []
    slowest = max(seen.milliseconds for seen in sliced)
    wrong += ["no faster than time-slices"] if max(seen.milliseconds for seen in both) > 0.75 * slowest else []
    print("wrong: " + ", ".join(wrong) if wrong else "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--client"]:
        client()
    else:
        sys.exit(main())
