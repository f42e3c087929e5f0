"""Our program under the name nvidia-mig-parted beside NVIDIA's: the same question to both, on the same node
from the same start. What a script can rely on is equal: the exit status, what is on standard output, and
whether anything is on standard error. Where we differ on purpose, both answers are asserted, so that a change
of either is noticed."""

import dataclasses
import os

from harness.node import build_config, spec
from support.refusal import check_whole
from support.shell import Failure, last_words

GOOD = """\
version: v1
mig-configs:
  none:
  - {devices: all, mig-enabled: false}
"""


@dataclasses.dataclass(frozen=True)
class Question:
    """What is asked. `{name}` in a word is the path of that file among `files`."""

    name: str
    words: tuple
    env: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    stdin: str | None = None


def ask(name, *words, env=None, files=None, stdin=None):
    return Question(name, words, env or {}, files or {}, stdin)


def entry(text):
    """A file with one configuration of one entry."""
    return f"version: v1\nmig-configs:\n  a:\n  - {text}\n"


# ---- the questions ----

CONFIG = {"config": GOOD}

# Equal to the byte on standard output.
EQUAL = [
    ask("an unknown command", "bogus"),
    ask("an unknown help topic", "help", "bogus"),
    ask("a configuration file that is absent", "apply", "-f", "/nonexistent", "-c", "none"),
    ask("a configuration file that is a directory", "apply", "-f", "/tmp", "-c", "none"),
    ask("an empty file", "assert", "-f", "{bad}", files={"bad": ""}),
    ask("a file with a version alone", "assert", "-f", "{bad}", files={"bad": "version: v1\n"}),
    ask("a file without a version", "assert", "-f", "{bad}", files={"bad": "mig-configs: {}\n"}),
    ask("an unknown version", "assert", "-f", "{bad}", files={"bad": "version: v2\n"}),
    ask("no configuration", "assert", "-f", "{bad}", files={"bad": "version: v1\nmig-configs: {}\n"}),
    ask("a file that is no YAML", "apply", "-f", "{bad}", files={"bad": "version: v1\nmig-configs: [\n"}),
    ask("a file that is no text", "apply", "-f", "{bad}", files={"bad": "\0\1"}),
    ask("an unknown key", "assert", "-f", "{bad}", files={"bad": entry("{devices: all, mig-enabled: false, x: 1}")}),
    ask("no devices", "assert", "-f", "{bad}", files={"bad": entry("{mig-enabled: false}")}),
    ask("devices that are no list", "assert", "-f", "{bad}", files={"bad": entry("{devices: x, mig-enabled: false}")}),
    ask("MIG on without devices", "assert", "-f", "{bad}", files={"bad": entry("{devices: all, mig-enabled: true}")}),
    ask("a profile that is none", "assert", "-f", "{bad}",
        files={"bad": entry("{devices: all, mig-enabled: true, mig-devices: {bad: 1}}")}),
    ask("a negative count", "assert", "-f", "{bad}",
        files={"bad": entry("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}")}),
    ask("counts that are all zero", "assert", "-f", "{bad}",
        files={"bad": entry("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}")}),
    ask("JSON", "assert", "-f", "{config}", files={
        "config": build_config({"none": [spec("all", None)]})}),
    ask("a file with a byte order mark", "assert", "-f", "{config}", files={"config": "\ufeff" + GOOD}),
    ask("an unknown configuration", "apply", "-f", "{config}", "-c", "bogus", files=CONFIG),
    ask("no configuration chosen of two", "apply", "-f", "{config}", files={
        "config": GOOD + "  other:\n  - {devices: all, mig-enabled: false}\n"}),
    ask("no configuration chosen of one", "assert", "-f", "{config}", files=CONFIG),
    ask("an empty choice over the environment's", "assert", "-f", "{config}", "-c", "",
        env={"MIG_PARTED_SELECTED_CONFIG": "none"}, files={
            "config": GOOD + "  other:\n  - {devices: all, mig-enabled: false}\n"}),
    ask("from standard input", "assert", "-f", "-", "-c", "none", stdin=GOOD),
    ask("GPUs that are not here", "assert", "-f", "{far}", files={"far": entry("{devices: [99], mig-enabled: false}")}),
    ask("no GPUs", "assert", "-f", "{far}", files={"far": entry("{devices: [], mig-enabled: false}")}),
    ask("modes of GPUs that are not here", "assert", "-m", "-f", "{far}",
        files={"far": entry("{devices: [99], mig-enabled: true, mig-devices: {}}")}),
    ask("apply to GPUs that are not here", "apply", "-f", "{far}",
        files={"far": entry("{devices: [99], mig-enabled: true, mig-devices: {}}")}),
    ask("MIG on a GPU without", "apply", "-f", "{bad}",
        files={"bad": entry("{devices: [0], mig-enabled: true, mig-devices: {}}")}),
    # Flags and variables.
    ask("long flags with one dash", "assert", "-config-file", "{config}", "-selected-config=none", files=CONFIG),
    ask("a flag twice", "assert", "-f", "/nonexistent", "-f", "{config}", files=CONFIG),
    ask("letters together", "assert", "-f", "{config}", "-ma", files=CONFIG),
    ask("a switch with a value", "assert", "-f", "{config}", "--mode-only=false", files=CONFIG,
        env={"MIG_PARTED_MODE_CHANGE_ONLY": "true"}),
    ask("a switch by variable", "assert", "-f", "{config}", env={"MIG_PARTED_MODE_CHANGE_ONLY": "T"}, files=CONFIG),
    ask("a switch off by variable", "assert", "-f", "{config}", env={"MIG_PARTED_MODE_CHANGE_ONLY": "0"}, files=CONFIG),
    ask("an empty variable", "assert", "-f", "{config}", env={"MIG_PARTED_MODE_CHANGE_ONLY": ""}, files=CONFIG),
    ask("file and name by variable", "assert", files=CONFIG,
        env={"MIG_PARTED_CONFIG_FILE": "{config}", "MIG_PARTED_SELECTED_CONFIG": "none"}),
    ask("flags win over variables", "assert", "-c", "none", files=CONFIG,
        env={"MIG_PARTED_CONFIG_FILE": "{config}", "MIG_PARTED_SELECTED_CONFIG": "bogus"}),
    ask("valid, by variable", "assert", "-f", "{config}", env={"MIG_PARTED_VALID_CONFIG": "true"}, files=CONFIG),
    ask("valid, for other GPUs", "assert", "-a", "-f", "{other}",
        files={"other": entry("{devices: all, mig-enabled: true, mig-devices: {5g.50gb: 1}}")}),
    ask("a global flag before the command", "--debug=false", "export"),
    ask("two dashes before the command", "--", "export"),
    ask("export", "export"),
    ask("export as JSON", "export", "-o", "json"),
    ask("export by variables", "export", env={"MIG_PARTED_OUTPUT_FORMAT": "json", "MIG_PARTED_CONFIG_LABEL": "now"}),
    ask("export under an empty label", "export", "-l", ""),
    ask("a word that export does not take", "export", "word"),
    # Checkpoints and hooks.
    ask("a checkpoint that cannot be written", "checkpoint", "-f", "/nonexistent/file"),
    ask("a checkpoint that is absent", "restore", "-f", "/nonexistent"),
    ask("a checkpoint that is empty", "restore", "-f", "{bad}", files={"bad": ""}),
    ask("a checkpoint that is no JSON", "restore", "-f", "{bad}", files={"bad": "{"}),
    ask("a checkpoint of nothing", "restore", "-f", "{state}", files={
        "state": '{"Version":"v1","MigState":{"Devices":null}}'}),
    ask("no hooks file", "apply", "-f", "{config}", "-k", "", files=CONFIG),
    ask("a hooks file that is absent", "apply", "-f", "{config}", "-k", "/nonexistent", files=CONFIG),
    ask("an empty hooks file", "apply", "-f", "{config}", "-k", "{hooks}", files={**CONFIG, "hooks": ""}),
    ask("a hooks file that is no YAML", "apply", "-f", "{config}", "-k", "{hooks}", files={**CONFIG, "hooks": "["}),
]


