"""The images of the cluster's pods: made from local files, imported into containerd, never pulled.

An archive is an OCI image layout in a tar file (image-spec 1.1, image-layout.md), which `ctr images
import` reads. The same inputs give the same bytes: no time, user or compression library goes in.
"""

import dataclasses
import hashlib
import io
import json
import os
import platform
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from support import cache, golang
from support.shell import SetupError

PAUSE = "partita.test/pause:1"
SHELL = "partita.test/shell:1"

IMAGES = Path(__file__).resolve().parent.parent / "images"
BUSYBOX = "busybox"
COMPILER = "gcc"
NO_TIME = "1970-01-01T00:00:00Z"
MEDIA = "application/vnd.oci.image"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file, folder or symbolic link of a layer. `mode` says which, as in stat(2)."""

    path: str
    mode: int
    content: bytes = b""
    target: str = ""


def folder(path: str, permissions: int = 0o755) -> Entry:
    return Entry(path, stat.S_IFDIR | permissions)


def file(path: str, content: bytes, permissions: int = 0o644) -> Entry:
    return Entry(path, stat.S_IFREG | permissions, content)


def link(path: str, target: str) -> Entry:
    return Entry(path, stat.S_IFLNK | 0o777, target=target)


def tar(entries: Iterable[Entry]) -> bytes:
    """A tar file of `entries` and the folders that they lie in, by name, owned by root, without times."""
    named = {entry.path: entry for entry in entries}
    for path in list(named):
        for parent in list(Path(path).parents)[:-1]:
            named.setdefault(str(parent), folder(str(parent)))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(named):
            archive.addfile(header(named[path]), io.BytesIO(named[path].content))
    return buffer.getvalue()


def header(entry: Entry) -> tarfile.TarInfo:
    kinds = {stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFREG: tarfile.REGTYPE, stat.S_IFLNK: tarfile.SYMTYPE}
    result = tarfile.TarInfo(entry.path)
    result.type = kinds[stat.S_IFMT(entry.mode)]
    result.mode = stat.S_IMODE(entry.mode)
    result.size = len(entry.content)
    result.linkname = entry.target
    return result


def archive(name: str, layer: bytes, process: dict) -> bytes:
    """The OCI archive of an image of one layer. `process` is what it runs: the "config" of its
    configuration (image-spec 1.1, config.md)."""
    config = as_json({
        "architecture": golang.ARCHITECTURES[platform.machine()],
        "config": process,
        "created": NO_TIME,
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
    })
    manifest = as_json({
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": descriptor(f"{MEDIA}.config.v1+json", config),
        "layers": [descriptor(f"{MEDIA}.layer.v1.tar", layer)],
    })
    reference = descriptor(f"{MEDIA}.manifest.v1+json", manifest)
    # containerd takes an image's full name from this annotation; the standard one holds only a tag.
    reference["annotations"] = {"io.containerd.image.name": name}
    index = as_json({
        "schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [reference],
    })
    blobs = [file(f"blobs/{digest(blob).replace(':', '/')}", blob) for blob in (config, manifest, layer)]
    layout = as_json({"imageLayoutVersion": "1.0.0"})
    return tar([file("oci-layout", layout), file("index.json", index), *blobs])


def as_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def descriptor(media_type: str, blob: bytes) -> dict:
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob)}


def pause_archive(program: bytes) -> bytes:
    layer = tar([file("pause", program, 0o755)])
    return archive(PAUSE, layer, {"Entrypoint": ["/pause"], "User": "65535:65535"})


def shell_archive(program: bytes, applets: Iterable[str]) -> bytes:
    """busybox under all its names, users, and the folders that programs expect."""
    layer = tar([
        *(link(applet, "/bin/busybox") for applet in applets),
        *(folder(path) for path in ("dev", "etc", "proc", "root", "run", "sys", "var")),
        folder("tmp", 0o1777),
        file("bin/busybox", program, 0o755),
        *(file(f"etc/{name}", (IMAGES / "shell/etc" / name).read_bytes()) for name in ("group", "passwd")),
    ])
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return archive(SHELL, layer, {"Cmd": ["/bin/sh"], "Env": [path]})


def archives() -> list[Path]:
    """The archives of all images, from the cache; made there first where they are missing."""
    busybox = static_program(BUSYBOX, "busybox-static")
    place = Path(cache.cache_directory()) / "e2e" / "images" / key(busybox)
    names = ["pause.tar", "shell.tar"]
    cache.folder_with(str(place), names, lambda unfinished: write_archives(Path(unfinished), busybox))
    return [place / name for name in names]


def write_archives(target: Path, busybox: Path) -> None:
    (target / "pause.tar").write_bytes(pause_archive(compiled(IMAGES / "pause.c")))
    applets = [path for path in output(str(busybox), "--list-full").split() if "/" in path]
    (target / "shell.tar").write_bytes(shell_archive(busybox.read_bytes(), applets))


def key(busybox: Path) -> str:
    """Anything that goes into an archive: this file, the images' own, the compiler, Debian's shell."""
    result = hashlib.sha256(output(COMPILER, "-dumpfullversion", "-dumpmachine").encode())
    sources = sorted(path for path in IMAGES.rglob("*") if path.is_file())
    for path in [Path(__file__), *sources, busybox]:
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


def compiled(source: Path) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, source.stem)
        output(COMPILER, "-static", "-Os", "-s", "-Wall", "-Werror", "-o", program, str(source))
        return Path(program).read_bytes()


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
