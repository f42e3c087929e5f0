"""Finds or fetches a Go toolchain, and builds packages with it.

The programs that we build need Go 1.26 (containerd 1.26.6); Debian 12 has 1.19. Go distributes its
toolchains also as modules (golang.org/toolchain), and even an old `go` can download a module and check it
against the checksum database. So an old Go is enough to get the new one, without any other source of
downloads.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile

from support import cache
from support.shell import Failure, SetupError, check, run

NEEDED = (1, 26, 6)

# The toolchain that is fetched where none is new enough: version and module checksum per machine.
TOOLCHAIN = "1.26.8"
TOOLCHAIN_SUMS = {
    "amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
    "arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=",
}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# NVML's symbols stay unresolved until the library is opened, so binding must be lazy; the projects'
# own builds pass the same flag.
LAZY_BINDING = "-extldflags=-Wl,-z,lazy"

# Nobody debugs or measures the programs that tests run: without inlining and debug information they are compiled in
# four fifths of the time, and programs that are compiled by the same flags share what they have in common.
QUICK = "all=-dwarf=false -l"

BUILD_SECONDS = 1800
FETCH_SECONDS = 600


class Go:
    """A usable toolchain. Its environment pins it: no switching, no workspace, no edits to go.mod."""

    def __init__(self, program, version, log):
        self.program = program
        self.version = version
        self._log = log
        self.environment = dict(
            os.environ,
            GOTOOLCHAIN="local",
            GOWORK="off",
            GOFLAGS="-mod=readonly -buildvcs=false -trimpath",
            CGO_ENABLED="1",
            GO111MODULE="on",
            # The compiler lives for a second: a fifth of its collections is enough.
            GOGC=os.environ.get("GOGC", "400"),
        )
        self.environment.pop("GOROOT", None)

    def run(self, *arguments, cwd, timeout=FETCH_SECONDS, env=None):
        return run(self._command(arguments), self._log, **self._options(cwd, timeout, env))

    def check(self, *arguments, cwd, timeout=FETCH_SECONDS, env=None):
        return check(self._command(arguments), self._log, **self._options(cwd, timeout, env))

    def _command(self, arguments):
        return [self.program, *arguments]

    def _options(self, cwd, timeout, env):
        return {"cwd": cwd, "timeout": timeout, "env": {**self.environment, **(env or {})}}


def find_go(log):
    """A Go of at least NEEDED: from PATH, from its usual places, from our cache, or fetched."""
    wanted = ".".join(map(str, NEEDED))
    found = versions(log)
    usable = newest_enough(found, log)
    if usable is not None:
        return usable
    older = next(iter(found), None)
    if older is None:
        raise SetupError(
            f"no Go found: install Debian's golang-go (it fetches Go {TOOLCHAIN} by itself) "
            f"or put a Go {wanted} or newer on PATH"
        )
    program = fetch_toolchain(older, log)
    version = version_of(program, log)
    if version is None or version < NEEDED:
        raise SetupError(f"the fetched toolchain {program} does not run; log: {log.path}")
    return Go(program, version, log)


def installed_go(log):
    """Like find_go(), but None where a toolchain would have to be fetched."""
    return newest_enough(versions(log), log)


def newest_enough(found, log):
    for program, version in found.items():
        if version >= NEEDED:
            return Go(program, version, log)
    return None


def versions(log):
    """Program -> version of every Go that runs here, in the order in which they are preferred."""
    found = {program: version_of(program, log) for program in candidates()}
    return {program: version for program, version in found.items() if version is not None}


def candidates():
    fetched = os.path.join(toolchain_directory(), "bin", "go")
    found = [shutil.which("go"), "/usr/local/go/bin/go", "/usr/lib/go/bin/go", fetched]
    return [program for program in found if program and os.access(program, os.X_OK)]


def version_of(program, log):
    environment = dict(os.environ, GOTOOLCHAIN="local")
    environment.pop("GOROOT", None)
    text = run([program, "version"], log, env=environment).stdout
    match = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def toolchain_directory():
    return os.path.join(cache.cache_directory(), f"go{TOOLCHAIN}")


def fetch_toolchain(old_go, log):
    machine = ARCHITECTURES.get(platform.machine())
    if machine is None:
        raise SetupError(
            f"no Go toolchain is pinned for {platform.machine()}: "
            f"put a Go {'.'.join(map(str, NEEDED))} or newer on PATH"
        )
    module = f"golang.org/toolchain@v0.0.1-go{TOOLCHAIN}.linux-{machine}"
    print(f"go: {old_go} is too old; fetching Go {TOOLCHAIN} as a module", file=sys.stderr)
    environment = dict(os.environ, GOFLAGS="-mod=mod", GO111MODULE="on")
    environment.pop("GOROOT", None)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "go.mod"), "w", encoding="utf-8") as file:
            file.write("module toolchain\n")
        try:
            done = check(
                [old_go, "mod", "download", "-json", module],
                log, cwd=folder, env=environment, timeout=FETCH_SECONDS,
            )
        except Failure as failure:
            raise SetupError(
                f"cannot fetch {module}: {failure}; "
                f"put a Go {'.'.join(map(str, NEEDED))} or newer on PATH"
            ) from failure
    answer = json.loads(done.stdout)
    if answer["Sum"] != TOOLCHAIN_SUMS[machine]:
        raise SetupError(f"{module} has checksum {answer['Sum']}, not {TOOLCHAIN_SUMS[machine]}")
    cache.folder_with(
        toolchain_directory(), ["bin/go"], lambda folder: copy_toolchain(answer["Dir"], folder)
    )
    return os.path.join(toolchain_directory(), "bin", "go")


def copy_toolchain(module_directory, target):
    """A module carries neither execute bits nor go.mod files below its root: puts both back."""
    shutil.copytree(
        module_directory, target, copy_function=shutil.copyfile, dirs_exist_ok=True
    )
    for folder, _, names in os.walk(target):
        os.chmod(folder, 0o755)
        for name in names:
            if name == "_go.mod":
                os.rename(os.path.join(folder, name), os.path.join(folder, "go.mod"))
            elif "/bin" in folder[len(target):] or "/pkg/tool/" in folder + "/":
                os.chmod(os.path.join(folder, name), 0o755)


def cache_key(folder, go, settings=""):
    """Anything that goes into a build: our module's files (go.sum names all others), Go, machine,
    and what `settings` tells of flags."""
    key = hashlib.sha256(f"{go.version[:2]} {platform.machine()} {os.path.basename(folder)}".encode())
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            key.update(name.encode() + b"\0" + file.read())
    key.update(settings.encode())
    return key.hexdigest()[:24]


def build_module(go, folder, packages, target, *, linker_flags=LAZY_BINDING, compiler_flags="", cgo=True,
                 links=None, waiting=None):
    """Builds `packages` (program name -> package) of the module in `folder` into `target`, a folder
    of the cache, unless it has them already. `links` are more names of these programs (name ->
    program); `waiting` is called if another process is at it."""
    links = links or {}

    def fill(unfinished):
        for name, package in packages.items():
            go.check(
                "build", *(["-gcflags", compiler_flags] if compiler_flags else []),
                "-ldflags", linker_flags, "-o", os.path.join(unfinished, name), package,
                cwd=folder, timeout=BUILD_SECONDS, env={"CGO_ENABLED": "1" if cgo else "0"},
            )
        for name, program in links.items():
            os.symlink(program, os.path.join(unfinished, name))

    cache.folder_with(target, [*packages, *links], fill, waiting)
