import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from testbench import pki
from testbench.pki import Identity, Pki


class Identities(unittest.TestCase):
    def test_a_node_is_what_the_node_authorizer_knows(self) -> None:
        client, server = pki.node_identities("a", "10.64.0.11")
        self.assertEqual(client.subject, "/O=system:nodes/CN=system:node:a")
        self.assertEqual(client.serves, ())
        self.assertEqual(server.serves, ("DNS:a", "IP:10.64.0.11"))

    def test_only_the_administrator_is_master(self) -> None:
        masters = [one.file for one in pki.control_plane_identities() if "system:masters" in one.groups]
        self.assertEqual(masters, ["admin"])

    def test_a_client_can_not_serve(self) -> None:
        self.assertNotIn("serverAuth", Identity("c", "c").extensions)
        self.assertIn("serverAuth", Identity("s", "s", serves=("DNS:s",)).extensions)


class Certificates(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.pki = Pki(Path(scratch.name) / "pki")
        self.pki.make_authority()

    def openssl(self, *arguments: str | Path) -> str:
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=True)
        return done.stdout

    def test_a_certificate_is_signed_by_the_authority_and_says_who_it_is(self) -> None:
        self.pki.issue(pki.node_identities("a", "10.64.0.11")[1])
        certificate = self.pki.certificate("a-kubelet-server")
        self.openssl("verify", "-CAfile", self.pki.certificate(pki.AUTHORITY), certificate)
        text = self.openssl("x509", "-in", certificate, "-noout", "-subject", "-ext", "subjectAltName")
        self.assertIn("O = system:nodes, CN = system:node:a", text)
        self.assertIn("DNS:a, IP Address:10.64.0.11", text)

    def test_a_kubeconfig_names_its_own_key(self) -> None:
        document = json.loads(self.pki.kubeconfig("admin").read_text(encoding="utf-8"))
        self.assertEqual(document["users"][0]["user"]["client-key"], str(self.pki.key("admin")))
        self.assertEqual(document["clusters"][0]["cluster"]["server"], "https://10.64.0.1:443")


if __name__ == "__main__":
    unittest.main()
