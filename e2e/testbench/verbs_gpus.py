"""Verbs for GPUs: who serves them, how they are cut, and what goes wrong with them. All of them undo themselves."""

import dataclasses
import json
import re
import time
from collections.abc import Callable
from typing import Any

from testbench.scenario_bench import Unexpected, current, error_of, finished, step, where
from testbench.verbs_observe import field, offered, wait_for

BLOCKED = 4  # exit status of partita: by a holder of the GPU
RELEASE_SECONDS = 90
POLL_SECONDS = 0.25
REMEMBERED = "rm -rf /var/lib/partita/* /run/partita/*"  # layouts that were applied, above all


# ---- hardware ----


def partition(node: str, gpu: int, want: str) -> None:
    """Makes MIG devices of a GPU with partita: partition("dgx", 0, "1g.5gb:7"); "off" ends MIG mode."""
    words = f"partition GPU {gpu} of node {node} into {want}"
    with step(words):
        current().undo_at_end(words, lambda: unpartition(node, gpu))
        carry_out(node, words, "partita", "mig", "apply", "--gpu", str(gpu), "--yes", "--want", want)


def unpartition(node: str, gpu: int) -> None:
    """Ends MIG mode, and partita remembers nothing of it."""
    words = f"end MIG mode of GPU {gpu} of node {node}"
    carry_out(node, words, "partita", "mig", "apply", "--gpu", str(gpu), "--yes", "--want", "off")
    carry_out(node, words, "sh", "-c", REMEMBERED)


@dataclasses.dataclass(frozen=True)
class Trouble:
    """A fault or a workload that lasts; the scenario's end is its end, unless end() came before."""

    words: str
    node: str
    ending: tuple[str, ...]  # arguments of partita-sim
    lasts: Callable[[], bool] = lambda: True  # a workload ends with its process, a call's fault after some calls

    def end(self) -> None:
        with step(f"end: {self.words}"):
            self.stop()
            current().forget_undo(self.words)

    def stop(self) -> None:
        if self.lasts():
            carry_out(self.node, f"end: {self.words}", "partita-sim", *self.ending)


def fault(kind: str, *arguments: Any, on: str, gpu: int | None = None, **options: Any) -> Trouble:
    """Breaks something of a node's GPUs, as `partita-sim fault` does: fault("lost", on="dgx", gpu=2),
    fault("xid", 31, on="dgx", gpu=0, gi=1, ci=0), fault("call", "*", on="dgx", gpu=0, hang=True)."""
    chosen = [] if gpu is None else ["--gpu", str(gpu)]
    given = [*map(str, arguments), *chosen, *flags(options)]
    words = f"fault on node {on}: {' '.join([kind, *given])}"
    with step(words):
        said = carry_out(on, words, "partita-sim", "fault", kind, *given)
        number = said.split()[-1:] if kind == "call" else []
        ending = ("fault", "clear", *(number or chosen or ["--all"]))
        made = Trouble(words, on, ending, lambda: not number or number[0] in numbers(on, "fault"))
        if kind != "xid":  # an event; nothing of it lasts in the driver
            current().undo_at_end(words, made.stop)
        return made


def workload(on: str, gpu: int, **options: Any) -> Trouble:
    """A process that uses a GPU or a slice, as `partita-sim workload` makes one: workload("dgx", 0, mig="1:0",
    memory="4GiB"); pid=… lets a process of the node do it that runs already."""
    words = f"workload on node {on}: GPU {gpu} {' '.join(flags(options))}".strip()
    command = ["partita-sim", "workload", "start", "--gpu", str(gpu), *flags(options)]
    with step(words):
        before = numbers(on, "workload")
        carry_out(on, words, *command, *([] if "pid" in options else ["--detach", "--", "sleep", "86400"]))
        (number,) = numbers(on, "workload") - before
        made = Trouble(words, on, ("workload", "stop", number), lambda: number in numbers(on, "workload"))
        current().undo_at_end(words, made.stop)
        return made


