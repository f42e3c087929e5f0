"""Who has which address in a cluster.

A cluster's network is joined to nothing outside, so every cluster uses the same plan: two that run side by
side never see each other.
"""

import dataclasses

from testbench.scenario_bench import WrongUse

NETWORK = "10.64.0.0/16"
MACHINE_PREFIX = 24
CONTROL_PLANE = "10.64.0.1"
SERVICE_RANGE = "10.64.255.0/24"
# The address of the service `kubernetes`. The control plane has it as its own address, and serves at the
# service's own port: so pods reach the API as in any cluster, without a kube-proxy.
API_SERVICE = "10.64.255.1"
API_PORT = 443
FIRST_NODE = 11
FIRST_POD_SUBNET = 16
MOST_NODES = 200


@dataclasses.dataclass(frozen=True)
class NodeAddresses:
    address: str  # "10.64.0.11"
    pod_subnet: str  # "10.64.16.0/24"
    pod_gateway: str  # "10.64.16.1"


def plan(nodes: list[str]) -> dict[str, NodeAddresses]:
    """The addresses of each node, in the order given."""
    if len(nodes) > MOST_NODES:
        raise WrongUse(f"{len(nodes)} nodes; a cluster has room for {MOST_NODES}")
    return {name: of_index(index) for index, name in enumerate(nodes)}


def of_index(index: int) -> NodeAddresses:
    pods = f"10.64.{FIRST_POD_SUBNET + index}"
    return NodeAddresses(f"10.64.0.{FIRST_NODE + index}", f"{pods}.0/24", f"{pods}.1")


def hosts_file(control_plane: str, nodes: dict[str, NodeAddresses]) -> str:
    """/etc/hosts of a machine: every machine of the cluster by name."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines.append(f"{CONTROL_PLANE} {control_plane}")
    lines += [f"{addresses.address} {name}" for name, addresses in nodes.items()]
    return "\n".join(lines) + "\n"
