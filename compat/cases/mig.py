"""nvidia-mig-parted judges our MIG changes: what partita made is what NVIDIA's own `assert` finds.

Also side by side: changes at which the reference fails or disturbs others, and partita does not. The
reference's failure is asserted too, so that we notice when a newer one no longer fails.
"""

import dataclasses
import json
import os

from cases.mig_parted import assert_fails, check_assert, expected_export, layout_of, write
from harness.node import spec
from support.refusal import check_refusal
from support.shell import Failure, last_words

NAME = "mig"
NEEDS_NODE = True
ONLY_ON = ["dgx-a100-40"]  # the machine of the user documents

MIX = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
CHANGES = ("nvmlDeviceSetMigMode", "nvmlDeviceCreate", "nvmlGpuInstanceCreate", "Destroy")


def judge(context, session, node):
    programs = make_programs(context, node)
    user_documents(context, session, node, programs)
    comparisons = Comparisons(context, session, node, programs)
    comparisons.busy_slice()
    comparisons.busy_slice_met_last()
    comparisons.order_of_creation()
    comparisons.profile_of_other_boards()
    comparisons.more_than_fits()
    comparisons.one_wrong_mode()
    comparisons.one_wrong_mode_beside_work()
    session.log.write("\n=== side by side\n" + "\n".join(comparisons.lines))


# ---- programs ----


