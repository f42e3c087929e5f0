"""NVIDIA's nvml.h judges our declarations of NVML.

Two C programs are generated. The first includes one of our headers and prints, as numbers, the size
and offset of every field and the value of every constant that the header declares. The second
includes NVIDIA's header and asserts the same numbers at compile time, so a difference is a compiler
error that names it. What we declare under a name that NVIDIA does not know is an error too. The
prototypes of our functions are asserted in the same way.
"""

import os
import re
import shutil
import tempfile

from support.shell import Failure, check, run

NAME = "nvml.h"
NEEDS_NODE = False

# What we declare, and at least how many structs and constants the judge must find in it: a parser
# that silently finds nothing would pass everything.
HEADERS = {
    "sim/nvml/nvml_abi.h": {"structs": 20, "constants": 200},
    "src/hw/nvml/abi.h": {"structs": 10, "constants": 30},
}
# Where we declare functions, and at least how many the judge must find there.
PROTOTYPES = {"sim/nvml/nvml_calls.h": 100, "src/hw/nvml/abi.h": 40}
# Exported by every driver under these old names, but no longer in the header.
NOT_IN_HEADER = {"nvmlGetBlacklistDeviceCount", "nvmlGetBlacklistDeviceInfoByIndex"}

MARKER = re.compile(r'^# \d+ "([^"]*)"')
DEFINE = re.compile(r"^#define (\w+) (.+)$")
AGGREGATE = re.compile(r"typedef (?:struct|union)\s*\w*\s*\{(.*?)\}\s*(\w+)\s*;", re.S)
ENUM = re.compile(r"enum\s*\w*\s*(?::\s*\w+\s*)?\{(.*?)\}", re.S)
FIELD = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
DIFFERENCE = "NVIDIA differs from our"
FUNCTION = re.compile(r"([\w ]+[ *])(nvml\w+)\s*\(([^()]*)\)\s*;")
NUMBER = re.compile(r"^[\s\w()+\-*|<>&~]*$")


def judge(context, session):
    for header in HEADERS:
        with session.case(header):
            declared = compare(context.source, header, context.nvml_header, session.log)
            session.log.write(
                f"{len(declared.structs)} structs, {len(declared.constants)} constants agree"
            )
        for name, mutate in MUTATIONS.items():
            with session.case(f"{header}: a wrong {name} is noticed"):
                refuses_mutation(context, header, mutate, session.log)
    for header, least in PROTOTYPES.items():
        with session.case(f"{header}: prototypes"):
            functions = declarations(context.source, header, session.log).functions
            if len(functions) < least:
                raise Failure(f"found {len(functions)} functions, expected at least {least}")
            compare_prototypes(functions, context.nvml_header, session.log)
        with session.case(f"{header}: a wrong prototype is noticed"):
            wrong = {"nvmlShutdown": ("nvmlReturn_t", "unsigned int flags")}
            must_differ(lambda: compare_prototypes(wrong, context.nvml_header, session.log))


class QuietLog:
    """Commands only: the numbers of a thousand constants say nothing in a log."""

    def __init__(self, log):
        self._log = log

    def write(self, text):
        if text.startswith("$ "):
            self._log.write(text)


class Declarations:
    """Names that a header declares: struct -> fields, and constants."""

    def __init__(self, preprocessed, root):
        ours = own_lines(preprocessed, root)
        text = "\n".join(line for line in ours if not line.startswith("#"))
        self.structs = {name: fields(body) for body, name in AGGREGATE.findall(text)}
        self.functions = {name: (result.strip(), args) for result, name, args in FUNCTION.findall(text)}
        self.constants = [m[1] for m in map(DEFINE.match, ours) if m and NUMBER.match(m[2])]
        for body in ENUM.findall(text):
            self.constants += [item.split("=")[0].strip() for item in body.split(",") if item.strip()]


def own_lines(preprocessed, root):
    """The lines of `gcc -E -dD` that come from files below `root`, not from system headers."""
    lines, inside = [], False
    for line in preprocessed.splitlines():
        marker = MARKER.match(line)
        if marker:
            # The compiler's own names come from "<built-in>", which is no file.
            inside = marker[1].startswith(os.path.join(root, ""))
        elif inside:
            lines.append(line)
    return lines


def fields(body):
    """Field names of a struct body. Plain declarations only: the headers promise no nested types."""
    if "{" in body:
        raise Failure("a nested struct in our declarations: name it, so that it can be compared")
    names = []
    for declaration in body.split(";"):
        if declaration.strip():
            for part in declaration.split(","):
                names.append(FIELD.search(part.strip())[1])
    return names


def declarations(root, header, log):
    path = os.path.join(root, header)
    if not os.path.exists(path):
        raise Failure(f"{header} does not exist")
    done = check(["gcc", "-E", "-dD", "-x", "c", "-I", root, "-I", root + "/src", path], QuietLog(log))
    return Declarations(done.stdout, root)


