import ipaddress
import unittest

from testbench import addresses
from testbench.scenario_bench import WrongUse


class Addresses(unittest.TestCase):
    def test_no_two_machines_or_subnets_meet(self) -> None:
        names = [f"n{index}" for index in range(addresses.MOST_NODES)]
        plan = addresses.plan(names)
        hosts = [addresses.CONTROL_PLANE, *(node.address for node in plan.values())]
        self.assertEqual(len(set(hosts)), len(hosts))
        lan = ipaddress.ip_network(f"{addresses.CONTROL_PLANE}/{addresses.MACHINE_PREFIX}", strict=False)
        nets = [lan, ipaddress.ip_network(addresses.SERVICE_RANGE)]
        nets += [ipaddress.ip_network(node.pod_subnet) for node in plan.values()]
        self.assertTrue(all(ipaddress.ip_address(host) in lan for host in hosts))
        for index, net in enumerate(nets):
            self.assertTrue(net.subnet_of(ipaddress.ip_network(addresses.NETWORK)))
            self.assertFalse(any(net.overlaps(other) for other in nets[:index]), net)

    def test_the_gateway_is_in_the_pods_subnet(self) -> None:
        node = addresses.plan(["a"])["a"]
        self.assertIn(ipaddress.ip_address(node.pod_gateway), ipaddress.ip_network(node.pod_subnet))

    def test_the_service_of_the_api_is_the_first_of_its_range(self) -> None:
        first = next(ipaddress.ip_network(addresses.SERVICE_RANGE).hosts())
        self.assertEqual(addresses.API_SERVICE, str(first))

    def test_too_many_nodes_are_refused(self) -> None:
        with self.assertRaisesRegex(WrongUse, "201 nodes; a cluster has room for 200"):
            addresses.plan([str(index) for index in range(201)])

    def test_every_machine_finds_every_other_by_name(self) -> None:
        text = addresses.hosts_file("control-plane", addresses.plan(["a", "b"]))
        self.assertEqual(text.splitlines()[2:], ["10.64.0.1 control-plane", "10.64.0.11 a", "10.64.0.12 b"])


if __name__ == "__main__":
    unittest.main()
