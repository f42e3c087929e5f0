"""An image as an OCI image layout in a tar file (image-spec 1.1, image-layout.md), which `ctr images import` and
`skopeo copy oci-archive:` read. The same inputs give the same bytes: no time, user or compression library goes in.
"""

import dataclasses
import hashlib
import io
import json
import platform
import stat
import tarfile
from collections.abc import Iterable
from pathlib import Path

from support import golang

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
