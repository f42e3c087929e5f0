#!/usr/bin/env python3
"""What dies under an MPS domain of the agent, and how soon the next program works: a fault, a server, a daemon.

Usage: mps_fault.py PARTITA

For a machine with one idle GPU. As mps_on_gpu.py, it changes no mode of the card and compares them. First, with a daemon of
its own and nobody to watch it: a program's illegal access, and whether `shutdown_server -f` alone ends a server in FAULT,
once its clients have ended and while they are there. Then under an agent: the same fault, a server that is killed, a daemon
that is killed. Ends with 1 where something is not as it should be.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from mps_on_gpu import REPLICAS, Agent, Cuda, modes, smi

BACK_WITHIN = 5  # seconds
SERVER_LIMIT = 15
CLIENT_LIMIT = 20
CONTROL = "nvidia-cuda-mps-control"
REPLACED = "a client's fault ended all clients of an MPS server: it was replaced"
STARTED = "MPS domain started"
ILLEGAL = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry illegal_access()
{
  .reg .u64 %a;
  .reg .u32 %v;
  mov.u64 %a, 0;
  mov.u32 %v, 1;
  st.global.u32 [%a], %v;
  ret;
}
"""


def fault(cuda):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuModuleLoadData", ctypes.byref(module), ILLEGAL)
    cuda.call("cuModuleGetFunction", ctypes.byref(function), module, b"illegal_access")
    cuda.call("cuLaunchKernel", function, *[ctypes.c_uint(number) for number in (1, 1, 1, 1, 1, 1, 0)], None, None, None)
    cuda.call("cuCtxSynchronize")


def client(what):
    """Runs a kernel and says what it sees; "faulty" and "stays" do as told then. A failure is its name and code, and exit 1,
    of one that "lingers" when it is told to end."""
    signal.alarm(60)
    cuda = Cuda()
    multiprocessors = cuda.start()
    run = cuda.kernel()
    run()
    print(multiprocessors, flush=True)
    if what == "once":
        return
    sys.stdin.readline()
    if what == "faulty":
        fault(cuda)
    if what == "lingers":
        print(cuda.library.cuCtxSynchronize(), flush=True)
        sys.stdin.readline()
    run()


