#!/usr/bin/python3 -B
"""The contract of an API server (kube_contract.cc) against the fake in Python.

Usage: PARTITA_KUBE_CONTRACT=PROGRAM kube.py [gtest's words]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("PARTITA_HTTP_PEER", "")
sys.path.insert(0, str(HERE))
from http_client import Authority  # noqa: E402  (its certificates are what is needed here too)

TOKEN = "first-token"


def main(words):
    with tempfile.TemporaryDirectory(prefix="partita-kube.") as name:
        folder = pathlib.Path(name)
        authority = Authority(folder, "authority")
        cert, key = authority.sign("server", "IP:127.0.0.1")
        token = folder / "token"
        token.write_text(TOKEN + "\n")
        other = Authority(folder, "other-authority")
        other.sign("other-server", "IP:127.0.0.1")
        for each in ("first", "second"):
            authority.sign(each, usage="clientAuth")
        api = subprocess.Popen([HERE.parent / "support" / "fake_api.py", cert, key, TOKEN, authority.cert],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            port, _, mutual_port = (int(api.stdout.readline()) for _ in range(3))
            kubeconfig = folder / "config"
            kubeconfig.write_text(
                "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a, namespace: default}}]\n"
                f'clusters: [{{name: a, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: '
                f"{authority.cert}}}}}]\nusers: [{{name: a, user: {{tokenFile: token}}}}]\n")
            # The test puts those files there.
            (folder / "mutual").write_text(
                "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a, namespace: default}}]\n"
                f'clusters: [{{name: a, cluster: {{server: "https://127.0.0.1:{mutual_port}", certificate-authority: '
                "ca.pem}}]\nusers: [{name: a, user: {client-certificate: client.pem, client-key: client.key}}]\n")
            environment = {**os.environ, "PARTITA_CONTRACT_CERTIFICATES": str(folder), "PARTITA_CONTRACT_KUBECONFIG": str(kubeconfig),
                           "PARTITA_CONTRACT_TOKEN_FILE": str(token)}
            return subprocess.run([os.environ["PARTITA_KUBE_CONTRACT"], *words], env=environment, check=False).returncode
        finally:
            api.stdin.close()
            api.wait(timeout=60)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
