"""Speaks to device plugins as kubelet does, through an implementation of gRPC that nobody here wrote.

kubelet.py serve FOLDER      registration at FOLDER/device-plugins/kubelet.sock, PodResources at
                             FOLDER/pod-resources/kubelet.sock (from FOLDER/pods.json). Says on standard output, a
                             line of JSON each, what happens: registered, list, ended, pods.
kubelet.py allocate FOLDER RESOURCE ID…
kubelet.py prefer FOLDER RESOURCE SIZE AVAILABLE[,…] [REQUIRED[,…]]
kubelet.py engine SOCKET NAME VERSION [CONFIGURATION]
                             a container engine, as far as it says of itself who it is

kubelet itself is in e2e; this is for what it never does, or does too rarely.
"""

import json
import os
import sys
import threading
from concurrent import futures
from typing import Any, Iterator

import grpc


# ---- protobuf's wire format ----


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        elif tag & 7 == 2:
            length = number()
            yield tag >> 3, message[at:at + length]
            at += length
        else:
            raise ValueError(f"wire type {tag & 7}")


def every(message: bytes, number: int) -> list[Any]:
    return [value for which, value in fields(message) if which == number]


def text(message: bytes, number: int) -> str:
    return (every(message, number) or [b""])[-1].decode()


def entries(message: bytes, number: int) -> dict[str, str]:
    return {text(entry, 1): text(entry, 2) for entry in every(message, number)}


# ---- kubelet ----


def call(channel: grpc.Channel, method: str, message: bytes = b"") -> bytes:
    return channel.unary_unary(method)(message, timeout=20)


def dial(folder: str, endpoint: str) -> grpc.Channel:
    # As kubelet: not the socket's path, which older ones send.
    return grpc.insecure_channel(
        f"unix:{os.path.join(folder, 'device-plugins', endpoint)}", options=[("grpc.default_authority", "localhost")]
    )


def say(**what: Any) -> None:
    # One write: print makes two of a line and its end, between which another thread may say something.
    sys.stdout.write(json.dumps(what, sort_keys=True) + "\n")
    sys.stdout.flush()


def listed(message: bytes) -> list[dict[str, Any]]:
    devices = []
    for device in every(message, 1):
        topology = every(device, 3)
        numa = [(every(node, 1) or [0])[-1] for one in topology for node in every(one, 1)]
        devices.append({"id": text(device, 1), "health": text(device, 2), "numa": numa})
    return devices


class Kubelet:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._endpoints: dict[str, str] = {}
        self._lock = threading.Lock()

    def register(self, message: bytes, context: grpc.ServicerContext) -> bytes:
        endpoint, resource = text(message, 2), text(message, 3)
        # The plugin is asked before it is answered: one that serves and registers in one thread hangs here.
        channel = dial(self._folder, endpoint)
        options = call(channel, "/v1beta1.DevicePlugin/GetDevicePluginOptions")
        with self._lock:
            self._endpoints[resource] = endpoint
            path = os.path.join(self._folder, "endpoints.json")
            with open(f"{path}.new", "w", encoding="utf-8") as file:
                json.dump(self._endpoints, file)
            os.replace(f"{path}.new", path)
        say(
            registered=resource, version=text(message, 1), endpoint=endpoint,
            preferred=bool(sum(every(options, 2))), early=every(message, 4) == [options],
        )
        threading.Thread(target=self.watch, args=(channel, resource), daemon=True).start()
        return b""

    def watch(self, channel: grpc.Channel, resource: str) -> None:
        try:
            for message in channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch")(b""):
                say(list=resource, devices=listed(message))
        except grpc.RpcError as error:
            say(ended=resource, code=error.code().name)

    def pods(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        path = os.path.join(self._folder, "pods.json")
        pods = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                pods = json.load(file)
        out = b""
        for pod in pods:
            devices = field(1, pod["resource"]) + b"".join(field(2, one) for one in pod["ids"])
            container = field(1, pod["container"]) + field(2, devices)
            out += field(1, field(1, pod["pod"]) + field(2, pod["namespace"]) + field(3, container))
        say(pods=len(pods))
        return out


def serve(folder: str) -> None:
    kubelet = Kubelet(folder)
    servers = []  # one that nobody refers to ends by itself
    for place, service, method, served in (
        ("device-plugins", "v1beta1.Registration", "Register", kubelet.register),
        ("pod-resources", "v1.PodResourcesLister", "List", kubelet.pods),
    ):
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        server.add_generic_rpc_handlers([
            grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(served)})
        ])
        os.makedirs(os.path.join(folder, place), exist_ok=True)
        # As kubelet: whatever socket is there goes, those of plugins too.
        for name in os.listdir(os.path.join(folder, place)):
            os.unlink(os.path.join(folder, place, name))
        path = os.path.join(folder, place, "kubelet.sock")
        server.add_insecure_port(f"unix:{path}")
        server.start()
        servers.append(server)
    say(serving=folder)
    threading.Event().wait()


def engine(path: str, name: str, version: str, configuration: str = "") -> None:
    who = field(1, "0.1.0") + field(2, name) + field(3, version) + field(4, "v1")

    def status(request: bytes, _: grpc.ServicerContext) -> bytes:
        verbose = bool(sum(every(request, 1)))
        shown = field(2, field(1, "config") + field(2, configuration)) if verbose and configuration else b""
        return field(1, b"") + shown

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers([
        grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", {
            "Version": grpc.unary_unary_rpc_method_handler(lambda *_: who),
            "Status": grpc.unary_unary_rpc_method_handler(status),
        })
    ])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    say(serving=path)
    threading.Event().wait()


def endpoint_of(folder: str, resource: str) -> grpc.Channel:
    with open(os.path.join(folder, "endpoints.json"), encoding="utf-8") as file:
        return dial(folder, json.load(file)[resource])


def allocate(folder: str, resource: str, *ids: str) -> None:
    request = field(1, b"".join(field(1, one) for one in ids))
    answer = call(endpoint_of(folder, resource), "/v1beta1.DevicePlugin/Allocate", request)
    for container in every(answer, 1):
        say(
            envs=entries(container, 1), annotations=entries(container, 4),
            mounts=[[text(one, 1), text(one, 2)] for one in every(container, 2)],
            nodes=[[text(one, 1), text(one, 2), text(one, 3)] for one in every(container, 3)],
            cdi=[text(one, 1) for one in every(container, 5)],
        )


def prefer(folder: str, resource: str, size: str, available: str, required: str = "") -> None:
    request = b"".join(field(1, one) for one in available.split(","))
    request += b"".join(field(2, one) for one in required.split(",") if one) + field(3, int(size))
    answer = call(
        endpoint_of(folder, resource), "/v1beta1.DevicePlugin/GetPreferredAllocation", field(1, request)
    )
    for container in every(answer, 1):
        say(ids=[one.decode() for one in every(container, 1)])


def main() -> None:
    verb, *rest = sys.argv[1:]
    try:
        {"serve": serve, "allocate": allocate, "prefer": prefer, "engine": engine}[verb](*rest)
    except grpc.RpcError as error:
        print(f"{error.code().name}: {error.details()}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
