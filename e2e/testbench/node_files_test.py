import json
import tempfile
import tomllib
import unittest
from pathlib import Path

from testbench import addresses, node_files
from testbench.pki import Pki

BASE = {"ociVersion": "1.3.0", "mounts": [{"destination": "/proc"}]}


class NodeFiles(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.pki = Pki(Path(scratch.name))
        for file in ("ca", "admin", "a-kubelet", "b-kubelet", "b-kubelet-server"):
            self.pki.key(file).write_text(f"key of {file}", encoding="utf-8")
            self.pki.certificate(file).write_text(f"certificate of {file}", encoding="utf-8")
        self.files = node_files.files(
            "b", self.pki, "/partita-e2e/c/b", "overlayfs", BASE, addresses.plan(["a", "b"]), "control-plane"
        )

    def test_the_kubelet_keeps_to_the_cgroups_of_its_node(self) -> None:
        kubelet = json.loads(self.files[node_files.KUBELET_CONFIG])
        self.assertEqual(kubelet["cgroupRoot"], "/partita-e2e/c/b")
        self.assertEqual(kubelet["enforceNodeAllocatable"], [])
        self.assertIs(kubelet["failCgroupV1"], False)

    def test_the_kubelet_serves_nobody_without_a_certificate_of_the_cluster(self) -> None:
        kubelet = json.loads(self.files[node_files.KUBELET_CONFIG])
        self.assertIs(kubelet["authentication"]["anonymous"]["enabled"], False)
        self.assertEqual(kubelet["authorization"]["mode"], "Webhook")
        self.assertEqual(kubelet["readOnlyPort"], 0)
        self.assertEqual(kubelet["tlsCertFile"], "/etc/kubernetes/pki/b-kubelet-server.crt")

    def test_a_node_has_its_own_keys_and_no_others(self) -> None:
        held = {text for text in self.files.values() if text.startswith("key of")}
        self.assertEqual(held, {"key of b-kubelet", "key of b-kubelet-server"})
        access = json.loads(self.files[node_files.KUBELET_ACCESS])
        self.assertEqual(self.files[access["users"][0]["user"]["client-key"]], "key of b-kubelet")
        authority = access["clusters"][0]["cluster"]["certificate-authority"]
        self.assertEqual(self.files[authority], "certificate of ca")

    def test_the_kubelet_tells_what_changed_within_a_second(self) -> None:
        kubelet = json.loads(self.files[node_files.KUBELET_CONFIG])
        self.assertEqual(kubelet["nodeStatusUpdateFrequency"], "1s")
        self.assertEqual(kubelet["nodeLeaseDurationSeconds"], 8)

    def test_containerd_gives_every_container_the_hardware_and_no_file_of_the_driver(self) -> None:
        config = tomllib.loads(self.files[node_files.CONTAINERD_CONFIG])
        runtime = config["plugins"]["io.containerd.cri.v1.runtime"]
        self.assertEqual(runtime["containerd"]["runtimes"]["runc"]["base_runtime_spec"], node_files.BASE_SPEC)
        spec = json.loads(self.files[node_files.BASE_SPEC])
        self.assertEqual([mount["destination"] for mount in spec["mounts"]], ["/proc", "/run/partita-sim/sim"])
        self.assertEqual(len(BASE["mounts"]), 1)

    def test_pods_may_choose_the_runtime_of_a_stack(self) -> None:
        config = tomllib.loads(node_files.containerd("native"))
        runtimes = config["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]
        self.assertEqual(
            {name: made["options"]["BinaryName"] for name, made in runtimes.items()},
            {"runc": node_files.RUNC, "nvidia": "/usr/local/nvidia/toolkit/nvidia-container-runtime"},
        )
        self.assertEqual(runtimes["nvidia"]["base_runtime_spec"], node_files.BASE_SPEC)

    def test_containerd_is_told_what_this_kind_of_machine_needs(self) -> None:
        config = tomllib.loads(node_files.containerd("native"))
        runtime = config["plugins"]["io.containerd.cri.v1.runtime"]
        self.assertIs(runtime["restrict_oom_score_adj"], True)
        self.assertEqual(runtime["cdi_spec_dirs"], ["/etc/cdi", "/var/run/cdi"])
        images = config["plugins"]["io.containerd.cri.v1.images"]
        self.assertEqual(images["snapshotter"], "native")
        self.assertEqual(images["pinned_images"]["sandbox"], "partita.test/pause:1")

    def test_pods_of_a_node_get_addresses_of_its_own_subnet(self) -> None:
        network = json.loads(self.files["/etc/cni/net.d/10-pods.conflist"])
        ranges = network["plugins"][0]["ipam"]["ranges"]
        self.assertEqual(ranges, [[{"subnet": "10.64.17.0/24", "gateway": "10.64.17.1"}]])


if __name__ == "__main__":
    unittest.main()
