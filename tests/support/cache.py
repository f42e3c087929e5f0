"""The cache outside the work tree: what is costly to make is made once, whole, by one process."""

import contextlib
import fcntl
import os
import shutil


def cache_directory():
    return os.environ.get("PARTITA_CACHE") or os.path.join(
        os.path.expanduser("~"), ".cache", "partita"
    )


def folder_with(target, names, fill, waiting=None):
    """The folder `target` with the files `names`. What is missing is made by fill(folder) in another
    folder that takes its place when complete: nobody ever sees half of it, and whoever comes second
    waits for the first (and calls `waiting`, to say so)."""
    if has_all(target, names):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with locked(target + ".lock", waiting):
        if not has_all(target, names):
            unfinished = target + ".unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            os.makedirs(unfinished)
            try:
                fill(unfinished)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            shutil.rmtree(target, ignore_errors=True)
            os.rename(unfinished, target)
    return target


def has_all(folder, names):
    return all(os.path.exists(os.path.join(folder, name)) for name in names)


@contextlib.contextmanager
def locked(path, waiting=None):
    """Holds the lock file `path`; the kernel lets it go with the process, so it is never stale."""
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