def compare(root, header, nvml_header, log):
    """Raises Failure on any difference; returns what was compared."""
    declared = declarations(root, header, log)
    least = HEADERS[header]
    if len(declared.structs) < least["structs"] or len(declared.constants) < least["constants"]:
        raise Failure(
            f"{header}: found {len(declared.structs)} structs and {len(declared.constants)} constants, "
            f"expected at least {least['structs']} and {least['constants']}"
        )
    with tempfile.TemporaryDirectory() as folder:
        numbers = numbers_of_ours(declared, root, header, folder, log)
        compile_and_run("theirs", theirs(numbers, nvml_header), [], folder, log)
    return declared


def compare_prototypes(functions, nvml_header, log):
    """Every function has the type that NVIDIA declares (in C an enum and unsigned int are the same)."""
    asserts = "\n".join(
        f"_Static_assert(__builtin_types_compatible_p(__typeof__({name}), {result}({arguments})), "
        f'"{DIFFERENCE} {name}");'
        for name, (result, arguments) in functions.items()
        if name not in NOT_IN_HEADER
    )
    # Without the definition the header renames old functions to their newest version.
    program = (
        f'#define NVML_NO_UNVERSIONED_FUNC_DEFS\n#include "{nvml_header}"\n{asserts}\n'
        "int main(void) { return 0; }\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        compile_and_run("prototypes", program, [], folder, log)
    log.write(f"{len(functions)} prototypes agree")


def numbers_of_ours(declared, root, header, folder, log):
    """Expression -> number, by compiling and running a program against our header."""
    expressions = [f"(long long){name}" for name in declared.constants]
    for struct, names in declared.structs.items():
        expressions.append(f"sizeof({struct})")
        for name in names:
            expressions.append(f"offsetof({struct}, {name})")
            expressions.append(f"sizeof((({struct}*)0)->{name})")
    body = "\n".join(f'  printf("%lld\\n", (long long)({e}));' for e in expressions)
    program = (
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{header}"\n'
        f"int main(void) {{\n{body}\n  return 0;\n}}\n"
    )
    done = compile_and_run("ours", program, ["-I", root, "-I", root + "/src"], folder, log)
    return dict(zip(expressions, map(int, done.stdout.split())))


def theirs(numbers, nvml_header):
    asserts = "\n".join(
        f'_Static_assert((long long)({e}) == {n}LL, "{DIFFERENCE} {n} for {e}");'
        for e, n in numbers.items()
    )
    return (
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{nvml_header}"\n{asserts}\n'
        f'int main(void) {{ printf("{len(numbers)} assertions hold\\n"); return 0; }}\n'
    )


def compile_and_run(name, program, options, folder, log):
    source, binary = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(program)
    done = run(["gcc", "-std=c11", "-w", *options, "-o", binary, source], log)
    if done.returncode != 0:
        errors = re.findall(r"error: (.*)", done.stderr)
        raise Failure("; ".join(errors[:5]) or done.stderr[-400:])
    return check([binary], QuietLog(log))


# ---- the judge judged ----


def widen_first_field(text):
    """Moves every later field of the first struct that starts with a number."""
    return re.sub(r"(typedef struct \w+ \{\s*)unsigned int ", r"\1unsigned long long ", text, count=1)


def change_first_enum_value(text):
    return re.sub(r"(enum \w+ ?(?::\s*\w+\s*)?\{[^}]*?= )(\d+)(,)", r"\g<1>7654321\3", text, count=1)


MUTATIONS = {"offset": widen_first_field, "constant": change_first_enum_value}


def refuses_mutation(context, header, mutate, log):
    """Copies our headers, spoils one declaration and expects the comparison to fail."""
    with tempfile.TemporaryDirectory() as root:
        copied = copy_headers(context.source, os.path.dirname(header), root)
        if not any(spoil(path, mutate) for path in copied):
            raise Failure(f"the self-test found nothing to spoil beside {header}")
        must_differ(lambda: compare(root, header, context.nvml_header, log))


def must_differ(comparison):
    try:
        comparison()
    except Failure as failure:
        if DIFFERENCE not in str(failure):
            raise
        return
    raise Failure("a wrong declaration was accepted")


def copy_headers(source, folder, target):
    os.makedirs(os.path.join(target, folder))
    copied = []
    for name in sorted(os.listdir(os.path.join(source, folder))):
        if name.endswith(".h"):
            copied.append(shutil.copy(os.path.join(source, folder, name), os.path.join(target, folder)))
    return copied


def spoil(path, mutate):
    if not os.path.basename(path).endswith("abi.h") and not path.endswith("constants.h"):
        return False
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(mutate(text))
    return mutate(text) != text
