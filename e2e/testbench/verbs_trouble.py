"""Verbs for an API server in trouble: a proxy of the bench before the real one, which an agent is led to."""

import contextlib
import socket
import ssl
from collections.abc import Iterator

from testbench import addresses
from testbench.api_client import SECONDS, socket_in
from testbench.pki import AUTHORITY, Identity
from testbench.scenario_bench import current, step
from testbench.troubled_api import Proxy, Trouble

IDENTITY = Identity("troubled-api-server", "kube-apiserver", serves=(f"IP:{addresses.CONTROL_PLANE}",))


def stand_before_api_server() -> Proxy:
    """A proxy on the control plane's machine, at a port of its own, with a certificate of the cluster's authority: for
    serve(…, api=proxy.address). Until the scenario ends."""
    cluster = current().cluster
    machine = cluster.control_plane.machine
    words = "stand before the API server"

    def connect() -> socket.socket:
        context = ssl.create_default_context(cafile=str(cluster.pki.certificate(AUTHORITY)))
        plain = socket_in(machine.pid)
        try:
            plain.settimeout(SECONDS)
            plain.connect((addresses.CONTROL_PLANE, addresses.API_PORT))
            return context.wrap_socket(plain, server_hostname=addresses.CONTROL_PLANE)
        except OSError:
            plain.close()
            raise

    with step(words):
        cluster.pki.issue(IDENTITY)
        identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        identity.load_cert_chain(cluster.pki.certificate(IDENTITY.file), cluster.pki.key(IDENTITY.file))
        listener = socket_in(machine.pid)
        listener.bind((addresses.CONTROL_PLANE, 0))
        listener.listen()
        proxy = Proxy(listener, identity, connect)
        current().undo_at_end(words, proxy.stop)
        proxy.start()
        return proxy


@contextlib.contextmanager
def in_trouble(proxy: Proxy, words: str, trouble: Trouble) -> Iterator[None]:
    """For the time of the block."""
    with step(f"the API server {words}"):
        proxy.make(trouble)
    yield
    proxy.end_trouble()
