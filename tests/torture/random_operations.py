"""What happens to an agent and its node at random, an operation at a time, and what must hold after each."""

import collections
import json
import os
import subprocess
import time

import grpc

from agent_process import Control, Failure
from random_kubelet import PLUGIN, Pod, whole

GPUS = 8
LAYOUTS = ["none", "off", "1g.5gb:7", "1g.5gb:2,3g.20gb", "2g.10gb:3", "3g.20gb:2", "7g.40gb", "1g.5gb,2g.10gb"]
XIDS = ["13", "31", "43", "45", "48", "63", "74", "79", "94", "95", "119"]
CALLS = ["nvmlDeviceGetComputeMode", "nvmlDeviceGetMigMode", "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo_v2"]
# As long as this may pass between an answer of ours and kubelet's hearing why it was refused.
TOLD_SECONDS = 10
# An apply waits for a call that hangs, and then puts back what it did.
APPLY_SECONDS = 240


class Operations:
    def __init__(self, node, kubelet, random):
        self.node, self.kubelet, self.random = node, kubelet, random
        self.last = collections.deque(maxlen=50)
        self.counts = collections.Counter()
        self.may_restart = True
        self._begin = time.monotonic()
        self._serial = 0
        self._freed = collections.deque(maxlen=4)  # of pods that ended
        self._apply = None  # the process of a change that is under way
        self._undo = []  # (the step when it is due, arguments of partita-sim)
        self.steps = 0
        self._configured = {}
        self._configured_at = 0.0
        self.configure(enabled=True, strategy="mixed")

    # ---- the stream ----

    def happen(self):
        """One operation. Returns what it was."""
        self.steps += 1
        # Mostly pods. Another configuration makes most devices unhealthy for a minute: what is held in another shape.
        weighted = [
            (self.allocate, 40), (self.end_pod, 25), (self.wrong_request, 5), (self.watch_beside, 3),
            (self.restart_kubelet, 1), (self.upset_pod_resources, 1), (self.reconfigure, 1), (self.change_layout, 6),
            (self.fault, 3), (self.undo_fault, 5), (self.clear_health, 3), (self.look, 1),
        ]
        if self.may_restart:
            weighted += [(self.kill_agent, 1), (self.stop_agent, 1), (self.allocate_and_kill, 1)]
        operation = self.random.choices([each for each, _ in weighted], [weight for _, weight in weighted])[0]
        self.note(operation.__name__)
        begin = time.monotonic()
        self.note(operation.__name__, operation() or "")
        if time.monotonic() - begin > 3:
            print(f"{self.last[-1]} (took {time.monotonic() - begin:.1f} s)", flush=True)
        self.counts[operation.__name__] += 1
        if self.random.random() < 0.1:
            self.kubelet.trouble = None
        while self._undo and self._undo[0][0] <= self.steps:
            self.undo_fault()
        if self._apply and self._apply.poll() is not None:
            self.finish_layout()
        self.check_alive()

    def note(self, name, result=None):
        passed = time.monotonic() - self._begin
        if result is None:
            self.last.append(f"{passed:7.1f} s  {name}: under way")
        else:
            self.last[-1] = f"{passed:7.1f} s  {name}: {result}"

    def check_alive(self):
        if self.node.agent.poll() is not None:
            raise Failure(f"the agent ended by itself, status {self.node.agent.returncode}")

    # ---- pods ----

    def allocate(self):
        free = self.kubelet.free()
        if not free:
            return "nothing is free"
        # A hold lasts a minute: if every device had one, no layout could be changed any more.
        again = [(name, one) for name, ids in free.items() for one in ids if one in self._freed]
        if again and self.random.random() < 0.8:
            resource, one = self.random.choice(again)
            return self.give(resource, [one], 1)
        resource = self.random.choice(sorted(free))
        size = min(self.random.choice([1, 1, 1, 2, 2, 3, 4, 8]), len(free[resource]))
        return self.give(resource, free[resource], size)

    def give(self, resource, available, size):
        begin = time.monotonic()
        preferred = self.random.random() < 0.6
        required = self.random.sample(available, self.random.randrange(size + 1)) if self.random.random() < 0.3 else []
        offered = self.offered() if preferred else None
        try:
            ids = self.prefer(resource, available, required, size) if preferred else self.random.sample(available, size)
            cut = self.random.randrange(1, size) if size > 1 and self.random.random() < 0.2 else size
            containers = [part for part in (ids[:cut], ids[cut:]) if part]
            answers = self.kubelet.allocate(resource, containers)
        except grpc.RpcError as error:
            right = preferred and self.could_give(self.still(resource, available, offered), required, size)
            return self.refused(resource, available, error, begin, offered if right else None)
        self._serial += 1
        seen = time.monotonic() + self.random.choice([0, 0, 0, 0.5, 2])
        pod = Pod(f"pod-{self._serial}", resource, ids, seen, self.cut())
        self.kubelet.pods[pod.name] = pod
        for mine, other, held in self.kubelet.clashes(pod, self.slices()):
            raise Failure(f"{mine} was given to {pod.name} as {resource} while {other} has {held}")
        self.check_answers(containers, answers)
        self.counts["pods given devices"] += 1
        return f"{pod.name} has {' '.join(ids)} of {resource}"

    def prefer(self, resource, available, required, size):
        ids = self.kubelet.prefer(resource, available, required, size)
        if len(set(ids)) != len(ids) or not set(ids) <= set(available) or not set(required) <= set(ids):
            raise Failure(f"preferred {ids} of {available}, {size} with {required}")
        # One that answers with fewer leaves the rest to kubelet.
        left = [one for one in available if one not in ids]
        return ids[:size] + self.random.sample(left, max(0, size - len(ids)))

    def still(self, resource, available, offered):
        """Those of kubelet's list that the agent has: it may have withdrawn one a moment ago."""
        _, devices = offered[1].get(resource, (None, []))
        return [one for one in available if one in devices]

    def could_give(self, available, required, size):
        """Whether some of them go together where one share is the most: whole devices, if there are enough."""
        left = [one for one in available if one == whole(one)]
        return size == 1 or (len(left) >= size and set(required) <= set(left))

    def offered(self):
        """What the agent goes by when it prefers and allocates: its configuration, and which devices there are. On a
        busy machine another one may come into force between the two, however long ago it was written."""
        report = self.control().call("plugin.report")["report"]
        resources = {one["name"]: [one["shared"], sorted(each["id"] for each in one["devices"])]
                     for one in report["resources"]}
        return report["config"], resources

    def refused(self, resource, ids, error, begin, offered=None):
        """kubelet was told so, or is soon: what it is shown as healthy it gets. offered: by an agent that offered
        this, what was asked for was preferred and could be given: nothing may be wrong with how many there are."""
        said = f"{error.code().name}: {error.details()}"
        if "maximum request size for shared resources" in said and not (offered and offered == self.offered()):
            return said
        if not self.is_told(resource, ids, begin):
            raise Failure(f"{resource}: one of {ids} was refused and is healthy: {said}")
        return f"refused, and {resource} is listed otherwise: {said}"

    def is_told(self, resource, ids, begin):
        """Whether kubelet was told, or is soon, that it cannot have one of them or, without any, the resource."""
        end = time.monotonic() + TOLD_SECONDS
        while not self.kubelet.unwell_since(resource, ids, begin - 1):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def check_answers(self, containers, answers):
        settled = time.monotonic() - self._configured_at > 3
        if not settled or self._configured.get("list") != "cdi-cri":
            return
        path = os.path.join(self.node.environment["PARTITA_CDI_DIR"], "k8s.device-plugin.nvidia.com-gpu.json")
        with open(path, encoding="utf-8") as file:
            known = {device["name"] for device in json.load(file)["devices"]}
        for ids, names in zip(containers, answers, strict=True):
            wanted = {whole(one) for one in ids}
            if {name.removeprefix("k8s.device-plugin.nvidia.com/gpu=") for name in names} != wanted:
                raise Failure(f"asked for {ids}, given {names}")
            if not wanted <= known:
                raise Failure(f"given and not in {path}: {wanted - known}")

    def end_pod(self):
        known = self.kubelet.known()
        if not known:
            return "there is none"
        name = self.random.choice(known)
        self._freed.extend(self.kubelet.pods.pop(name).ids)
        return name

    def wrong_request(self):
        resources = sorted(self.kubelet.lists())
        if not resources:
            return "nobody to ask"
        resource, begin = self.random.choice(resources), time.monotonic()
        method, request, codes = self.random.choice([
            # a container with one device id that nobody has
            ("Allocate", b"\x0a\x0c\x0a\x0aGPU-nobody", {"INVALID_ARGUMENT"}),
            ("Allocate", self.random.randbytes(self.random.randrange(1, 200)), None),
            ("GetPreferredAllocation", self.random.randbytes(self.random.randrange(1, 200)), None),
            ("GetPreferredAllocation", b"\x0a\x08\x0a\x04GPU-\x18\x7f", None),
            ("Deallocate", b"", {"UNIMPLEMENTED"}),
            (None, self.random.randbytes(2000), None),
            (None, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00", None),
        ])
        if method is None:
            self.kubelet.speak_nonsense(resource, request)
            return f"{len(request)} bytes of nonsense to {resource}"
        try:
            self.kubelet.ask(resource, PLUGIN + method, request)
            code = "OK"
        except grpc.RpcError as error:
            code = error.code().name
        # A resource that goes meanwhile has closed its socket before kubelet hears of it.
        if codes and code not in codes and not self.is_told(resource, [], begin):
            raise Failure(f"{method} of nonsense to {resource}: {code}")
        return f"{method}: {code}"

    # ---- kubelet ----

    def watch_beside(self):
        for stream in [one for one in self.kubelet.beside if not one.open or self.random.random() < 0.3]:
            stream.close()
            self.kubelet.beside.remove(stream)
        resources = sorted(self.kubelet.lists())
        if resources and len(self.kubelet.beside) < 6:
            self.kubelet.watch_beside(self.random.choice(resources))
        return f"{len(self.kubelet.beside)} streams beside kubelet's"

    def restart_kubelet(self):
        self.kubelet.stop()
        time.sleep(self.random.choice([0, 0, 0.2, 1]))
        self.kubelet.start()

    def upset_pod_resources(self):
        self.kubelet.trouble = self.random.choice([None, None, "refused", "garbage"])
        return self.kubelet.trouble

    # ---- the configuration ----

    def reconfigure(self):
        if self.random.random() < 0.1:
            self.node.configure(self.random.choice(["version: partita/v9\n", "{", "offer: [\n"]))
            self._configured_at = time.monotonic()
            return "nonsense"
        sharing = None
        if self.random.random() < 0.6:
            devices = self.random.choice(["all", "all", self.random.randrange(1, 5), [0, 2, 5]])
            entry = {"name": "nvidia.com/gpu", "replicas": self.random.randrange(2, 5), "devices": devices}
            slices = {"name": "nvidia.com/mig-1g.5gb", "replicas": self.random.randrange(2, 4)}
            sharing = {
                "renameByDefault": self.random.random() < 0.4,
                "failRequestsGreaterThanOne": self.random.random() < 0.2,
                "resources": self.random.choice([[entry], [entry, slices], [slices]]),
            }
        return self.configure(
            enabled=self.random.random() < 0.93,
            strategy=self.random.choice(["none", "single", "mixed", "mixed", "mixed"]),
            sharing=sharing,
            listed=self.random.choice(["cdi-cri", "cdi-cri", "envvar", "volume-mounts", "cdi-annotations"]),
            policy=self.random.choice(["distributed", "packed", "spread"]),
            without=self.random.choice([None, None, None, self.random.randrange(GPUS)]),
            parents=self.random.random() < 0.1,
            xids=self.random.choice([{}, {}, {"31": "reset"}, {"94": "ignore", "48": "event"}]),
        )

    def configure(self, enabled, strategy, sharing=None, listed="cdi-cri", policy="distributed", without=None,
                  parents=False, xids=None):
        flags = {"migStrategy": strategy,
                 "plugin": {"deviceListStrategy": listed, "sharedDevicesAllocationPolicy": policy}}
        plugin = {"version": "v1", "flags": flags, **({"sharing": {"timeSlicing": sharing}} if sharing else {})}
        rules = [] if without is None else [{"select": {"index": without}, "via": "none"}]
        self._configured, self._configured_at = {"list": listed}, time.monotonic()
        said = {"devicePlugin": {"enabled": enabled, "config": plugin, "offerMigParents": parents},
                "offer": {"rules": rules}, "health": {"xids": xids or {}}}
        self.node.configure(json.dumps(
            {"version": "partita/v1", "node": {"kubeletRoot": self.kubelet.folder}, **said}
        ))
        return json.dumps(said)

    # ---- layouts ----

    def truth(self):
        return json.loads(self.node.sim("show", "--output", "json").stdout)["gpus"]

    def slices(self):
        """MIG devices that are there: their GPUs."""
        return {
            compute["uuid"]: gpu["uuid"]
            for gpu in self.truth() for instance in gpu["mig"]["instances"]
            for compute in instance["compute_instances"]
        }

    def cut(self):
        return {gpu["uuid"] for gpu in self.truth() if gpu["mig"]["current"]}

    def change_layout(self):
        if self._apply:
            return self.finish_layout()
        gpu, want = str(self.random.randrange(GPUS)), self.random.choice(LAYOUTS)
        self.begin_layout(gpu, want)
        if self.random.random() < 0.4:
            return f"{want} on GPU {gpu}, begun"
        return f"{want} on GPU {gpu}: {self.finish_layout()}"

    def begin_layout(self, gpu, want):
        with open(os.path.join(self.node.directory, "apply.log"), "w", encoding="utf-8") as log:
            self._apply = subprocess.Popen(
                self.node.inside(self.node.program("partita"), "mig", "apply", "--gpu", gpu, "--want", want, "--yes"),
                env=self.node.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def finish_layout(self):
        if not self._apply:
            return "none is under way"
        try:
            # It may wait for a call that hangs until somebody ends the fault.
            status = self._apply.wait(5)
        except subprocess.TimeoutExpired:
            self.clear_faults()
            status = self._apply.wait(APPLY_SECONDS)
        self._apply = None
        self.check_held()
        return f"apply ended with {status}"

    def check_held(self):
        """What a pod has is there: no slice of it went, no GPU of it has been cut."""
        slices, cut = self.slices(), self.cut()
        for pod in self.kubelet.pods.values():
            for device in {whole(one) for one in pod.ids}:
                if device.startswith("MIG-") and device not in slices:
                    raise Failure(f"{pod.name} has {device}, which is gone: {self.applied()}")
                if device.startswith("GPU-") and device in cut - pod.cut:
                    raise Failure(f"{pod.name} has {device}, which is in MIG mode now: {self.applied()}")

    def applied(self):
        with open(os.path.join(self.node.directory, "apply.log"), encoding="utf-8") as file:
            return file.read()

    # ---- faults ----

    def fault(self):
        gpu = str(self.random.randrange(GPUS))
        kind = self.random.choice(["xid", "xid", "slice", "slice", "lost", "hang", "fail", "slow", "count"])
        if kind == "xid":
            return self.break_node(["fault", "xid", self.random.choice(XIDS), "--gpu", gpu])
        if kind == "slice":
            return self.fault_in_slice()
        if kind == "lost":
            return self.break_node(["fault", "lost", "--gpu", gpu], ["fault", "clear", "--gpu", gpu])
        if kind == "count":
            value = self.random.choice([
                ("ecc-volatile-uncorrected", "2", "0"), ("rows-pending", "yes", "no"),
                ("recovery-action", "gpu-reset", "none"),
            ])
            return self.break_node(["set", "--gpu", gpu, f"{value[0]}={value[1]}"],
                                   ["set", "--gpu", gpu, f"{value[0]}={value[2]}"])
        how = {"hang": ["--hang"], "fail": ["--fail", "999"], "slow": ["--slow", "300", "--times", "4"]}[kind]
        return self.break_node(["fault", "call", self.random.choice(CALLS), "--gpu", gpu, *how],
                               ["fault", "clear", "--gpu", gpu])

    def fault_in_slice(self):
        parts = [(gpu["index"], instance["id"]) for gpu in self.truth() for instance in gpu["mig"]["instances"]]
        if not parts:
            return "no slice"
        gpu, instance = self.random.choice(parts)
        where = ["--gpu", str(gpu), "--gi", str(instance), *self.random.choice([[], ["--ci", "0"]])]
        return self.break_node(["fault", "xid", self.random.choice(XIDS), *where])

    def break_node(self, command, undo=None):
        done = self.node.sim(*command, check=False)
        if undo:
            self._undo.append((self.steps + self.random.randrange(1, 16), undo))
            self._undo.sort()
        return " ".join(command) + (f" ({done.stderr.strip()})" if done.returncode else "")

    def undo_fault(self):
        if not self._undo:
            return "nothing is broken"
        _, command = self._undo.pop(0)
        self.node.sim(*command, check=False)
        return " ".join(command)

    def clear_faults(self):
        while self._undo:
            self.undo_fault()
        self.node.sim("fault", "clear", "--all", check=False)

    def command(self, *arguments):
        return subprocess.run(
            self.node.inside(self.node.program("partita"), *arguments), env=self.node.environment,
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=APPLY_SECONDS,
        )

    def clear_health(self):
        which = self.random.choice(["all", "all", "all", str(self.random.randrange(GPUS)), *sorted(self.slices())[:2]])
        return f"{which}: {self.command('health', 'clear', which).returncode}"

    def look(self):
        done = self.command("health")
        if done.returncode not in (0, 3, 6):
            raise Failure(f"partita health: {done.returncode}: {done.stderr}")
        return f"health: {done.returncode}"

    # ---- the agent ----

    def arrive(self):
        """A change that was ordered is in the agent's hands, or over. One that finds no agent is carried out by the
        command itself, which knows nothing of pods that have started nothing yet."""
        while self._apply and self._apply.poll() is None and not self.state()["mig"]["changing"]:
            time.sleep(0.01)

    def state(self):
        return self.control().call("agent.state")

    def control(self):
        return Control(os.path.join(self.node.environment["PARTITA_RUN_DIR"], "agent.sock"))

    def kill_agent(self):
        self.arrive()
        self.node.agent.kill()
        self.node.agent.wait()
        return self.start_agent()

    def stop_agent(self):
        self.arrive()
        if self._apply:
            self.clear_faults()
        status = self.node.stop_agent(APPLY_SECONDS)
        if status:
            raise Failure(f"the agent ended with {status} after SIGTERM")
        return self.start_agent()

    def start_agent(self):
        end = time.monotonic() + TOLD_SECONDS
        while self.kubelet.lists():
            if time.monotonic() > end:
                raise Failure(f"streams of an agent that is gone: {self.kubelet.lists()}")
            time.sleep(0.01)
        time.sleep(self.random.choice([0, 0, 0.1, 1]))
        if self.random.random() < 0.3:
            self.fault()
        self.node.start_agent()
        return f"pid {self.node.agent.pid}"

    def allocate_and_kill(self):
        """A slice is given, the agent dies before it is on disk, and the next one is asked to take it."""
        free = {name: [one for one in ids if one.startswith("MIG-")] for name, ids in self.kubelet.free().items()}
        free = {name: ids for name, ids in free.items() if ids}
        if not free:
            return "no slice is free"
        resource = self.random.choice(sorted(free))
        self.arrive()
        given = self.give(resource, free[resource], 1)
        self.node.agent.kill()
        self.node.agent.wait()
        self.start_agent()
        slices = self.slices()
        taken = [whole(one) for pod in list(self.kubelet.pods.values())[-1:] for one in pod.ids]
        indexes = {gpu["uuid"]: str(gpu["index"]) for gpu in self.truth()}
        if not self._apply and taken and taken[0] in slices:
            self.begin_layout(indexes[slices[taken[0]]], "none")
            return f"{given}; killed; {self.finish_layout()}"
        return f"{given}; killed"