def hook(point, command):
    return f"version: v1\nhooks:\n  {point}:\n  - {{command: {command}}}\n"


EQUAL += [
    ask(f"a hook: {name}", "apply", "-f", "{config}", "-k", "{hooks}", files={**CONFIG, "hooks": text})
    for name, text in {
        "fails at first": hook("apply-start", "/bin/false"),
        "fails at last": hook("apply-exit", "/bin/false"),
        "fails before a change that is not needed": hook("pre-apply-mode", "/bin/false"),
        "is absent": hook("apply-start", "/nonexistent"),
        "is found by name": hook("apply-start", "'true'"),
        "is of a point that does not exist": hook("bogus", "/bin/false"),
        "has no command": "version: v1\nhooks:\n  apply-start:\n  - {args: [x]}\n",
        "prints": hook("apply-start", "/bin/sh, args: ['-c', 'echo out; echo err >&2']"),
        "reads": hook("apply-start", "/bin/cat"),
        "is killed": hook("apply-start", "/bin/sh, args: ['-c', 'kill -9 $$']"),
        "works nowhere": hook("apply-start", "/bin/true, workdir: /nonexistent"),
    }.items()
]

# Help on standard output, in other words than the reference's.
HELP = [
    ask("no command"),
    ask("help", "help"),
    ask("help of a command", "help", "apply"),
    ask("--help", "--help"),
    ask("-h behind a command", "apply", "-h"),
    ask("help behind a command", "apply", "help"),
    ask("an unknown flag", "--bogus"),
    ask("an unknown flag of a command", "apply", "--bogus"),
    ask("a flag without its value", "apply", "-f"),
    ask("a bad truth value", "assert", "--mode-only=maybe"),
    ask("a bad truth value in a variable", "assert", env={"MIG_PARTED_MODE_CHANGE_ONLY": "maybe"}),
    ask("apply of nothing", "apply"),
    ask("apply of an empty name", "apply", "-f", ""),
    ask("assert of nothing", "assert"),
    ask("checkpoint to nowhere", "checkpoint"),
    ask("restore from nowhere", "restore"),
    ask("an unknown output format", "export", "-o", "xml"),
    ask("a flag behind a word", "apply", "word", "-f", "{config}", files=CONFIG),
    ask("the version", "--version"),
    ask("the version, by letter", "-v"),
]

