#!/usr/bin/env python3
"""Plays data/captures/h200/mps.txt on a simulated H200: every command of it, with what happened between them.

Answers, exit statuses, names and modes of files and the daemon's log must be those of the transcript, less pids and
times; the log of each command, server and client in its order. Runs inside the node's view.
Usage: transcript.py TRANSCRIPT CLIENT DIRECTORY
"""

import difflib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

CONTROL = "nvidia-cuda-mps-control"
CAPTURED_UUID = "GPU-22338d26-0961-071c-d5b1-467ebec057e9"
NODE_UUID = "GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1"
CAPTURED_DIRECTORY = "/tmp/mps"

# What the simulated daemon's log does not have, and why.
NOT_LOGGED = set()
# Of the log, lines whose numbers are what they are about.
SETTING = re.compile(r"limit|percentage|priority|version", re.IGNORECASE)
# Of the daemon while a command is answered, and not of the command.
BESIDE = re.compile(r"Accepting connection|NEW CLIENT|User did not send|exited with status")
# Of a client, but of all that its server has: which of several is named is chance on the card.
OF_ALL = re.compile(r"fatal GPU error|torn down")
# What the card's never set, and which of a process's two connections is seen here to end first.
BY_CHANCE = re.compile(r"Received new client request|Context ID: 0\} exit$")

transcript, client_program, work = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
environment = dict(
    os.environ, CUDA_MPS_PIPE_DIRECTORY=f"{work}/pipe", CUDA_MPS_LOG_DIRECTORY=f"{work}/log", LC_ALL="C"
)
pids = {}  # of the transcript, to those of this run
clients = []


def fail(text):
    for one in clients:
        one.kill()
    sys.exit(f"transcript: {text}")


def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            fail(f"never became true: {what}")
        time.sleep(0.01)


def here(text):
    """A text of the transcript with this run's pids, UUID and directory."""
    text = text.replace(CAPTURED_UUID, NODE_UUID).replace(CAPTURED_UUID[:22], NODE_UUID[:22])
    text = text.replace(CAPTURED_DIRECTORY, str(work))
    return re.sub(r"\b\d+\b", lambda found: str(pids.get(found[0], found[0])), text)


def alike(text):
    """What of an answer must agree: no padding by pids, namespaces, sizes, owners' links and times."""
    lines = []
    for line in text.splitlines():
        listed = re.match(r"([-dspl][-rwx]{9})\s+\d+\s+(\w+\s+\w+)\s+\d+\s+\w+\s+\d+\s+[\d:]+\s+(.*)", line)
        line = " ".join(listed.groups()) if listed else line
        line = re.sub(r"^total \d+$", "total", line)
        line = re.sub(r"\b40265\d{5}\b", "NAMESPACE", line)
        lines.append(" ".join(line.split()))
    return "\n".join(lines)


def compare(expected, answer, what):
    if alike(here(expected)) != alike(answer):
        fail(f"{what}\n--- transcript\n{alike(here(expected))}\n--- answer\n{alike(answer)}")


