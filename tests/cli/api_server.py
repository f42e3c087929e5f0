#!/usr/bin/python3 -B
"""An API server for scripts: tests/support/fake_api.py with certificates of its own and a kubeconfig.

    api_server.py serve FOLDER                 until its input ends; FOLDER/kubeconfig is then there, and "serving" said
    api_server.py put FOLDER PATH JSON         an object, whatever was there
    api_server.py delete FOLDER PATH
    api_server.py get FOLDER PATH              prints it
"""

import json
import os
import pathlib
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "first-token"


def serve(folder):
    os.environ.setdefault("PARTITA_HTTP_PEER", "")
    sys.path.insert(0, str(HERE.parent / "integration"))
    from http_client import Authority
    folder.mkdir()
    authority = Authority(folder, "authority")
    cert, key = authority.sign("server", "IP:127.0.0.1")
    api = subprocess.Popen([HERE.parent / "support" / "fake_api.py", cert, key, TOKEN], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    address = f"https://127.0.0.1:{int(api.stdout.readline())}"
    (folder / "address").write_text(address)
    (folder / "kubeconfig").write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a, namespace: default}}]\n"
        f'clusters: [{{name: a, cluster: {{server: "{address}", certificate-authority: {authority.cert}}}}}]\n'
        f"users: [{{name: a, user: {{token: {TOKEN}}}}}]\n")
    print("serving", flush=True)
    sys.stdin.read()
    api.stdin.close()
    api.wait(timeout=60)


def ask(folder, method, path, body=None):
    request = urllib.request.Request((folder / "address").read_text() + path, method=method, data=body)
    request.add_header("Authorization", f"Bearer {TOKEN}")
    request.add_header("Content-Type", "application/json")
    context = ssl.create_default_context(cafile=folder / "authority.pem")
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:
        return json.load(answer)


def put(folder, path, text):
    made = json.loads(text)
    try:
        there = ask(folder, "GET", path)
        # What others wrote into its status is not ours to remove.
        ask(folder, "PUT", path, json.dumps({**({"status": there["status"]} if "status" in there else {}), **made}).encode())
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        ask(folder, "POST", path.rsplit("/", 1)[0], text.encode())


def main(verb, folder, *words):
    folder = pathlib.Path(folder)
    if verb == "serve":
        serve(folder)
    elif verb == "put":
        put(folder, *words)
    elif verb == "delete":
        ask(folder, "DELETE", *words)
    else:
        print(json.dumps(ask(folder, "GET", *words)))


if __name__ == "__main__":
    main(*sys.argv[1:])
