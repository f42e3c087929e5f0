"""NVIDIA's own programs, each project pinned by a Go module of ours below compat/."""

import json
import os
import re
import sys

from support import cache, golang
from support.shell import SetupError

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
COMPAT = os.path.join(SOURCE, "compat")

# Module folder (below compat/) -> program -> package.
PROGRAMS = {
    "judges/mig-parted": {
        "nvidia-mig-parted": "github.com/NVIDIA/mig-parted/cmd/nvidia-mig-parted",
    },
    "judges/k8s-device-plugin": {
        "nvidia-device-plugin": "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin",
        "gpu-feature-discovery": "github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery",
    },
    # By itself: it pins another module by a version that the plugin does not ask for.
    "judges/mps-control-daemon": {
        "mps-control-daemon": "github.com/NVIDIA/k8s-device-plugin/cmd/mps-control-daemon",
    },
    "judges/nvidia-container-toolkit": {
        "nvidia-ctk": "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk",
        "nvidia-cdi-hook": "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook",
    },
    "listdevices": {"listdevices": "."},
}


def build_programs(go, compiler_flags=golang.QUICK, wanted=None):
    """Builds every program that is not in the cache yet. Returns name -> path."""
    programs = {}
    for module, packages in (wanted or PROGRAMS).items():
        folder = os.path.join(COMPAT, module)
        programs.update(build(go, folder, packages, "compat", compiler_flags))
    return programs


def build(go, folder, packages, who, compiler_flags=golang.QUICK):
    """The programs of one module of ours, from the judges' part of the cache: name -> path."""
    target = place(go, folder, compiler_flags)
    if not cache.has_all(target, packages):
        print(f"{who}: building {', '.join(packages)}", file=sys.stderr, flush=True)
    golang.build_module(go, folder, packages, target, compiler_flags=compiler_flags)
    return {name: os.path.join(target, name) for name in packages}


def place(go, folder, compiler_flags=golang.QUICK):
    """Where the programs of one module of ours lie, built or not."""
    return os.path.join(cache.cache_directory(), "judges", golang.cache_key(folder, go, compiler_flags))


def module_file(go, module, path):
    """A file of the project that the module `module` of ours pins, from Go's module cache."""
    folder = os.path.join(COMPAT, module)
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as file:
        project = re.search(r"^require (\S+) v", file.read(), re.M)[1]
    done = go.check("mod", "download", "-json", project, cwd=folder)
    found = os.path.join(json.loads(done.stdout)["Dir"], path)
    if not os.path.exists(found):
        raise SetupError(f"{project} holds no {path} (looked for {found})")
    return found
