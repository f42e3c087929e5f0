"""The wires of a cluster: a bridge in the control plane's network, and a cable from it to each node."""

import shlex
import subprocess

from support.shell import SetupError
from testbench import addresses
from testbench.addresses import NodeAddresses
from testbench.machine import Machine

BRIDGE = "lan"
CARD = "eth0"  # of each node


def ip(machine: Machine, script: str) -> None:
    """Lines of ip(8) commands, carried out in the machine's network. Pids are those of the host."""
    command = machine.enter(["ip", "-batch", "-"], namespaces=["net"])
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise SetupError(f"{shlex.join(command)}: {done.stderr.strip()}\nin:\n{script}")


def forget_cable(control_plane: Machine, name: str) -> None:
    """There may be none, and it may vanish meanwhile: what counts is that it is gone afterwards."""
    command = control_plane.enter(["ip", "link", "del", name], namespaces=["net"])
    subprocess.run(command, capture_output=True, timeout=60, check=False)


def set_up_control_plane(machine: Machine) -> None:
    ip(machine, f"""\
link set lo up
link add {BRIDGE} type bridge forward_delay 0
addr add {addresses.CONTROL_PLANE}/{addresses.MACHINE_PREFIX} dev {BRIDGE}
addr add {addresses.API_SERVICE}/32 dev {BRIDGE}
link set {BRIDGE} up
""")


def cable(address: str) -> str:
    """The bridge's end of a node's cable. Names of devices have at most 15 letters, nodes' names more."""
    return "node-" + address.rsplit(".", 1)[1]


def connect(control_plane: Machine, node: Machine, of_node: NodeAddresses, others: list[NodeAddresses]) -> None:
    """Plugs the node in. The cable of an earlier boot goes with the node's network, but the kernel takes its
    time for that."""
    own = cable(of_node.address)
    forget_cable(control_plane, own)
    ip(control_plane, f"""\
link add {own} type veth peer name {CARD} netns {node.pid}
link set {own} master {BRIDGE} up
route replace {of_node.pod_subnet} via {of_node.address}
""")
    routes = [f"route add {other.pod_subnet} via {other.address}" for other in others]
    ip(node, "\n".join([
        "link set lo up",
        f"addr add {of_node.address}/{addresses.MACHINE_PREFIX} dev {CARD}",
        f"link set {CARD} up",
        f"route add default via {addresses.CONTROL_PLANE}",
        *routes,
        "",
    ]))


def cut(control_plane: Machine, of_node: NodeAddresses) -> None:
    ip(control_plane, f"link set {cable(of_node.address)} down\n")


def restore(control_plane: Machine, of_node: NodeAddresses) -> None:
    ip(control_plane, f"link set {cable(of_node.address)} up\n")


def pod_network(of_node: NodeAddresses) -> dict:
    """The CNI configuration of a node: a bridge of its own, addresses from its own range."""
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "ipam": {
                "type": "host-local",
                "dataDir": "/run/cni/addresses",
                "ranges": [[{"subnet": of_node.pod_subnet, "gateway": of_node.pod_gateway}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    }
