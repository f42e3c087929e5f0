"""mount(2) and its kin, by ctypes: the standard library has none of them."""

import ctypes
import os
import platform

NO_SUID, NO_DEV, NO_EXEC = 2, 4, 8
BIND, RECURSIVE, PRIVATE, SHARED = 1 << 12, 1 << 14, 1 << 18, 1 << 20
NEW_MOUNTS = 0x20000  # CLONE_NEWNS
DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Raises OSError that names both ends."""
    words = [text.encode() or None for text in (source, target, kind)]
    words.append(ctypes.c_ulong(flags))
    check(_libc.mount(*words, options.encode() or None), f"mount {kind or 'bind'} {source}", target)


def check(result: int, what: str, where: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what, None, where)


def bind(source: str, target: str) -> None:
    mount(source, target, flags=BIND | RECURSIVE)


def bind_open(descriptor: int, target: str) -> None:
    """Binds what was opened before something else covered its path."""
    bind(f"/proc/self/fd/{descriptor}", target)


def tmpfs(target: str, mode: str = "0755") -> None:
    mount("tmpfs", target, "tmpfs", NO_SUID, f"mode={mode}")


def overlay(lower: str, upper: str, work: str, target: str) -> None:
    mount("overlay", target, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")


def share_all() -> None:
    """Makes every mount of this namespace one whose changes namespaces made from it see."""
    mount("none", "/", flags=RECURSIVE | SHARED)


def take_root(place: str) -> None:
    """Makes what is / now a mount of its own, by way of the empty folder `place` (no links in its path),
    and drops whatever lies outside. The root of a chroot is no mount point: neither could its mounts be
    kept from the host, nor could containers leave it for their own root."""
    root = os.open("/", os.O_PATH)
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    check(_libc.setns(namespace, NEW_MOUNTS), "go to the root of the mount namespace", "/")
    mount("none", "/", flags=RECURSIVE | PRIVATE)
    os.fchdir(root)
    bind(".", place.lstrip("/"))
    os.chdir(place.lstrip("/"))
    check(_libc.syscall(PIVOT_ROOT[platform.machine()], b".", b"."), "change the root", place)
    check(_libc.umount2(b".", DETACH), "unmount the old root", "/")
    os.chdir("/")
    os.close(root)
    os.close(namespace)
