"""An API server for programs that publish objects: tests/support/fake_api.py, in this process."""

import json

from support import fake_api
from support.shell import check

TOKEN = "token"


class ApiServer:
    """`with ApiServer(context, log) as api`: reached by `api.kubeconfig`, its objects are `api.objects(plural, namespace)`."""

    def __init__(self, context, log):
        key, self._certificate = context.scratch("api.key"), context.scratch("api.pem")
        check([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self._certificate,
        ], log)
        self._cluster = fake_api.Cluster(TOKEN)
        self._server = fake_api.Server(self._cluster, self._certificate, key)
        self.kubeconfig = context.scratch("kubeconfig")

    def __enter__(self):
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "clusters": [{"name": "a", "cluster": {
                    "server": f"https://127.0.0.1:{self._server.server_address[1]}",
                    "certificate-authority": self._certificate,
                }}],
                "users": [{"name": "a", "user": {"token": TOKEN}}],
            }, file)
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def put(self, plural, namespace, made):
        """An object of the core group, as somebody has made it before."""
        store = self._cluster.store
        with store.changed:
            store.put(("", plural, namespace, made["metadata"]["name"]), made)

    def objects(self, plural, namespace):
        store = self._cluster.store
        with store.changed:
            return [made for at, made in store.objects.items() if at[1:3] == (plural, namespace)]
