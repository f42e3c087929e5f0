"""Finds or fetches a Go toolchain and builds the judges into a cache outside the work tree.

The judges need Go 1.26; Debian 12 has 1.19. Go distributes its toolchains also as modules
(golang.org/toolchain), and even an old `go` can download a module and check it against the checksum
database. So an old Go is enough to get the new one, without any other source of downloads.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile

from harness.shell import Failure, SetupError, check, run

NEEDED = (1, 26)

# The toolchain that is fetched where none is new enough: version and module checksum per machine.
TOOLCHAIN = "1.26.8"
TOOLCHAIN_SUMS = {
    "amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
    "arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=",
}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Module folder (below compat/) -> packages that become programs of the same base name.
PROGRAMS = {
    "judges/mig-parted": ["github.com/NVIDIA/mig-parted/cmd/nvidia-mig-parted"],
    "judges/k8s-device-plugin": [
        "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin",
        "github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery",
    ],
    "judges/nvidia-container-toolkit": [
        "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk",
        "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook",
    ],
    "listdevices": ["."],
}

BUILD_SECONDS = 1800
FETCH_SECONDS = 600


def cache_directory():
    return os.environ.get("PARTITA_CACHE") or os.path.join(
        os.path.expanduser("~"), ".cache", "partita"
    )


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
        )
        self.environment.pop("GOROOT", None)

    def check(self, *arguments, cwd, timeout=FETCH_SECONDS):
        return check(
            [self.program, *arguments], self._log, cwd=cwd, env=self.environment, timeout=timeout
        )


def find_go(log):
    """A Go of at least NEEDED: from PATH, from its usual places, from our cache, or fetched."""
    wanted = ".".join(map(str, NEEDED))
    older = None
    for program in candidates():
        version = version_of(program, log)
        if version is None:
            continue
        if version >= NEEDED:
            return Go(program, version, log)
        older = older or program
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


def candidates():
    fetched = os.path.join(toolchain_directory(), "bin", "go")
    found = [shutil.which("go"), "/usr/local/go/bin/go", "/usr/lib/go/bin/go", fetched]
    return [program for program in found if program and os.access(program, os.X_OK)]


def version_of(program, log):
    environment = dict(os.environ, GOTOOLCHAIN="local")
    environment.pop("GOROOT", None)
    text = run([program, "version"], log, env=environment).stdout
    match = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def toolchain_directory():
    return os.path.join(cache_directory(), f"go{TOOLCHAIN}")


def fetch_toolchain(old_go, log):
    machine = ARCHITECTURES.get(platform.machine())
    if machine is None:
        raise SetupError(
            f"no Go toolchain is pinned for {platform.machine()}: "
            f"put a Go {'.'.join(map(str, NEEDED))} or newer on PATH"
        )
    module = f"golang.org/toolchain@v0.0.1-go{TOOLCHAIN}.linux-{machine}"
    print(f"compat: {old_go} is too old; fetching Go {TOOLCHAIN} as a module", file=sys.stderr)
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
    return install_toolchain(answer["Dir"])


def install_toolchain(module_directory):
    """A module carries neither execute bits nor go.mod files below its root: puts both back."""
    target = toolchain_directory()
    unfinished = target + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(module_directory, unfinished, copy_function=shutil.copyfile)
    for folder, _, names in os.walk(unfinished):
        os.chmod(folder, 0o755)
        for name in names:
            if name == "_go.mod":
                os.rename(os.path.join(folder, name), os.path.join(folder, "go.mod"))
            elif "/bin" in folder[len(unfinished):] or "/pkg/tool/" in folder + "/":
                os.chmod(os.path.join(folder, name), 0o755)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(unfinished, target)
    return os.path.join(target, "bin", "go")


def build_programs(compat, go):
    """Builds every program that is not in the cache yet. Returns name -> path."""
    programs = {}
    for module, packages in PROGRAMS.items():
        folder = os.path.join(compat, module)
        target = os.path.join(cache_directory(), "judges", cache_key(folder, go))
        names = [program_name(module, package) for package in packages]
        if not all(os.path.exists(os.path.join(target, name)) for name in names):
            print(f"compat: building {', '.join(names)}", file=sys.stderr, flush=True)
            build_module(go, folder, packages, names, target)
        programs.update({name: os.path.join(target, name) for name in names})
    return programs


def program_name(module, package):
    return os.path.basename(module if package == "." else package)


def cache_key(folder, go):
    """Anything that goes into a build: our module's files (go.sum names all others), Go, machine."""
    key = hashlib.sha256(f"{go.version} {platform.machine()} {os.path.basename(folder)}".encode())
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            key.update(name.encode() + b"\0" + file.read())
    return key.hexdigest()[:24]


def build_module(go, folder, packages, names, target):
    unfinished = target + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    for package, name in zip(packages, names):
        # NVML's symbols stay unresolved until the library is opened, so binding must be lazy; the
        # projects' own builds pass the same flag.
        go.check(
            "build", "-ldflags", "-extldflags=-Wl,-z,lazy",
            "-o", os.path.join(unfinished, name), package,
            cwd=folder, timeout=BUILD_SECONDS,
        )
    shutil.rmtree(target, ignore_errors=True)
    os.rename(unfinished, target)


def module_file(compat, go, module, path):
    """A file of the project that the module `module` of ours pins, from Go's module cache."""
    folder = os.path.join(compat, module)
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as file:
        project = re.search(r"^require (\S+) v", file.read(), re.M)[1]
    done = go.check("mod", "download", "-json", project, cwd=folder)
    found = os.path.join(json.loads(done.stdout)["Dir"], path)
    if not os.path.exists(found):
        raise SetupError(f"{project} holds no {path} (looked for {found})")
    return found