class Program:
    """A client that has run a kernel; `end` says what became of it."""

    def __init__(self, environment, what):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--client", what], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        self.said = "" if what == "once" else self.process.stdout.readline().strip()
        if what != "once" and not self.said:
            sys.exit(f"a program that {what}: {self.end()}")

    def tell(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self):
        try:
            out, words = self.process.communicate(timeout=CLIENT_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return f"hangs for {CLIENT_LIMIT} s"
        self.said = self.said or out.strip()
        if self.process.returncode == 0:
            return "well"
        return (words.strip().splitlines() or [f"ended with {self.process.returncode}"])[-1]


def ask(environment, command):
    try:
        asked = subprocess.run([CONTROL], env=environment, input=command + "\n", capture_output=True, text=True,
                               timeout=CLIENT_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer for {CLIENT_LIMIT} s"
    return (asked.stdout + asked.stderr).strip()


def lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def seconds_to_end(pid, limit, since=None):
    """None: it is there all the time."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit:
        if not lives(pid):
            return time.monotonic() - (since or begin)
        time.sleep(0.005)
    return None


def words_of(seconds, limit):
    return f"still there after {limit} s" if seconds is None else f"gone after {seconds:.2f} s"


def server_of(environment):
    servers = ask(environment, "get_server_list").split()
    if len(servers) != 1 or not servers[0].isdigit():
        sys.exit(f"servers: {servers}")
    return int(servers[0])


def by_hand(linger):
    """Whether a server in FAULT ends for shutdown_server -f; what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        under = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=f"{folder}/pipe", CUDA_MPS_LOG_DIRECTORY=f"{folder}/log")
        for name in ("pipe", "log"):
            os.mkdir(f"{folder}/{name}")
        daemon = subprocess.Popen([CONTROL, "-f"], env=dict(under, CUDA_VISIBLE_DEVICES=smi("uuid")),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while "Cannot" in ask(under, "get_server_list") and time.monotonic() - begin < SERVER_LIMIT:
            time.sleep(0.05)
        faulty, neighbour = Program(under, "faulty"), Program(under, "lingers" if linger else "stays")
        server = server_of(under)
        faulty.tell()
        print(f"by hand, {'a client stays' if linger else 'clients end'}: the faulty program: {faulty.end()}", flush=True)
        neighbour.tell()
        print(f"  its neighbour: {neighbour.process.stdout.readline().strip() if linger else neighbour.end()}", flush=True)
        by_itself = seconds_to_end(server, 2)
        state = ask(under, f"get_server_status {server}")
        print(f"  the server by itself: {words_of(by_itself, 2)}, {state}; another program: {Program(under, 'once').end()}")
        said = ask(under, f"shutdown_server {server} -f")
        ended = seconds_to_end(server, SERVER_LIMIT)
        print(f"  shutdown_server -f: \"{said}\", the server {words_of(ended, SERVER_LIMIT)}", flush=True)
        if lives(server):
            os.kill(server, 9)
            print(f"  kill -9: the server {words_of(seconds_to_end(server, SERVER_LIMIT), SERVER_LIMIT)}")
        next_one = Program(under, "once").end()
        print(f"  the next program: {next_one}")
        if linger:
            neighbour.tell()
            print(f"  who stayed: {neighbour.end()}")
        ask(under, "quit -t 2")
        try:
            daemon.wait(SERVER_LIMIT)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        return [] if next_one == "well" else ["no program after a fault, by hand"]


class Domain:
    """The agent's, and how soon it serves again."""

    def __init__(self, agent, pipe):
        self.agent, self.pipe = agent, pipe
        self.under = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=str(pipe))

    def daemon(self):
        return int((self.pipe / "nvidia-cuda-mps-control.pid").read_text())

    def lines(self, text):
        return self.agent.log.read_text().count(text)

    def until_logged(self, text, before, since):
        self.agent.began = time.monotonic()
        self.agent.wait(lambda: self.lines(text) > before, text)
        return time.monotonic() - since

    def until_served(self, since, most):
        """Seconds until the end of the first program that works under MPS; what is wrong."""
        failures = []
        while time.monotonic() - since < 60:
            begin = time.monotonic() - since
            program = Program(self.under, "once")
            end = program.end()
            if end == "well" and int(program.said) <= most:
                took = time.monotonic() - since
                tried = f"; before that: {', '.join(failures)}" if failures else ""
                print(f"  a new program, begun after {begin:.2f} s, has run after {took:.2f} s and sees {program.said} "
                      f"multiprocessors{tried}", flush=True)
                return [] if took <= BACK_WITHIN else [f"back after {took:.2f} s"]
            failures.append(f"{end} with {program.said} multiprocessors" if end == "well" else end)
        print(f"  no new program works: {', '.join(failures)}")
        return ["no program works again"]


def fault_under(domain, most):
    faulty, neighbour = Program(domain.under, "faulty"), Program(domain.under, "stays")
    server, daemon, replaced = server_of(domain.under), domain.daemon(), domain.lines(REPLACED)
    since = time.monotonic()
    faulty.tell()
    end = faulty.end()
    neighbour.tell()
    print(f"a fault under the agent: the faulty program: {end}, its neighbour: {neighbour.end()}", flush=True)
    wrong = domain.until_served(since, most)
    ended = seconds_to_end(server, SERVER_LIMIT, since)
    logged = domain.until_logged(REPLACED, replaced, since)
    said = [line for line in (domain.pipe.parent / "log/control.log").read_text().splitlines() if "shutdown_server" in line]
    print(f"  the server: {words_of(ended, SERVER_LIMIT)} at the latest; the agent had written that it was replaced after "
          f"{logged:.2f} s at the latest\n  in the daemon's log: {'; '.join(said)}", flush=True)
    if lives(server):
        wrong.append("the server in FAULT lives")
    if domain.daemon() != daemon:
        wrong.append("a fault cost the daemon")
    return wrong


def kill_server(domain, most):
    neighbour, server, daemon = Program(domain.under, "stays"), server_of(domain.under), domain.daemon()
    since = time.monotonic()
    os.kill(server, 9)
    wrong = domain.until_served(since, most)
    neighbour.tell()
    print(f"  of kill -9 of the server; its client: {neighbour.end()}", flush=True)
    return wrong + ([] if domain.daemon() == daemon else ["a killed server cost the daemon"])


def kill_daemon(domain, most):
    neighbour, daemon, started = Program(domain.under, "stays"), domain.daemon(), domain.lines(STARTED)
    since = time.monotonic()
    os.kill(daemon, 9)
    logged = domain.until_logged(STARTED, started, since)
    wrong = domain.until_served(since, most)
    neighbour.tell()
    print(f"  of kill -9 of the daemon; another was started {logged:.2f} s later; the client: {neighbour.end()}", flush=True)
    return wrong


def main():
    before = modes()
    print(f"compute, persistence and MIG mode before: {before}")
    plain = Program(dict(os.environ), "once")
    if plain.end() != "well":
        sys.exit("a program without MPS failed")
    most = int(plain.said) // REPLICAS + 1
    wrong = by_hand(linger=False) + by_hand(linger=True)
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(sys.argv[1], pathlib.Path(folder))
        domain = Domain(agent, agent.domain_pipe())
        for break_it in (fault_under, kill_server, kill_daemon):
            wrong += [f"{break_it.__name__}: {what}" for what in break_it(domain, most)]
        agent.end_domain(domain.pipe)
        wrong += ["agent's status"] if agent.stop() != 0 else []
    after = modes()
    print(f"compute, persistence and MIG mode after: {after}; memory in use {smi('memory.used')} MiB")
    wrong += ["modes changed"] if before != after else []
    print("wrong: " + ", ".join(wrong) if wrong else "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client(sys.argv[2])
    else:
        sys.exit(main())
