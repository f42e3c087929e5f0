#!/usr/bin/env python3
"""What the driver's library answers to its calls for system events (GPUs bound to the driver and taken from it).

Usage: system_events.py

Reads only: nothing is bound or taken. Prints a line a call with its code, and the descriptors of the driver's nodes.
"""

import ctypes
import os
import time


class SetRequest(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("set", ctypes.c_void_p)]


class Register(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("types", ctypes.c_ulonglong), ("set", ctypes.c_void_p)]


class Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_ulonglong), ("gpu", ctypes.c_uint)]


class Wait(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint), ("timeout", ctypes.c_uint), ("set", ctypes.c_void_p),
        ("data", ctypes.POINTER(Event)), ("size", ctypes.c_uint), ("count", ctypes.c_uint),
    ]


def request(kind, **values):
    return kind(version=1 << 24 | ctypes.sizeof(kind), **values)


def nodes():
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sorted(os.readlink(link) for link in links if os.path.islink(link) and "/dev/nvidia" in os.readlink(link))


def main():
    nvml = ctypes.CDLL("libnvidia-ml.so.1")

    def call(name, *arguments):
        if not hasattr(nvml, name):
            print(f"{name}: not there")
            return None
        start = time.monotonic()
        code = getattr(nvml, name)(*arguments)
        print(f"{name}: {code}  ({1000 * (time.monotonic() - start):.1f} ms)")
        return code

    for session in (1, 2):
        print(f"session {session}")
        call("nvmlInit_v2")
        before = nodes()
        made = request(SetRequest)
        call("nvmlSystemEventSetCreate", ctypes.byref(made))
        for what in ("first", "second"):
            print(f"{what} registration of the session")
            call("nvmlSystemRegisterEvents", ctypes.byref(request(Register, types=3, set=made.set)))
        events = (Event * 8)()
        for timeout in (0, 200):
            wait = request(Wait, timeout=timeout, set=made.set, data=events, size=8)
            call("nvmlSystemEventSetWait", ctypes.byref(wait))
            print(f"  waited {timeout} ms: {wait.count} events")
        call("nvmlSystemEventSetFree", ctypes.byref(request(SetRequest, set=made.set)))
        again = request(SetRequest)
        call("nvmlSystemEventSetCreate", ctypes.byref(again))
        print("registration in a set after the free of the first")
        call("nvmlSystemRegisterEvents", ctypes.byref(request(Register, types=3, set=again.set)))
        call("nvmlSystemEventSetFree", ctypes.byref(request(SetRequest, set=again.set)))
        print(f"nodes opened by it: {len(nodes()) - len(before)}")
        call("nvmlShutdown")
        print(f"open after shutdown: {nodes()}")


if __name__ == "__main__":
    main()