# Question, status of the reference, our status: docs/nvidia-mig-parted.md has the reasons.
ON_PURPOSE = [
    (ask("a key twice", "assert", "-f", "{bad}",
         files={"bad": GOOD + "  none:\n  - {devices: all, mig-enabled: false}\n"}), 0, 1),
    (ask("two documents in a file", "assert", "-f", "{bad}", files={"bad": GOOD + "---\n" + GOOD}), 0, 1),
    (ask("a board without quotes", "assert", "-f", "{config}",
         files={"config": entry("{device-filter: 0x20B010DE, devices: all, mig-enabled: false}")}), 1, 0),
    (ask("a checkpoint without a version", "restore", "-f", "{bad}", files={"bad": "{}"}), 0, 1),
    (ask("a checkpoint of another machine", "restore", "-f", "{state}", files={
        "state": '{"Version":"v1","MigState":{"Devices":[{"UUID":"GPU-0","MigMode":0,"GpuInstances":null}]}}'}), 0, 1),
    (ask("a hooks file without a version", "apply", "-f", "{config}", "-k", "{hooks}",
         files={**CONFIG, "hooks": "hooks: {}\n"}), 0, 1),
    (ask("an unknown key in a hook", "apply", "-f", "{config}", "-k", "{hooks}",
         files={**CONFIG, "hooks": hook("apply-start", "/bin/true, bogus: 1")}), 0, 1),
    (ask("a global flag behind the command", "export", "-d"), 1, 0),
    (ask("generate-config, which v0.13 lacks", "generate-config"), 3, 0),
]


# ---- asking ----