def numbers(node: str, kind: str) -> set[str]:
    """Of the faults or workloads that a node has."""
    shown = carry_out(node, f"{kind}s of node {node}", "partita-sim", kind, "list", "--output", "json")
    return {str(found.get("id")) for found in json.loads(shown)[f"{kind}s"]}


def reload_driver(node: str) -> None:
    """The driver's module goes and comes back: GPU and compute instances go with it."""
    words = f"reload the driver of node {node}"
    with step(words):
        current().undo_at_end(words, lambda: set_persistence(node))
        carry_out(node, words, "partita-sim", "driver", "reload", "--force")


def bind(node: str, gpu: int, driver: str) -> None:
    """A GPU goes to another driver ("vfio"), or comes back ("nvidia"). The agent looks, as when the kernel tells it."""
    words = f"bind GPU {gpu} of node {node} to {driver}"
    with step(words):
        current().undo_at_end(words, lambda: rebind(node, words, gpu, "nvidia"))
        rebind(node, words, gpu, driver)


def rebind(node: str, words: str, gpu: int, driver: str) -> None:
    carry_out(node, words, "partita-sim", "set", "--gpu", str(gpu), f"pci-driver={driver}")
    carry_out(node, words, "partita", "status")


def exchange_board(node: str, gpu: int, product: str) -> None:
    """The driver goes, and another board comes into the slot of a GPU: load_driver() finds it."""
    words = f"exchange GPU {gpu} of node {node} for {product}"
    with step(words):
        old = machine_of(node)["gpus"][gpu]
        current().undo_at_end(words, lambda: put_back(node, gpu, old))
        carry_out(node, words, "partita-sim", "driver", "unload", "--force")
        carry_out(node, words, "partita-sim", "exchange", "--gpu", str(gpu), product)


def put_back(node: str, gpu: int, old: dict[str, Any]) -> None:
    """The board that was there, with a driver that has it."""
    words = f"put GPU {gpu} of node {node} back"
    if machine_of(node)["driver"]["loaded"]:
        carry_out(node, words, "partita-sim", "driver", "unload", "--force")
    if machine_of(node)["gpus"][gpu]["uuid"] != old["uuid"]:
        carry_out(
            node, words, "partita-sim", "exchange", "--gpu", str(gpu), old["product"], "--uuid", old["uuid"],
            "--serial", old["serial"],
        )
    carry_out(node, words, "partita-sim", "driver", "load")
    set_persistence(node)


def machine_of(node: str) -> dict[str, Any]:
    return json.loads(carry_out(node, f"look at node {node}", "partita-sim", "show", "--output", "json"))


def load_driver(node: str) -> None:
    words = f"load the driver of node {node}"
    with step(words):
        carry_out(node, words, "partita-sim", "driver", "load")


def set_persistence(node: str) -> None:
    """The driver forgets this mode when it goes; the next scenario finds it as this one did."""
    words = f"persistence mode of node {node}"
    carry_out(node, words, "partita-sim", "set", "--gpu", "all", "persistence=on")


def flags(options: dict[str, Any]) -> list[str]:
    """{"hang": True, "mig": "1:0"} -> --hang --mig 1:0."""
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items() if value is not False}
    return [word for name, value in given.items() for word in ([name] if value is True else [name, str(value)])]


def carry_out(node: str, words: str, *command: str) -> str:
    done = finished(words, lambda: current().cluster.node(node).run(list(command)))
    if done.returncode != 0:
        raise Unexpected(words, error_of(done), where())
    return done.stdout


def repartition(node: str, gpu: int, want: str, within: float = RELEASE_SECONDS) -> None:
    """A layout for a GPU that partition() is to undo; tried again while it is blocked: who held a slice is known to
    have gone a moment after the pod has."""
    words = f"partition GPU {gpu} of node {node} anew into {want}"
    command = ["partita", "mig", "apply", "--gpu", str(gpu), "--yes", "--want", want]
    deadline = time.monotonic() + within
    with step(words):
        while (done := finished(words, lambda: current().cluster.node(node).run(command))).returncode == BLOCKED:
            if time.monotonic() > deadline:
                raise Unexpected(f"{words} within {within:g} s", error_of(done), where())
            time.sleep(POLL_SECONDS)
        if done.returncode != 0:
            raise Unexpected(words, error_of(done), where())


