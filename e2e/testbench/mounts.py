"""mount(2), by ctypes: the standard library has none."""

import ctypes
import os

NO_SUID, NO_DEV, NO_EXEC = 2, 4, 8
BIND, RECURSIVE, SHARED = 1 << 12, 1 << 14, 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Raises OSError that names both ends."""
    words = [text.encode() or None for text in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"mount {kind or 'bind'} {source}", None, target)


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
