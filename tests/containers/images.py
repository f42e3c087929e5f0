"""The image that containers run, from this Debian's own files: glibc's loader and C library, busybox, and our probe."""

import os
import shutil
from pathlib import Path

from testbench import images

HERE = Path(__file__).resolve().parent / "image"
LOADER = "/lib64/ld-linux-x86-64.so.2"
LIBRARIES = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")
FOLDERS = (
    "bin", "dev", "etc/ld.so.conf.d", "lib/x86_64-linux-gnu", "lib64", "opt", "proc", "root", "run", "sys", "tmp",
    "usr/bin", "usr/lib/x86_64-linux-gnu", "var",
)


def write_root(root: Path) -> None:
    """/lib is a folder, not a link as in a merged Debian: both are in use, and the loader looks in both."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    busybox = images.static_program(images.BUSYBOX, "busybox-static")
    shutil.copy(busybox, root / "bin/busybox")
    for applet in ("cat", "echo", "env", "find", "grep", "ls", "sed", "sh", "sleep", "tr"):
        os.symlink("busybox", root / "bin" / applet)
    shutil.copy(LOADER, root / LOADER.lstrip("/"))
    for name in LIBRARIES:
        shutil.copy(f"/lib/x86_64-linux-gnu/{name}", root / "lib/x86_64-linux-gnu" / name)
    for name in ("ld.so.conf", "ld.so.conf.d/x86_64-linux-gnu.conf", "debian_version"):
        shutil.copy(f"/etc/{name}", root / "etc" / name)
    (root / "probe").write_bytes(images.compiled(HERE / "probe.c"))
    (root / "probe").chmod(0o755)
    images.output(images.COMPILER, "-shared", "-fPIC", "-Os", "-s", "-Wall", "-Werror", "-o", str(root / "evil.so"),
                  str(HERE / "evil.c"))
    shutil.copy(HERE / "inspect", root / "inspect")
