"""The images of the cluster's pods: made from local files, imported into containerd, never pulled."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from support import cache, oci_archive
from support.oci_archive import Entry, archive, file, folder, link, tar
from support.shell import SetupError

PAUSE = "partita.test/pause:1"
SHELL = "partita.test/shell:1"
CUDA = "partita.test/cuda:1"
DEVICE_PLUGIN = "partita.test/nvidia-device-plugin:1"

IMAGES = Path(__file__).resolve().parent.parent / "images"
CLIENT = IMAGES.parent.parent / "sim" / "cuda" / "client.cc"  # a program for CUDA, as users have; knows no simulator
BUSYBOX = "busybox"
COMPILER = "gcc"
COMPILER_OF_CLIENT = "g++"
# Of the system's, for what a driver injects: it brings everything but the C library.
LIBRARIES = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
IDLE = "trap exit TERM; sleep 86400 & wait"


def pause_archive(program: bytes) -> bytes:
    layer = tar([file("pause", program, 0o755)])
    return archive(PAUSE, layer, {"Entrypoint": ["/pause"], "User": "65535:65535"})


def shell_archive(program: bytes, applets: Iterable[str]) -> bytes:
    """busybox under all its names, users, and the folders that programs expect."""
    return archive(SHELL, tar(shell_entries(program, applets)), {"Cmd": ["/bin/sh"], "Env": [PATH]})


def cuda_archive(program: bytes, applets: Iterable[str], libraries: Iterable[Path], client: bytes) -> bytes:
    """The shell, a C library and a program, as an image for CUDA has; without a command it waits."""
    layer = tar([
        *shell_entries(program, applets), *library_entries(libraries), file("usr/bin/cuda-client", client, 0o755),
    ])
    return archive(CUDA, layer, {"Cmd": ["/bin/sh", "-c", IDLE], "Env": [PATH]})


def program_archive(name: str, program: Path, libraries: Iterable[Path]) -> bytes:
    """A program in /usr/bin and the C library that it needs, as images of one program are."""
    path = f"usr/bin/{program.name}"
    layer = tar([folder("tmp", 0o1777), file(path, program.read_bytes(), 0o755), *library_entries(libraries)])
    return archive(name, layer, {"Entrypoint": [f"/{path}"], "Env": [PATH]})


def library_entries(libraries: Iterable[Path]) -> list[Entry]:
    return [
        link("lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"),
        *(file(f"lib/{path.name}", path.read_bytes(), 0o755) for path in libraries),
    ]


def shell_entries(program: bytes, applets: Iterable[str]) -> list[Entry]:
    return [
        *(link(applet, "/bin/busybox") for applet in applets),
        *(folder(path) for path in ("dev", "etc", "proc", "root", "run", "sys", "var")),
        folder("tmp", 0o1777),
        file("bin/busybox", program, 0o755),
        *(file(f"etc/{name}", (IMAGES / "shell/etc" / name).read_bytes()) for name in ("group", "passwd")),
    ]


def archives() -> list[Path]:
    """The archives of all images, from the cache; made there first where they are missing."""
    busybox = static_program(BUSYBOX, "busybox-static")
    place = Path(cache.cache_directory()) / "e2e" / "images" / key(busybox)
    names = ["pause.tar", "shell.tar", "cuda.tar"]
    cache.folder_with(str(place), names, lambda unfinished: write_archives(Path(unfinished), busybox))
    return [place / name for name in names]


def archive_of(name: str, program: Path) -> Path:
    """The archive of an image with this program, from the cache; made there first where it is missing."""
    made = f"{program.name}.tar"
    place = Path(cache.cache_directory()) / "e2e" / "images" / key(program)
    cache.folder_with(str(place), [made], lambda unfinished: (Path(unfinished) / made).write_bytes(
        program_archive(name, program, libraries())
    ))
    return place / made


def write_archives(target: Path, busybox: Path) -> None:
    (target / "pause.tar").write_bytes(pause_archive(compiled(IMAGES / "pause.c")))
    applets = [path for path in output(str(busybox), "--list-full").split() if "/" in path]
    (target / "shell.tar").write_bytes(shell_archive(busybox.read_bytes(), applets))
    (target / "cuda.tar").write_bytes(cuda_archive(
        busybox.read_bytes(), applets, libraries(), compiled_client()
    ))


def libraries() -> list[Path]:
    """As the compiler finds them."""
    return [Path(os.path.abspath(output(COMPILER, f"-print-file-name={name}").strip())) for name in LIBRARIES]


def key(program: Path) -> str:
    """Anything that goes into an archive: this file, the images' own, the compiler, Debian's shell or a program."""
    result = hashlib.sha256(output(COMPILER, "-dumpfullversion", "-dumpmachine").encode())
    sources = sorted(path for path in IMAGES.rglob("*") if path.is_file())
    for path in [Path(__file__), Path(oci_archive.__file__), CLIENT, *sources, program, *libraries()]:
        result.update(path.name.encode() + b"\0" + path.read_bytes())
    return result.hexdigest()[:24]


def static_program(name: str, package: str) -> Path:
    """A program of this machine that runs on a root without any library."""
    found = shutil.which(name)
    if found is None:
        raise SetupError(f"no {name} found on PATH; install Debian's {package}")
    if b"/ld-linux" in Path(found).read_bytes()[:4096]:
        raise SetupError(f"{found} needs shared libraries; install Debian's {package} in its place")
    return Path(found)


def compiled(source: Path, compiler: str = COMPILER, flags: Iterable[str] = ("-static",)) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, source.stem)
        output(compiler, *flags, "-Os", "-s", "-Wall", "-Werror", "-o", program, str(source))
        return Path(program).read_bytes()


def compiled_client() -> bytes:
    """It opens a library, and so needs a C library that does: those of C++ are in it, the image has no others."""
    return compiled(CLIENT, COMPILER_OF_CLIENT, ("-std=c++20", "-static-libstdc++", "-static-libgcc"))


def output(*command: str) -> str:
    try:
        return subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
        ).stdout
    except FileNotFoundError as missing:
        raise SetupError(f"no {command[0]} found on PATH; install Debian's package of that name") from missing
    except subprocess.CalledProcessError as failed:
        raise SetupError(
            f"`{' '.join(command)}` exited {failed.returncode}: {failed.stderr.strip()}; "
            "the images of the pods cannot be made without it"
        ) from failed