class Program:
    """A way to change a node's partitions: by our verbs or by the reference's command line."""

    def __init__(self, context, node, command, reference=False):
        self.name = "reference" if reference else " ".join([os.path.basename(command[0]), *command[1:]])
        self._node = node
        self._command = command
        self._reference = reference
        self._calls = context.scratch("calls")
        self._environment = {"PARTITA_SIM_CALLS": self._calls, "PARTITA_RUN_DIR": context.scratch("run"),
                             "PARTITA_STATE_DIR": context.scratch("state")}

    def run(self, *arguments):
        if os.path.exists(self._calls):
            os.remove(self._calls)
        return self._node.run(
            [*self._command, *arguments],
            timeout=120, proc_modules=self._reference, env=self._environment,
        )

    def check(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            raise Failure(f"{self.name} {arguments[0]}: {last_words(done)}")
        return done

    def apply(self, path, label):
        """Applies, and says what came of it: no exception, whatever the program does."""
        before = look(self._node)
        done = self.run("apply", "-f", path, "-c", label)
        return Outcome(self.name, done, before, look(self._node), changing_calls(self._calls))


@dataclasses.dataclass(frozen=True)
class Programs:
    reference: Program
    partita: Program
    drop_in: Program

    @property
    def ours(self):
        return self.partita, self.drop_in


def make_programs(context, node):
    link = context.scratch("nvidia-mig-parted")
    os.symlink(context.partita, link)
    return Programs(
        Program(context, node, [context.programs["nvidia-mig-parted"]], reference=True),
        Program(context, node, [context.partita, "mig"]),
        Program(context, node, [link]),
    )


# ---- what happened ----


@dataclasses.dataclass(frozen=True)
class Seen:
    """One GPU, from the simulator's own state: no library that is judged is asked."""

    mig: bool
    resets: int
    instances: dict  # (profile, start) -> GPU instance id

    def devices(self):
        names = [profile for profile, _ in self.instances]
        return {name: names.count(name) for name in sorted(set(names))} if self.mig else None


def look(node):
    document = json.loads(node.sim("show", "--node", node.name, "--output", "json").stdout)
    seen = []
    for gpu in document["gpus"]:
        instances = {(i["profile"], i["start"]): i["id"] for i in gpu["mig"]["instances"]}
        seen.append(Seen(gpu["mig"]["current"], gpu["resets"], instances))
    return seen


def changing_calls(path):
    """(function, GPU index) of every successful call that changes a mode or an instance."""
    calls = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            _, _, function, gpu, code, *_ = line.split()
            if code == "rc=0" and any(word in function for word in CHANGES):
                calls.append((function, int(gpu.removeprefix("gpu="))))
    return calls


@dataclasses.dataclass(frozen=True)
class Outcome:
    name: str
    done: object
    before: list
    after: list
    calls: list

    def applied(self):
        return self.done.returncode == 0

    def reset(self):
        pairs = enumerate(zip(self.before, self.after))
        return {index for index, (old, new) in pairs if old.resets != new.resets}

    def touched(self):
        """GPUs that were reset or of which a mode or an instance was changed."""
        return self.reset() | {gpu for _, gpu in self.calls}

    def destroyed(self):
        return sum(function == "nvmlGpuInstanceDestroy" for function, _ in self.calls)

    def summary(self):
        return (
            f"  {self.name}: exit {self.done.returncode}; touched GPUs {sorted(self.touched())}, "
            f"reset {sorted(self.reset())}; destroyed {self.destroyed()} GPU instances\n"
            f"    GPU 0 before {shown(self.before[0])}, after {shown(self.after[0])}\n"
            f"    last words: {last_words(self.done)}"
        )


def shown(seen):
    if not seen.mig:
        return "MIG off"
    places = sorted(seen.instances, key=lambda place: place[1])
    return " ".join(f"{name}@{start}" for name, start in places) or "empty"


# ---- the configurations of the user documents ----


def user_documents(context, session, node, programs):
    """Each is made by our verbs and by the reference's command line; before, another one was there."""
    gpus = node.facts.capable
    own = write(context, {
        "mix": [spec("all", MIX)],
        "half": [spec(gpus[:4], None), spec(gpus[4:], MIX)],
    })
    default = context.default_configurations
    half = {index: MIX if index in gpus[4:] else None for index in gpus}
    wanted = [
        ("56 x 1g.5gb", default, "all-1g.5gb", everywhere(gpus, {"1g.5gb": 7})),
        ("24 x 2g.10gb", default, "all-2g.10gb", everywhere(gpus, {"2g.10gb": 3})),
        ("16 x 3g.20gb", default, "all-3g.20gb", everywhere(gpus, {"3g.20gb": 2})),
        ("16 x 1g.5gb, 8 x 2g.10gb, 8 x 3g.20gb", own, "mix", everywhere(gpus, MIX)),
        ("4 full GPUs, 8 x 1g.5gb, 4 x 2g.10gb, 4 x 3g.20gb", own, "half", half),
        ("all-balanced", default, "all-balanced", everywhere(gpus, MIX)),
        ("all-disabled", default, "all-disabled", everywhere(gpus, None)),
    ]
    for program in programs.ours:
        for name, path, label, layout in wanted:
            with session.case(f"{name} by {program.name}"):
                makes(node, programs, program, path, label, layout)


def everywhere(gpus, devices):
    return {index: devices for index in gpus}


def makes(node, programs, program, path, label, layout):
    if not assert_fails(node, path, label):
        raise Failure("NVIDIA's assert finds it applied before anything was done")
    program.check("apply", "-f", path, "-c", label)
    check_assert(node, path, label)
    program.check("assert", "-f", path, "-c", label)
    found = {index: seen.devices() for index, seen in enumerate(look(node))}
    if found != layout:
        raise Failure(f"the simulator holds {found}")
    exported = json.loads(programs.reference.check("export", "-o", "json").stdout)
    if layout_of(exported, node) != expected_export(node.facts, layout):
        raise Failure(f"NVIDIA's export: {exported}")
    ours = json.loads(programs.drop_in.check("export", "-o", "json").stdout)
    if ours != exported:
        raise Failure(f"exports differ: NVIDIA's {exported}, ours {ours}")
    again = program.apply(path, label)
    if not again.applied() or again.touched():
        raise Failure(f"a second apply changed GPUs {sorted(again.touched())}")


# ---- side by side ----


class Comparisons:
    """From the same start the same request: first to the reference, then to each of our names."""

    def __init__(self, context, session, node, programs):
        self._context = context
        self._session = session
        self._node = node
        self._programs = programs
        self._rest = node.facts.capable[1:]
        self.lines = []  # of what came of it

    def busy_slice(self):
        """The job's slice and one more match the request, a third is to be cut up."""
        start = self._first({"1g.5gb": 1, "2g.10gb": 1, "3g.20gb": 1})
        wanted = self._first({"1g.5gb": 5, "2g.10gb": 1})
        with self._case("one slice busy"):
            reference = self._beside_job(self._programs.reference, start, wanted, "1g.5gb", 0)
            must_refuse(reference, "ERROR_IN_USE")
            for program in self._programs.ours:
                outcome = self._beside_job(program, start, wanted, "1g.5gb", 0)
                self._must_make(outcome)
                if outcome.destroyed() != 1:
                    raise Failure(f"{outcome.name} destroyed {outcome.destroyed()} instances, not one")

    def busy_slice_met_last(self):
        """The reference destroys everything idle before it meets the slice that is in use."""
        start = self._first({"1g.5gb": 2, "3g.20gb": 1})
        wanted = self._first({"1g.5gb": 3, "3g.20gb": 1})
        with self._case("a slice added beside a busy one"):
            reference = self._beside_job(self._programs.reference, start, wanted, "3g.20gb", 0)
            must_refuse(reference, "ERROR_IN_USE")
            left = reference.after[0].devices()
            if left != {"3g.20gb": 1}:
                raise Failure(f"the reference, which wiped what was idle, now leaves {left}")
            for program in self._programs.ours:
                outcome = self._beside_job(program, start, wanted, "3g.20gb", 0)
                self._must_make(outcome)
                if outcome.destroyed():
                    raise Failure(f"{outcome.name} destroyed GPU instances to add one")

    def order_of_creation(self):
        """Six single slices and one of double memory: the driver's default places leave no room."""
        start = self._first({"3g.20gb": 1})
        wanted = self._first({"1g.5gb": 6, "1g.10gb": 1})
        with self._case("no order of creation works without placements"):
            reference = self._from(self._programs.reference, start, wanted)
            must_refuse(reference, "all orderings failed")
            if reference.after[0].instances:
                left = shown(reference.after[0])
                raise Failure(f"the reference, which left the GPU empty, now leaves {left}")
            for program in self._programs.ours:
                outcome = self._from(program, start, wanted)
                self._must_make(outcome)
                places = {("1g.5gb", slice_) for slice_ in range(6)} | {("1g.10gb", 6)}
                if set(outcome.after[0].instances) != places:
                    raise Failure(f"{outcome.name} made {shown(outcome.after[0])}")

    def profile_of_other_boards(self):
        """The reference drops a profile that the GPU lacks, and so makes nothing, with success."""
        start, wanted = self._first({"1g.5gb": 2, "3g.20gb": 1}), self._first({"1g.18gb": 1})
        with self._case("a profile that the GPU lacks"):
            reference = self._from(self._programs.reference, start, wanted)
            if not reference.applied() or reference.after[0].devices() != {} or reference.destroyed() != 3:
                raise Failure(f"the reference, which wiped the GPU with success, now: {reference.summary()}")
            self._ours_leave_alone(start, wanted, "1g.18gb")

    def more_than_fits(self):
        start, wanted = self._first({"1g.5gb": 2, "3g.20gb": 1}), self._first({"3g.20gb": 3})
        with self._case("more than fits"):
            reference = self._from(self._programs.reference, start, wanted)
            if reference.applied() or reference.after[0].devices() != {} or not reference.destroyed():
                raise Failure(f"the reference, which wiped the GPU and failed, now: {reference.summary()}")
            self._ours_leave_alone(start, wanted, "3g.20gb")

    def one_wrong_mode(self):
        """One GPU has MIG off, the others are as wanted already."""
        start, wanted = self._wrong_mode()
        with self._case("one GPU in the wrong mode"):
            reference = self._from(self._programs.reference, start, wanted)
            everything = set(self._node.facts.capable)
            if not reference.applied() or reference.reset() != everything:
                raise Failure(f"the reference, which reset every GPU, now: {reference.summary()}")
            if reference.destroyed() != 7 * len(self._rest):
                raise Failure(f"the reference, which wiped the others, destroyed {reference.destroyed()}")
            for program in self._programs.ours:
                outcome = self._from(program, start, wanted)
                self._must_make(outcome)
                must_touch_first_alone(outcome)

    def one_wrong_mode_beside_work(self):
        start, wanted = self._wrong_mode()
        with self._case("one GPU in the wrong mode, another at work"):
            reference = self._beside_job(self._programs.reference, start, wanted, "1g.5gb", 1)
            must_refuse(reference, "In use by another client")
            for program in self._programs.ours:
                outcome = self._beside_job(program, start, wanted, "1g.5gb", 1)
                self._must_make(outcome)
                must_touch_first_alone(outcome)

    def _case(self, name):
        self.lines.append(f"{name}:")
        return self._session.case(name)

    def _first(self, devices):
        """A request for GPU 0; the others stay enabled and empty."""
        return [spec([0], devices), spec(self._rest, {})]

    def _wrong_mode(self):
        ones = {"1g.5gb": 7}
        return [spec([0], None), spec(self._rest, ones)], [spec("all", ones)]

    def _from(self, program, start, wanted):
        self._node.apply(start)
        return self._apply(program, wanted)

    def _apply(self, program, wanted):
        outcome = program.apply(write(self._context, {"wanted": wanted}), "wanted")
        self.lines.append(outcome.summary())
        return outcome

    def _beside_job(self, program, start, wanted, profile, gpu):
        """While a job uses the GPU's first instance of the profile, which must keep it."""
        self._node.apply(start)
        instances = look(self._node)[gpu].instances
        place = min(key for key in instances if key[0] == profile)
        with self._node.job(gpu, instances[place]) as job:
            outcome = self._apply(program, wanted)
            if outcome.after[gpu].instances.get(place) != instances[place]:
                raise Failure(f"{outcome.name} took away the slice of a running job")
            if job.poll() is not None:
                raise Failure(f"{outcome.name} ended the job")
        return outcome

    def _ours_leave_alone(self, start, wanted, reason):
        """What can never be is wrong input to partita; under the reference's name it fails as that does."""
        must_leave_alone(self._from(self._programs.partita, start, wanted), reason, status=2)
        must_leave_alone(self._from(self._programs.drop_in, start, wanted), reason, status=1)

    def _must_make(self, outcome):
        if not outcome.applied():
            raise Failure(f"{outcome.name}: exit {outcome.done.returncode}: {last_words(outcome.done)}")
        check_assert(self._node, self._context.scratch("mig-config.yaml"), "wanted")


def must_refuse(outcome, reason, status=1):
    try:
        check_refusal(outcome.done, reason, status=status)
    except Failure as failure:
        raise Failure(f"the {outcome.name} no longer fails with {reason!r}: {failure}: {outcome.summary()}") from None


def must_leave_alone(outcome, reason, status):
    must_refuse(outcome, reason, status)
    if outcome.touched() or outcome.before != outcome.after:
        raise Failure(f"{outcome.name} changed something before it refused: {outcome.summary()}")


def must_touch_first_alone(outcome):
    if outcome.touched() != {0}:
        raise Failure(f"{outcome.name} touched GPUs {sorted(outcome.touched())}, not GPU 0 alone")