def run(command, extra=None):
    done = subprocess.run(
        command, shell=True, env=dict(environment, **(extra or {})), text=True, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout, done.returncode


class Client:
    """A CUDA program that goes on when it is told to."""

    def __init__(self, *steps):
        self.process = subprocess.Popen(
            ["/tmp/load", *steps], executable=client_program, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        self.pid, self.lines = self.process.pid, []
        clients.append(self)

    def kill(self):
        self.process.kill()

    def hear(self, line):
        while line not in self.lines:
            said = self.process.stdout.readline()
            if not said:
                fail(f"a client ended before \"{line}\": {self.lines}")
            self.lines.append(said.strip())
        return self

    def finish(self):
        """The text of its last line."""
        rest = self.process.communicate("\n")[0].splitlines()
        self.lines += rest
        if self.process.returncode != 0:
            fail(f"a client ended with {self.process.returncode}: {self.lines}")
        return self.lines[-1].partition(": ")[2].partition(" ")[2]


def start_daemon(log):
    """In the foreground, its log in a file; there when it takes connections."""
    out = open(log, "ab")
    daemon = subprocess.Popen(
        [CONTROL, "-f"], env=dict(environment, CUDA_VISIBLE_DEVICES=NODE_UUID), stdout=out, stderr=subprocess.STDOUT
    )
    until(lambda: run(f"echo get_server_list | {CONTROL}")[1] == 0, "the daemon answers")
    return daemon


def server():
    return run(f"echo get_server_list | {CONTROL}")[0].strip()


def sections(text):
    """(title, lines) of each part; the log at the end is its own."""
    parts = re.split(r"^== (.*)\n", text, flags=re.M)
    return list(zip(parts[1::2], (part.splitlines() for part in parts[2::2])))


def commands(lines):
    """(command, answer, status) of each $ line, and the lines that stand alone."""
    found, alone, answer = [], [], None
    for line in lines:
        if line.startswith("$ "):
            answer = [line[2:]]
        elif line.startswith("[exit ") and answer is not None:
            found.append((answer[0], "\n".join(answer[1:]), int(line[6:-1])))
            answer = None
        elif answer is not None:
            answer.append(line)
        else:
            alone.append(line)
    return found, alone


def play(command, answer, status):
    got, code = run(here(command))
    compare(answer, got, command)
    if code != status:
        fail(f"{command}: exit status {code}, not {status}")


def expect(text, lines, what):
    if not any(line.rstrip().endswith(text) for line in lines):
        fail(f"{what}: \"{text}\" is not in the transcript")


class Player:
    """What happened between the commands of each section."""

    def __init__(self):
        self.daemon = None
        self.pair = []
        self.played = 0

    def all(self, lines):
        found, alone = commands(lines)
        for step in found:
            play(*step)
            self.played += 1
            if step[0].startswith("echo 'start_server"):
                # The next lines of the transcript know its pid.
                pids[next(line.split()[1] for line in lines if line.startswith("server "))] = int(server())
        return alone

    def directories_absent(self, lines):
        out, status = run(f"{CONTROL} -f")
        compare("\n".join(lines[:-1]), out, "directories absent")
        if f"[exit {status}]" != lines[-1]:
            fail(f"directories absent: exit status {status}")

    def daemon_by_uuid(self, lines):
        (work / "pipe").mkdir(mode=0o755)
        (work / "log").mkdir(mode=0o755)
        self.daemon = start_daemon(work / "first.log")
        self.all(lines)

    def second_daemon(self, lines):
        self.directories_absent(lines)

    def two_clients(self, lines):
        numbers = next(line for line in lines if line.startswith("clients ")).split()[1:]
        for number in numbers:
            one = Client("context", "alloc", "1G", "wait", "kernel").hear("alloc 1G: 0 no error")
            pids[number] = one.pid
            self.pair.append(one)
        self.all(lines)

    def four_gib(self, lines):
        text = Client("context", "alloc", "4G").finish()
        if (text, lines[-1]) != ("out of memory", "alloc 2"):
            fail(f"one more with 4 GiB: {text}")

    def fault(self, lines):
        text = Client("context", "alloc", "1M", "fault").finish()
        expect(text, lines[:2], "the client that faults")
        alone = self.all(lines)
        for one in self.pair:
            expect(one.finish(), alone[3:], "a client beside it")

    def after_fault(self, lines):
        expect(Client("context", "kernel").finish(), lines, "a client after the fault")
        self.all(lines)

    def kill_server(self, lines):
        one = Client("context", "kernel", "wait", "sync").hear("kernel: 700 an illegal memory access was encountered")
        os.kill(int(server()), signal.SIGKILL)
        until(lambda: server() == "", "the server is gone")
        self.all(lines)
        expect(one.finish(), lines[-4:-3], "its client")
        expect(Client("context", "kernel").finish(), lines[-2:-1], "the next client")

    def terminate(self, lines):
        one = Client("context", "wait", "sync").hear("context: 0 no error")
        pids.update({"725": int(server()), "738": one.pid})
        self.all(lines)
        expect(one.finish(), lines, "the terminated client")

    def kill_daemon(self, lines):
        one = Client("context", "wait", "sync").hear("context: 0 no error")
        served_by = int(server())
        self.daemon.kill()
        self.daemon.wait()
        until(lambda: not pathlib.Path(f"/proc/{served_by}").exists(), "its server is gone")
        alone = self.all(lines)
        expect(one.finish(), alone, "its client")
        self.daemon = start_daemon(work / "second.log")
        first = (work / "second.log").read_text().splitlines()[:3]
        wanted = [shape(line) for line in alone if "Control" in line]
        if [shape(line) for line in first] != wanted:
            fail(f"the new daemon says {first}")

    def orderly_end(self, lines):
        self.all(lines)
        if self.daemon.wait(timeout=60) != 0:
            fail(f"the daemon ended with {self.daemon.returncode}")

    def no_log_files(self, lines):
        for name in ("control.log", "server.log"):
            if (work / "log" / name).exists():
                fail(f"a daemon in the foreground wrote {name}")


def shape(line, numbers=False):
    """A line of the log without time and pids; with other numbers where they are what it is about."""
    line = re.sub(r"^\[\S+ \S+ (\w+) +\d+\]", r"\1:", line)
    line = line.replace(str(work), CAPTURED_DIRECTORY).replace(NODE_UUID, CAPTURED_UUID)
    line = line.replace(CAPTURED_UUID, "UUID").replace(CAPTURED_UUID[:22], "UUID").replace(NODE_UUID[:22], "UUID")
    line = " ".join(line.split())
    if numbers or SETTING.search(line):
        return line
    return re.sub(r"\b(0x[0-9a-f]+|-?\d+(\.\d+)?)\b", "N", line)


def stories(lines):
    """What is in order, though others write between it: each command with what it says, each server, each client."""
    told, command = {"commands": []}, None
    for line in lines:
        who, pid = re.match(r"^\[\S+ \S+ (\w+) +(\d+)\]", line).groups()
        client = re.search(r"[Cc]lient (?:process |\{PID: )(\d+)", line)
        if who == "Control" and "Starting new server" not in line:
            if line.endswith("NEW UI"):
                command = []
            elif line.endswith("UI closed"):
                # This one is asked for as long as it takes.
                if command and "get_server_list" not in command[0]:
                    told["commands"] += command
                command = None
            elif command is not None and not BESIDE.search(line):
                command.append(shape(line, bool(command and SETTING.search(command[0]))))
        elif not BY_CHANCE.search(line):
            teller = f"client {client[1]}" if client and not OF_ALL.search(line) else f"server {pid}"
            told.setdefault(teller, []).append(shape(line))
    return told


def compare_logs(captured):
    """Every kind of line of the transcript's log is in ours, and none that is not in it; what has an order has it."""
    ours = (work / "first.log").read_text().splitlines()
    theirs = [here(line) for line in captured if re.match(r"^\[\d{4}-", line)]
    our_kinds, their_kinds = ({shape(line) for line in lines} for lines in (ours, theirs))
    missing, invented = their_kinds - our_kinds - NOT_LOGGED, our_kinds - their_kinds
    # Which commands were asked is the script's own; the answers to them were compared above.
    if missing or invented:
        fail("the log\n--- missing\n" + "\n".join(sorted(missing)) + "\n--- invented\n" + "\n".join(sorted(invented)))
    our_stories, their_stories = stories(ours), stories(theirs)
    if len(our_stories) != len(their_stories):
        fail(f"the log tells of {', '.join(our_stories)}; the transcript's of {', '.join(their_stories)}")
    for (teller, our_lines), their_lines in zip(our_stories.items(), their_stories.values()):
        if our_lines != their_lines:
            differ = difflib.unified_diff(their_lines, our_lines, "transcript", "log", lineterm="")
            fail(f"the log of {teller}\n" + "\n".join(differ))


def main():
    player = Player()
    actions = {
        "directories absent: start in the foreground": player.directories_absent,
        "daemon for one GPU by UUID, foreground": player.daemon_by_uuid,
        "a second daemon on the same directory": player.second_daemon,
        "two clients": player.two_clients,
        "one more with a 4 GiB wish under the limit": player.four_gib,
        "a client faults": player.fault,
        "another client after the fault": player.after_fault,
        "kill -9 of the server under a client": player.kill_server,
        "terminate_client": player.terminate,
        "kill -9 of the daemon under a client": player.kill_daemon,
        "orderly end": player.orderly_end,
        "control.log": player.no_log_files,
        "server.log": lambda lines: None,  # the same two files; the log's text follows it
    }
    text = transcript.read_text()
    for title, lines in sections(text):
        actions.get(title, player.all)(lines)
    compare_logs(dict(sections(text))["server.log"])
    asked = len(re.findall(r"^\$ ", text, flags=re.M))
    if player.played != asked:
        fail(f"{player.played} commands were played of {asked}")
    print(f"{asked} commands as in {transcript.name}")


main()
