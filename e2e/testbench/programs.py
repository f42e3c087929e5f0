"""The programs of the test bench that are not ours: Kubernetes, etcd, containerd, NVIDIA's.

Each project is pinned, with checksums, by a Go module of ours in e2e/programs (NVIDIA's programs that
also judge the simulator: in compat/judges) and built once into the cache outside the work tree.
"""

import contextlib
import dataclasses
import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from support import cache, golang, judges
from support.shell import Failure, Log, NoLog, SetupError

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
STRIPPED = "-s -w"
HEARTBEAT_SECONDS = 30

# Without these Kubernetes calls itself v0.0.0, which its own checks of version skew refuse.
KUBERNETES_VERSION = " ".join(
    f"-X {package}.git{key}={value}"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    for key, value in (("Version", "{version}"), ("Major", "{major}"), ("Minor", "{minor}"))
)


@dataclasses.dataclass(frozen=True)
class Module:
    """One Go module of ours: the project that it pins, and the programs made from it.

    Programs without cgo are static and run on any root; what opens NVML needs cgo for it. `links`
    are names under which a program acts as another, `files` some of the project's own files and folders (name -> path
    in the project), for which nothing need be compiled."""

    folder: Path
    project: str
    packages: Mapping[str, str]
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    linker_flags: str = STRIPPED
    cgo: bool = False
    is_judge: bool = False
    rare: bool = False  # built for the scenarios alone that name it

    @property
    def version(self) -> str:
        text = (self.folder / "go.mod").read_text(encoding="utf-8")
        return re.search(rf"^(?:require)?\s+{re.escape(self.project)} (v\S+)", text, re.M)[1]

    @property
    def names(self) -> list[str]:
        return [*self.packages, *self.links]

    def flags(self) -> str:
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        return self.linker_flags.format(version=self.version, major=major, minor=minor)

    def place(self, go: golang.Go) -> Path:
        """The folder of its programs in the cache, built or not."""
        if self.is_judge:
            return Path(judges.place(go, str(self.folder)))
        settings = f"{go.version} {sorted(self.packages.items())} {self.flags()} {golang.QUICK} cgo={self.cgo}"
        key = golang.cache_key(str(self.folder), go, settings)
        return Path(cache.cache_directory()) / "e2e" / key / "bin"

    def place_of_files(self, go: golang.Go) -> Path:
        return self.place(go).with_name("files")

    def place_for(self, name: str, go: golang.Go) -> Path:
        return (self.place_of_files(go) if name in self.files else self.place(go)) / name

    def is_built(self, go: golang.Go) -> bool:
        return cache.has_all(self.place(go), self.names) and cache.has_all(self.place_of_files(go), self.files)


def judge(folder: str, project: str, rare: bool = False) -> Module:
    return Module(
        Path(judges.COMPAT) / folder, project, judges.PROGRAMS[folder],
        linker_flags=golang.LAZY_BINDING, cgo=True, is_judge=True, rare=rare,
    )


CONTAINERD = "github.com/containerd/containerd/v2"
DEVICE_PLUGIN = "github.com/NVIDIA/k8s-device-plugin"
DRA_DRIVER = "sigs.k8s.io/dra-driver-nvidia-gpu"
FEATURE_DISCOVERY = "sigs.k8s.io/node-feature-discovery"
GPU_OPERATOR = "github.com/NVIDIA/gpu-operator"
HELM = "helm.sh/helm/v4"

MODULES = (
    Module(
        PROGRAMS / "kubernetes", "k8s.io/kubernetes", {"kubernetes": "."},
        links=dict.fromkeys(
            ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"],
            "kubernetes",
        ),
        linker_flags=f"{STRIPPED} {KUBERNETES_VERSION}",
    ),
    Module(PROGRAMS / "etcd", "go.etcd.io/etcd/server/v3", {"etcd": "."}),
    Module(
        PROGRAMS / "containerd", CONTAINERD,
        {
            name: f"{CONTAINERD}/cmd/{name}"
            for name in ("containerd", "containerd-shim-runc-v2", "ctr")
        },
    ),
    Module(
        PROGRAMS / "helm", HELM, {"helm": f"{HELM}/cmd/helm"},
        linker_flags=f"{STRIPPED} -X {HELM}/internal/version.version={{version}}",
    ),
    judge("judges/k8s-device-plugin", DEVICE_PLUGIN),
    judge("judges/nvidia-container-toolkit", "github.com/NVIDIA/nvidia-container-toolkit"),
    judge("judges/mps-control-daemon", DEVICE_PLUGIN, rare=True),
    Module(
        PROGRAMS / "dra-driver", DRA_DRIVER,
        {"gpu-kubelet-plugin": f"{DRA_DRIVER}/cmd/gpu-kubelet-plugin"},
        linker_flags=f"{STRIPPED} {golang.LAZY_BINDING} -X {DRA_DRIVER}/internal/info.version={{version}}",
        cgo=True, rare=True,
    ),
    Module(
        PROGRAMS / "node-feature-discovery", FEATURE_DISCOVERY,
        {name: f"{FEATURE_DISCOVERY}/cmd/{name}" for name in ("nfd-master", "nfd-worker")},
        linker_flags=f"{STRIPPED} -X {FEATURE_DISCOVERY}/pkg/version.version={{version}}",
        rare=True,
    ),
    Module(
        PROGRAMS / "node-feature-discovery", FEATURE_DISCOVERY, {},
        files={
            "nfd-api-crds.yaml": "deployment/base/nfd-crds/nfd-api-crds.yaml",
            "node-feature-discovery-chart": "deployment/helm/node-feature-discovery",
        },
        rare=True,
    ),
    Module(
        Path(judges.COMPAT) / "judges/k8s-device-plugin", DEVICE_PLUGIN, {},
        files={"nvidia-device-plugin-chart": "deployments/helm/nvidia-device-plugin"},
        rare=True,
    ),
    Module(
        PROGRAMS / "gpu-operator", GPU_OPERATOR, {"gpu-operator": f"{GPU_OPERATOR}/cmd/gpu-operator"},
        rare=True,
    ),
    Module(
        PROGRAMS / "gpu-operator", GPU_OPERATOR, {},
        files={
            "gpu-operator-chart": "deployments/gpu-operator", "gpu-operator-assets": "assets",
            "gpu-operator-manifests": "manifests",
        },
        rare=True,
    ),
)