class DropIn:
    """Both programs on one node."""

    def __init__(self, context, session, node):
        self._context = context
        self._session = session
        self._node = node
        self._link = context.scratch("nvidia-mig-parted")
        os.symlink(context.partita, self._link)
        self._ours = {"PARTITA_RUN_DIR": context.scratch("run"), "PARTITA_STATE_DIR": context.scratch("state")}

    def both(self, question):
        """The reference's answer and ours."""
        paths = {name: self._context.scratch(f"{name}.yaml") for name in question.files}
        for name, text in question.files.items():
            with open(paths[name], "w", encoding="utf-8") as file:
                file.write(text)
        words = [word.format(**paths) if "{" in word else word for word in question.words]
        env = {name: value.format(**paths) for name, value in question.env.items()}
        program = self._context.programs["nvidia-mig-parted"]
        reference = self._node.run([program, *words], proc_modules=True, env=env, stdin=question.stdin)
        ours = self._node.run([self._link, *words], env={**env, **self._ours}, stdin=question.stdin)
        check_whole(reference)
        check_whole(ours)
        return reference, ours

    def equal(self, question, *, exactly=True):
        with self._session.case(f"as the reference: {question.name}"):
            reference, ours = self.both(question)
            same_status(reference, ours)
            if exactly and reference.stdout != ours.stdout:
                raise Failure(f"standard output: NVIDIA's {reference.stdout!r}, ours {ours.stdout!r}")
            if bool(reference.stdout) != bool(ours.stdout):
                raise Failure(f"standard output: NVIDIA's {reference.stdout!r}, ours {ours.stdout!r}")
            if reference.returncode != 0 and bool(reference.stderr) != bool(ours.stderr):
                raise Failure(f"standard error: NVIDIA's {reference.stderr!r}, ours {ours.stderr!r}")

    def differs(self, question, theirs, mine):
        with self._session.case(f"unlike the reference: {question.name}"):
            reference, ours = self.both(question)
            if (reference.returncode, ours.returncode) != (theirs, mine):
                raise Failure(f"exit {reference.returncode} and {ours.returncode}, not {theirs} and {mine}: "
                              f"{last_words(ours)}")


def same_status(reference, ours):
    if reference.returncode != ours.returncode:
        raise Failure(f"exit status: NVIDIA's {reference.returncode} ({last_words(reference)}), "
                      f"ours {ours.returncode} ({last_words(ours)})")


def judge(context, session, node):
    """All questions on the node that has GPUs with and without MIG; exports on every node."""
    drop_in = DropIn(context, session, node)
    exports(context, session, node, drop_in)
    if node.profile != "mixed":
        return
    for question in EQUAL:
        drop_in.equal(question)
    for question in HELP:
        drop_in.equal(question, exactly=False)
    for question, theirs, mine in ON_PURPOSE:
        drop_in.differs(question, theirs, mine)
    without_driver(context, node, drop_in)


def exports(context, session, node, drop_in):
    """Layouts of several kinds, exported as YAML and JSON to the byte; and checkpoints that either restores."""
    product, capable = node.facts.product, node.facts.capable
    layouts = {
        "slices on the first GPU": [spec(capable[:1], {product.plain(1).name: 2, product.plain(3).name: 1})],
        "compute instances": [spec(capable[:1], {f"1c.{product.plain(3).name}": 2})],
        "one kind everywhere": [spec(capable, {product.plain(2).name: 3})],
    }
    for name, layout in layouts.items():
        node.apply(layout)
        drop_in.equal(ask(f"export of {name}", "export"))
        drop_in.equal(ask(f"export of {name} as JSON", "export", "-o", "json"))
    checkpoint = context.scratch("either.json")
    drop_in.equal(ask("checkpoint", "checkpoint", "-f", checkpoint))
    node.apply([spec(capable, {})])
    drop_in.equal(ask("restore of our checkpoint", "restore", "-f", checkpoint))
    drop_in.equal(ask("restore of modes alone", "restore", "-m", "-f", checkpoint))
    drop_in.equal(ask("export of what was restored", "export"))
    node.apply([spec("all", None)])


def without_driver(context, node, drop_in):
    """No driver is loaded. (A checkpoint names GPUs by UUID, which the driver alone knows.)"""
    on = entry(f"{{devices: {node.facts.capable}, mig-enabled: true, mig-devices: {{}}}}")
    node.sim("driver", "unload", "--node", node.name)
    try:
        for question in [
            ask("no driver: export", "export"),
            ask("no driver: assert", "assert", "-f", "{config}", files=CONFIG),
            ask("no driver: assert of modes", "assert", "-m", "-f", "{config}", files=CONFIG),
            ask("no driver: assert of other modes", "assert", "-m", "-f", "{config}", files={"config": on}),
            ask("no driver: a valid file", "assert", "-a", "-f", "{config}", files=CONFIG),
            ask("no driver: apply", "apply", "-f", "{config}", files=CONFIG),
            ask("no driver: apply of modes", "apply", "-m", "-f", "{config}", files=CONFIG),
            ask("no driver: checkpoint", "checkpoint", "-f", context.scratch("none.json")),
            ask("no driver: restore", "restore", "-f", context.scratch("either.json")),
            ask("no driver: restore of modes", "restore", "-m", "-f", context.scratch("either.json")),
        ]:
            drop_in.equal(question)
    finally:
        node.sim("driver", "load", "--node", node.name)