# ---- who has them ----

CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
LISTED = re.compile(r"^(GPU|  MIG) .*\(UUID: ((?:GPU|MIG)-[0-9a-f-]+)\)$")


def given(name: str, on: str) -> list[str]:
    """The GPUs and slices that kubelet has given to a pod, by UUID; of shares, what they are shares of."""
    return sorted({device.split("::")[0] for device in given_ids(name, on)})


def given_ids(name: str, on: str) -> list[str]:
    """The same, by the ids that kubelet has for them: each share has its own."""
    words = f"devices of pod {name}"
    with step(words):
        uid = field("pod", name, "metadata", "uid").look()
        entries = json.loads(carry_out(on, words, "cat", CHECKPOINT))["Data"]["PodDeviceEntries"] or []
        return sorted(
            device for entry in entries if entry["PodUID"] == uid
            for devices in entry["DeviceIDs"].values() for device in devices
        )


def nvml_in(name: str) -> list[str]:
    """What NVML lists in a pod, by UUID: slices, and GPUs of which it lists no slice."""
    words = f"what NVML lists in pod {name}"
    with step(words):
        done = finished(words, lambda: current().cluster.kubectl(
            f"--namespace={current().namespace}", "exec", name, "--", "nvidia-smi", "-L"
        ))
        if done.returncode != 0:
            raise Unexpected(words, error_of(done), where())
        return listed(done.stdout)


def listed(text: str) -> list[str]:
    found: list[str] = []
    for line in text.splitlines():
        match = LISTED.match(line)
        if match is None:
            raise Unexpected("a list of GPUs by nvidia-smi -L", text, where())
        if match[1] != "GPU" and found and found[-1].startswith("GPU-"):
            found.pop()  # it is there for its slice
        found.append(match[2])
    return sorted(found)


# ---- who serves them ----


def serve(what: str, on: str, **settings: Any) -> None:
    """Starts the part of the stack that serves "gpus", "labels" or "claims" on a node. Settings of "gpus": mig
    (the strategy), replicas (of every GPU), strategy (of device lists), config (the device plugin's v1 document: a
    dictionary, or text), mps (a pod has the daemons of what `config` shares by MPS)."""
    bench = current()
    words = f"serve {what} on node {on} with {bench.stack.name}'s stack"
    bench.stack.check(what, settings)
    with step(words):
        bench.served = True
        node, part = bench.cluster.node(on), bench.stack.part(what)
        bench.forget_undo(words)  # of before dismiss()
        bench.undo_at_end(
            words, lambda: end_service(what, on), begin=lambda: part.begin_to_withdraw(bench.cluster, node)
        )
        bench.stack.serve(what, bench.cluster, node, settings)


def withdraw(what: str, on: str) -> None:
    """Ends what serve() started, and removes what that has left."""
    with step(f"withdraw {what} on node {on}"):
        end_service(what, on)
        current().forget_undo(f"serve {what} on node {on} with {current().stack.name}'s stack")


def dismiss(what: str, on: str) -> None:
    """What serve() started ends, as when somebody takes its DaemonSet away: what it wrote stays for the containers that
    were given something, and the node offers nothing. serve() begins it anew."""
    with step(f"dismiss who serves {what} on node {on}"):
        part = current().stack.part(what)
        part.end(current().cluster, current().cluster.node(on))
        expect_nothing(part, on)


def end_service(what: str, node: str) -> None:
    """Returns when the node no longer offers what was served: a later wait must not see it any more."""
    stack = current().stack
    stack.withdraw(what, current().cluster, current().cluster.node(node))
    expect_nothing(stack.part(what), node)


def expect_nothing(part: Any, node: str) -> None:
    for beginning in part.resources:
        wait_for(offered(beginning, on=node), 0)
