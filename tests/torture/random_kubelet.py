"""kubelet's side of random operations: it shows, asks and remembers as kubelet does, and knows by its own account who
holds what. gRPC is that of tests/cli/kubelet.py, which nobody here wrote."""

import dataclasses
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent import futures

# The operations start processes: nothing of gRPC's is to be carried over into them.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))

import grpc  # noqa: E402
import kubelet as protocol  # noqa: E402

PLUGIN = "/v1beta1.DevicePlugin/"


@dataclasses.dataclass
class Pod:
    name: str
    resource: str
    ids: list
    listed_from: float  # kubelet lists a pod a moment after it asked for its devices
    cut: set  # the GPUs that were in MIG mode when it came
    listed_at: float = 0  # since when the agent knows of it


def whole(device):
    return device.split("::")[0]


def clash(first, other, gpu_of):
    """Whether two pods' devices (resource, id) may not be given at the same time. gpu_of: of MIG devices."""
    (resource, one), (other_resource, another) = first, other
    if whole(one) == whole(another):
        # Shares of one name stand side by side; two names mean two kinds of sharing.
        return one == another or "::" not in one or "::" not in another or resource != other_resource
    return whole(one) == gpu_of.get(whole(another)) or whole(another) == gpu_of.get(whole(one))


class Stream:
    """A ListAndWatch, and the newest list of it."""

    def __init__(self, channel, heard, ended):
        self.devices = None  # id -> healthy
        self.open = True
        self._channel = channel
        self._heard, self._ended = heard, ended
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self):
        self.open = False
        self._channel.close()

    def _watch(self):
        try:
            for message in self._channel.unary_stream(f"{PLUGIN}ListAndWatch")(b""):
                self.devices = {one["id"]: one["health"] == "Healthy" for one in protocol.listed(message)}
                self._heard(self)
        except (grpc.RpcError, ValueError):  # ValueError: of a channel that was closed here
            pass
        self.open = False
        self._ended(self)


# Of HPACK's static table: POST, http; then names by it, or as they are.
HEADERS = b"".join((
    b"\x83\x86\x04", bytes([len(PLUGIN) + 12]), f"{PLUGIN}ListAndWatch".encode(), b"\x01\x09localhost",
    b"\x00\x0ccontent-type\x10application/grpc",
))
# A call of ListAndWatch whole: preface, SETTINGS, HEADERS and the empty message in DATA.
LISTEN = b"".join((
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes(3), b"\x04\x00", bytes(4),
    len(HEADERS).to_bytes(3, "big"), b"\x01\x04\x00\x00\x00\x01", HEADERS,
    b"\x00\x00\x05\x00\x01\x00\x00\x00\x01", bytes(5),
))
CONNECT = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).connect(sys.argv[2])"