def names() -> list[str]:
    """Every program that path() and build() know."""
    return [name for module in MODULES for name in module.names]


def usual() -> list[str]:
    """Those that any scenario may use; the others are named by the few that need them."""
    return [name for module in MODULES if not module.rare for name in module.names]


def path(name: str) -> Path:
    """Where the program `name` lies. It has to be built; this neither builds nor downloads."""
    module = module_of(name)
    go = golang.installed_go(NoLog())
    if go is None or not (module.place(go) / name).exists():
        raise SetupError(f"{name} ({module.project} {module.version}) is not built; run: e2e/e2e build")
    return module.place(go) / name


def file(name: str) -> Path:
    """Where a file or folder of a project lies (Module.files). Like path(), it neither builds nor downloads."""
    module = next(module for module in MODULES if name in module.files)
    go = golang.installed_go(NoLog())
    if go is None or not (module.place_of_files(go) / name).exists():
        raise SetupError(f"{name} of {module.project} {module.version} is not there; run: e2e/e2e build")
    return module.place_of_files(go) / name


def build(wanted: Iterable[str], log: Log, say: Callable[[str], None] = print) -> dict[str, Path]:
    """Builds those of the `wanted` programs that are not in the cache yet, fetches files, and says how it goes.
    Returns name -> path. What all programs of a module need is compiled once, so a module is built
    whole."""
    wanted = list(wanted)
    modules = {id(module_of(name)): module_of(name) for name in wanted}
    go = golang.find_go(log)
    for module in modules.values():
        if not module.is_built(go):
            build_module(module, go, log, say)
    return {name: module_of(name).place_for(name, go) for name in wanted}


def module_of(name: str) -> Module:
    for module in MODULES:
        if name in module.names or name in module.files:
            return module
    raise SetupError(f"no program {name!r}; there are: {', '.join(names())}")


def build_module(module: Module, go: golang.Go, log: Log, say: Callable[[str], None]) -> None:
    title = f"{module.project} {module.version}"
    try:
        if module.packages:
            compile_module(module, title, go, log, say)
        keep_files(module, go)
    except Failure as failure:
        raise SetupError(
            f"cannot build {title} in {module.folder}: {failure}; its whole output: {log.path}"
        ) from failure


def compile_module(module: Module, title: str, go: golang.Go, log: Log, say: Callable[[str], None]) -> None:
    with progress(f"downloading {title}", say):
        download(module, go, log)
    with progress(f"building {title}: {', '.join(module.packages)}", say):
        golang.build_module(
            go, str(module.folder), module.packages, str(module.place(go)),
            linker_flags=module.flags(), compiler_flags=golang.QUICK, cgo=module.cgo,
            links=module.links,
            waiting=lambda: say(f"another process builds {title}; waiting for it"),
        )


def keep_files(module: Module, go: golang.Go) -> None:
    """Copies the project's own files to the cache: what needs them later downloads nothing."""
    if not module.files:
        return
    answer = go.check("mod", "download", "-json", module.project, cwd=module.folder).stdout
    source = Path(json.loads(answer)["Dir"])

    def fill(unfinished: str) -> None:
        for name, path in module.files.items():
            if not (source / path).exists():
                raise SetupError(f"{module.project} {module.version} has no file {path} (looked for {source / path})")
            copy = shutil.copytree if (source / path).is_dir() else shutil.copyfile
            copy(source / path, Path(unfinished) / name)

    cache.folder_with(str(module.place_of_files(go)), list(module.files), fill)


def download(module: Module, go: golang.Go, log: Log) -> None:
    """Fetches what the module's programs import, by listing it, and nothing else that go.mod names."""
    done = go.run(
        "list", "-deps", *module.packages.values(),
        cwd=module.folder, env={"CGO_ENABLED": str(int(module.cgo))},
    )
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if not line.startswith("go: downloading ")]
    reason = lines[0] if lines else f"`go list` exited {done.returncode}"
    if "go.sum" in done.stderr:
        advice = "somebody changed the module, or our go.mod without `go mod tidy`: find out before you go on"
    else:
        proxy = go.check("env", "GOPROXY", cwd=module.folder).stdout.strip()
        advice = f"see that this machine reaches {proxy} (GOPROXY), then run it again"
    raise SetupError(
        f"cannot download the Go modules that {module.folder}/go.mod names: {reason}; {advice}; "
        f"log: {log.path}"
    )


@contextlib.contextmanager
def progress(what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Says what begins, every half minute that it still goes on, and how long it took."""
    start = time.monotonic()
    ended = threading.Event()

    def seconds() -> str:
        return f"{time.monotonic() - start:.0f} s"

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            say(f"{what}: {seconds()} so far")

    say(what)
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
        say(f"{what}: done after {seconds()}")
    finally:
        ended.set()
        thread.join()
