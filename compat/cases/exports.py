"""A production driver's export list judges our library, and so does the loader's view of it."""

import re

from support.shell import Failure, check

NAME = "driver exports"
NEEDS_NODE = False

# NVIDIA's own nvidia-smi alone asks for this table; it is private and not simulated.
PRIVATE = {"nvmlInternalGetExportTable"}
SONAME = "libnvidia-ml.so.1"
# The tools' images hold libc and nothing else of ours, some of them an old one.
NEEDED = {"libc.so.6"}
GLIBC_CEILING = (2, 17)


def judge(context, session):
    library = context.library
    with session.case("exported names equal those of driver 580"):
        exports_equal(library, context.source + "/data/captures/h200/exports.txt", session.log)
    with session.case("SONAME and NEEDED"):
        dynamic_section(library, session.log)
    with session.case("glibc symbol versions"):
        glibc_ceiling(library, session.log)


def exports_equal(library, capture, log):
    with open(capture, encoding="utf-8") as file:
        wanted = set(file.read().split()) - PRIVATE
    found = set()
    for line in check(["nm", "-D", "--defined-only", library], log).stdout.splitlines():
        _, kind, name = line.split()
        if kind not in "TW":
            raise Failure(f"{name} is exported as {kind}, not as a function")
        found.add(name)
    if len(wanted) < 400:
        raise Failure(f"{capture} names only {len(wanted)} functions; a 580 driver exports 404")
    if found != wanted:
        raise Failure(
            f"missing: {sorted(wanted - found) or 'none'}; too many: {sorted(found - wanted) or 'none'}"
        )


def dynamic_section(library, log):
    text = check(["readelf", "-dW", library], log).stdout
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", text)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    if soname != [SONAME]:
        raise Failure(f"SONAME is {soname}, not {SONAME}")
    if not needed <= NEEDED:
        raise Failure(f"needs {sorted(needed - NEEDED)}; only {sorted(NEEDED)} is in every image")


def glibc_ceiling(library, log):
    text = check(["readelf", "-VW", library], log).stdout
    if "Version definition section" in text:
        raise Failure("defines symbol versions; a production library has none")
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", text)}
    high = sorted(v for v in versions if v[:2] > GLIBC_CEILING)
    if high:
        raise Failure(f"needs glibc {high[-1]}, so images older than that cannot load it")