class Tool:
    """A ListAndWatch of a program that is not kubelet: another process has connected it, and by that they differ."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        descriptor = self._socket.fileno()
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", CONNECT, str(descriptor), path],
            pass_fds=[descriptor], stderr=subprocess.DEVNULL, check=False, timeout=60,
        )
        try:
            self._socket.sendall(LISTEN)
        except OSError:
            pass  # the resource has gone

    @property
    def open(self):
        try:
            while self._socket.recv(1 << 16, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def close(self):
        self._socket.close()


class RandomKubelet:
    def __init__(self, folder):
        self.folder = folder
        self.pods = {}
        self.trouble = None  # of PodResources: "refused" or "garbage"
        self.beside = []  # streams of others: a second, a third
        self.asked = 0  # PodResources
        self._lock = threading.RLock()
        self._streams = {}  # by resource: the one of the newest registration
        self._endpoints = {}
        self._unwell = {}  # (resource, id) -> when it was last seen other than Healthy
        self._servers = []

    # ---- as kubelet ----

    def start(self):
        for place, service, method, served in (
            ("device-plugins", "v1beta1.Registration", "Register", self._register),
            ("pod-resources", "v1.PodResourcesLister", "List", self._list),
        ):
            path = os.path.join(self.folder, place)
            os.makedirs(path, exist_ok=True)
            # kubelet removes whatever socket is there, those of plugins too.
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
            server.add_generic_rpc_handlers([
                grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(served)})
            ])
            server.add_insecure_port(f"unix:{os.path.join(path, 'kubelet.sock')}")
            server.start()
            self._servers.append(server)

    def stop(self):
        """Its pods stay."""
        for server in self._servers:
            server.stop(None).wait()
        self._servers.clear()
        with self._lock:
            streams = [*self._streams.values(), *self.beside]
            self._streams.clear()
            self.beside.clear()
        for stream in streams:
            stream.close()

    def _register(self, message, _):
        endpoint, resource = protocol.text(message, 2), protocol.text(message, 3)
        channel = protocol.dial(self.folder, endpoint)
        # The plugin is asked before it is answered.
        protocol.call(channel, f"{PLUGIN}GetDevicePluginOptions")
        with self._lock:
            before = self._streams.get(resource)
            self._endpoints[resource] = endpoint
            self._streams[resource] = Stream(
                channel, lambda stream: self._heard(resource, stream), lambda stream: self._ended(resource, stream)
            )
        if before:
            before.close()
        return b""

    def _heard(self, resource, stream):
        now = time.monotonic()
        for device, healthy in stream.devices.items():
            if not healthy:
                self._unwell[resource, device] = now

    def _ended(self, resource, stream):
        with self._lock:
            if self._streams.get(resource) is stream:
                del self._streams[resource]
                self._unwell[resource, None] = time.monotonic()

    def _list(self, _, context):
        self.asked += 1
        if self.trouble == "refused":
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        if self.trouble == "garbage":
            return b"\xff\xfe\xfd"
        now = time.monotonic()
        # As on every node: an agent that began after the last pod with devices has ended could not tell a list of none
        # from one that kubelet has not filled yet.
        proxy = protocol.field(1, "proxy") + protocol.field(2, "kube-system") + protocol.field(3, protocol.field(1, "main"))
        out = protocol.field(1, proxy)
        for pod in list(self.pods.values()):
            if pod.listed_from > now:
                continue
            pod.listed_at = pod.listed_at or now
            devices = protocol.field(1, pod.resource) + b"".join(protocol.field(2, one) for one in pod.ids)
            container = protocol.field(1, "main") + protocol.field(2, devices)
            out += protocol.field(
                1, protocol.field(1, pod.name) + protocol.field(2, "random") + protocol.field(3, container)
            )
        return out

    # ---- its account ----

    def lists(self):
        """By resource: id -> healthy. Only of resources whose stream is there."""
        with self._lock:
            return {
                name: dict(stream.devices) for name, stream in self._streams.items()
                if stream.open and stream.devices is not None
            }

    def devices_of(self, resource):
        return {one for pod in self.pods.values() if pod.resource == resource for one in pod.ids}

    def known(self):
        """Pods that the agent has heard of, and may have written down. Of others it expects for 15 minutes that they
        come to be listed (docs/device-plugin.md): longer than anybody waits here."""
        return sorted(name for name, pod in self.pods.items() if 0 < pod.listed_at < time.monotonic() - 1)

    def free(self):
        """By resource: what is healthy and nobody's, as kubelet counts."""
        free = {}
        for resource, devices in self.lists().items():
            held = self.devices_of(resource)
            ids = [one for one, healthy in devices.items() if healthy and one not in held]
            if ids:
                free[resource] = sorted(ids)
        return free

    def unwell_since(self, resource, ids, then):
        """Whether kubelet has heard, after `then`, that it cannot have one of them."""
        listed = self.lists().get(resource, {})
        return any(one not in listed for one in ids) or any(
            self._unwell.get((resource, one), 0) >= then for one in [*ids, None]
        )

    def clashes(self, pod, gpu_of):
        return [
            (one, other.name, held)
            for other in self.pods.values() if other is not pod
            for held in other.ids for one in pod.ids
            if clash((pod.resource, one), (other.resource, held), gpu_of)
        ]

    # ---- what it asks ----

    def ask(self, resource, method, request):
        channel = protocol.dial(self.folder, self._endpoints[resource])
        try:
            return protocol.call(channel, method, request)
        finally:
            channel.close()

    def prefer(self, resource, available, required, size):
        request = b"".join(protocol.field(1, one) for one in available)
        request += b"".join(protocol.field(2, one) for one in required) + protocol.field(3, size)
        answer = self.ask(resource, f"{PLUGIN}GetPreferredAllocation", protocol.field(1, request))
        return [one.decode() for container in protocol.every(answer, 1) for one in protocol.every(container, 1)]

    def allocate(self, resource, containers):
        """A list for each container: the CDI names in its answer."""
        request = b"".join(
            protocol.field(1, b"".join(protocol.field(1, one) for one in ids)) for ids in containers
        )
        answer = self.ask(resource, f"{PLUGIN}Allocate", request)
        return [
            [protocol.text(one, 1) for one in protocol.every(container, 5)] for container in protocol.every(answer, 1)
        ]

    def watch_beside(self, resource):
        self.beside.append(Tool(os.path.join(self.folder, "device-plugins", self._endpoints[resource])))

    def speak_nonsense(self, resource, data):
        """Bytes to the plugin's socket that are no HTTP/2, and nobody who reads an answer."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(5)
            try:
                peer.connect(os.path.join(self.folder, "device-plugins", self._endpoints[resource]))
                peer.sendall(data)
            except OSError:
                pass  # gone, or has closed already
