#!/usr/bin/python3 -B
"""An API server for tests: HTTPS, a bearer token, objects with versions, server-side apply, watches. It shares nothing
with src/kube, has memory and rules, and is held to the same contract as the real one (tests/integration/kube_contract.cc;
e2e/scenarios/kube_contract.py). What it has not: most kinds, defaults, most of validation, lists merged by key but for
conditions.

POST /fake with a JSON document makes it go wrong; each document replaces the one before, and {} ends it all:

    {"status": 500, "times": 3, "only": "list", "retry_after": 1}   the next answers of that verb
    {"cut_after": 0.2}    every watch ends without a word after so many seconds
    {"slow": 0.5}         every answer comes so much later
    {"forget": true}      once: open watches end, and what was before now is 410
    {"outage": 1.5}       once: nobody listens for so long, and every connection is cut
    {"gone": true}        the same until the next document
    {"token": "other"}    only this token is good from now on, with those that it made itself
    {"certificate": [CERT, KEY]}   who connects from now on is shown this one

Two ports serve the same objects, as two API servers of one cluster do: it says both, a line each. Nothing goes wrong at
the second, and nobody counts there: it is the administrator's. Where CLIENTS, an authority's certificate, is given, a third
port is for whoever has a certificate of that authority, and for nobody else; it needs no token, and what goes wrong at the
first goes wrong there.

GET /fake says what happened at the first: how many requests there were, by verb and resource; how many watches were cut
and how many answers went wrong; and which requests came again sooner than they should after they had gone wrong, which is
what whoever asks in a loop does; and who began the last watch, by the name in his certificate. GET /fake?cut=8 answers once
there are so many of them. Usage: fake_api.py CERT KEY TOKEN [CLIENTS]
"""

import http.server
import json
import pathlib
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.fake_api_objects import Refused, Store  # noqa: E402

# Group, plural, kind, whether it is in a namespace.
RESOURCES = {
    ("", "nodes"): ("Node", False),
    ("", "namespaces"): ("Namespace", False),
    ("", "configmaps"): ("ConfigMap", True),
    ("", "pods"): ("Pod", True),
    ("events.k8s.io", "events"): ("Event", True),
    ("nfd.k8s-sigs.io", "nodefeatures"): ("NodeFeature", True),
}
HURRY = 0.25  # sooner than this nobody asks again who waits at all; a server that says how long is asked no sooner
PATH = re.compile(r"/(?:api/v1|apis/(?P<group>[^/]+)/v[^/]+)(?:/namespaces/(?P<space>[^/]+)(?=/[^/]+))?/(?P<plural>[^/]+)"
                  r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>status|token))?")


class Faults:
    def __init__(self):
        self.now = {}
        self.left = 0
        self.lock = threading.Lock()

    def set(self, document):
        with self.lock:
            self.now, self.left = document, document.get("times", 1)

    def status(self, verb):
        """The status of an answer that goes wrong; 0: none does."""
        with self.lock:
            if "status" not in self.now or self.now.get("only", verb) != verb or self.left <= 0:
                return 0
            self.left -= 1
            return self.now["status"]


class Tally:
    """What was asked, what went wrong, and who could not wait."""

    def __init__(self):
        self.requests, self.hurried, self.cut, self.wrong, self.watcher = {}, {}, 0, 0, ""
        self.not_before = {}  # by request
        self.changed = threading.Condition()

    def asked(self, counted, request):
        with self.changed:
            self.requests[counted] = self.requests.get(counted, 0) + 1
            if time.monotonic() < self.not_before.pop(request, 0):
                self.hurried[counted] = self.hurried.get(counted, 0) + 1

    def went_wrong(self, request, pause=HURRY):
        """Called before whoever asked can know."""
        with self.changed:
            self.wrong += 1
            self.not_before[request] = time.monotonic() + pause
            self.changed.notify_all()

    def was_cut(self, request):
        with self.changed:
            self.cut += 1
            self.not_before[request] = time.monotonic() + HURRY
            self.changed.notify_all()

    def wait_for(self, query):
        wanted = {"cut": 0, "wrong": 0, **{key: int(value) for key, value in query.items()}}
        with self.changed:
            self.changed.wait_for(lambda: self.cut >= wanted["cut"] and self.wrong >= wanted["wrong"])

    def document(self):
        with self.changed:
            return {"requests": dict(self.requests), "hurried": dict(self.hurried), "cut": self.cut, "wrong": self.wrong,
                    "watcher": self.watcher}


class Cluster:
    """What all servers of it share."""

    def __init__(self, token):
        self.store, self.faults, self.tally = Store(), Faults(), Tally()
        self.token, self.epoch = token, 0
        self.made = {}  # tokens, each with the node that it ends with
        self.rests = {}  # of lists that were begun, by what continues them: version and objects
        self.servers = []

    def knows(self, token):
        return token == self.token or self.made.get(token) in self.store.objects

    def make_token(self, body):
        """A TokenRequest: of a node, whose end is the token's. Which account it is for is all one here."""
        bound = body["spec"]["boundObjectRef"]
        node = ("", "nodes", "", bound["name"])
        made = f"made-{len(self.made)}-{self.store.need(node)['metadata']['name']}"
        self.made[made] = node
        return {**body, "status": {"token": made}}

    def end_watches(self):
        with self.store.changed:
            self.epoch += 1
            self.store.changed.notify_all()

    def forget(self):
        with self.store.changed:
            self.store.forgotten = self.store.version
            self.store.history.clear()
        self.end_watches()


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words):
        pass

    def setup(self):
        super().setup()
        self.server.open.add(self.connection)

    def finish(self):
        self.server.open.discard(self.connection)
        super().finish()

    def peer(self):
        """The name in the other's certificate, where one was asked for."""
        shown = self.connection.getpeercert() or {"subject": ()}
        return dict(pair[0] for pair in shown["subject"]).get("commonName", "")

    def reply(self, status, document, **headers):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        try:
            if not self.server.listens:  # it came in just before
                self.close_connection = True
                return None
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not self.peer() and not self.server.cluster.knows(token):
                raise Refused(401, "Unauthorized", "Unauthorized")
            if url.path == "/fake":
                return self.fake(query, body)
            self.answer(url.path, query, body)
        except Refused as refused:
            self.reply(refused.code, refused.document())
        except (BrokenPipeError, ConnectionError, ssl.SSLError):
            self.close_connection = True
        return None

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def fake(self, query, body):
        cluster = self.server.cluster
        if self.command == "GET":
            cluster.tally.wait_for(query)
            return self.reply(200, cluster.tally.document())
        cluster.faults.set(body)
        cluster.token = body.get("token", cluster.token)
        if body.get("forget"):
            cluster.forget()
        for server in cluster.servers:
            if server.troubled:
                server.show(*body.get("certificate", server.own))
        troubled = cluster.servers[0]
        if body.get("gone"):
            troubled.leave()
        else:
            troubled.come_back()
        self.reply(200, {})
        if "outage" in body:
            threading.Thread(target=troubled.outage, args=(body["outage"],), daemon=True).start()
        return None

    def answer(self, path, query, body):
        found = PATH.fullmatch(path)
        if not found:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        group, plural = found["group"] or "", found["plural"]
        key = (group, plural, found["space"] or "", found["name"] or body.get("metadata", {}).get("name", ""))
        watches = query.get("watch") in ("true", "1")
        verb = {"GET": "watch" if watches else "get" if found["name"] else "list", "POST": "create", "PUT": "update",
                "PATCH": "patch", "DELETE": "delete"}[self.command]
        # Several of one client ask for the same object, each in its way.
        request = (verb, path, query.get("fieldManager"), self.headers.get("Content-Type"))
        if self.server.troubled and self.goes_wrong(verb, f"{verb} {plural}", request):
            return None
        if (group, plural) == ("authentication.k8s.io", "selfsubjectreviews"):
            return self.reply(201, {"kind": "SelfSubjectReview", "status": {"userInfo": {"username": self.peer()}}})
        if (plural, found["sub"]) == ("serviceaccounts", "token"):
            return self.reply(201, self.server.cluster.make_token(body))
        # As to an account that has rights to these alone: whether there is something else is nothing for it to know.
        if (group, plural) not in RESOURCES:
            raise Refused(403, "Forbidden", f'{plural} is forbidden: cannot {verb} resource "{plural}"')
        if watches:
            return self.watch(key, query, request)
        with self.server.cluster.store.changed:
            status, document = self.act(verb, key, query, body)
        return self.reply(status, document)

    def goes_wrong(self, verb, counted, request):
        faults, tally = self.server.cluster.faults, self.server.cluster.tally
        tally.asked(counted, request)
        time.sleep(faults.now.get("slow", 0))
        status = faults.status(verb)
        if not status:
            return False
        told = {"Retry_After": faults.now["retry_after"]} if "retry_after" in faults.now else {}
        tally.went_wrong(request, told.get("Retry_After", HURRY))
        self.reply(status, Refused(status, "Fault", "as asked for").document(), **told)
        return True

    def act(self, verb, key, query, body):
        store = self.server.cluster.store
        if verb == "list":
            return 200, self.page(key, query)
        if verb == "get":
            return 200, store.need(key)
        if verb == "create":
            return 201, store.create(key, body)
        if verb == "update":
            return 200, store.update(key, body)
        if verb == "delete":
            return 200, store.delete(key)
        kind = self.headers.get("Content-Type", "")
        if kind == "application/apply-patch+yaml":
            if "fieldManager" not in query:
                raise Refused(400, "BadRequest", "fieldManager is required for apply patch")
            there = key in store.objects
            return 200 if there else 201, store.apply(key, body, query["fieldManager"], query.get("force") == "true")
        if kind not in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            raise Refused(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {kind}")
        if kind.startswith("application/strategic") and "." in key[0] and not key[0].endswith("k8s.io"):
            raise Refused(415, "UnsupportedMediaType", "strategic merge is for built-in kinds")
        return 200, store.patch(key, body, "strategic" in kind, query.get("fieldManager", "unknown"))

    def page(self, key, query):
        """A list, or so much of it as is asked for: all its pages are of one moment."""
        cluster, store = self.server.cluster, self.server.cluster.store
        if "continue" in query:
            if query["continue"] not in cluster.rests:
                raise Refused(400, "BadRequest", "continue key is not valid")
            version, found = cluster.rests[query["continue"]]
            if version < store.forgotten:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
        else:
            version = store.version
            found = [made for at, made in sorted(store.objects.items()) if self.matches(at, key, query)]
        limit = int(query.get("limit", 0)) or len(found)
        metadata = {"resourceVersion": str(version)}
        if found[limit:]:
            # Nothing that a path may have as it is.
            metadata["continue"] = f"{version}/{found[limit]['metadata']['name']}=&"
            metadata["remainingItemCount"] = len(found) - limit
            cluster.rests[metadata["continue"]] = version, found[limit:]
        return {"kind": RESOURCES[key[:2]][0] + "List", "metadata": metadata, "items": found[:limit]}

    @staticmethod
    def matches(at, key, query):
        """In the collection, and by the one selector that is known."""
        if at[:2] != key[:2] or (key[2] and at[2] != key[2]):
            return False
        field, _, value = query.get("fieldSelector", "").partition("=")
        return field != "metadata.name" or at[3] == value

    def watch(self, key, query, request):
        server, store = self.server.cluster, self.server.cluster.store
        begun, last = time.monotonic(), int(query.get("resourceVersion", 0))
        with store.changed:
            if last < store.forgotten:
                raise Refused(410, "Expired", f"too old resource version: {last} ({store.forgotten})")
            epoch = server.epoch
        server.tally.watcher = self.peer()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        while server.epoch == epoch:
            with store.changed:
                news = [entry for entry in store.history if entry[0] > last]
                if not news:
                    store.changed.wait(0.05)
            for version, kind, at, made in news:
                last = version
                if self.matches(at, key, query):
                    self.event(kind, made)
            lived = time.monotonic() - begun
            if self.server.troubled and lived > server.faults.now.get("cut_after", 1e9):
                server.tally.was_cut(request)
                return
            if lived > float(query.get("timeoutSeconds", 600)):
                break
        if server.epoch == epoch:
            if query.get("allowWatchBookmarks") == "true":
                self.event("BOOKMARK", {"kind": RESOURCES[key[:2]][0], "metadata": {"resourceVersion": str(last)}})
            self.wfile.write(b"0\r\n\r\n")

    def event(self, kind, made):
        line = json.dumps({"type": kind, "object": made}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, cluster, cert, key, clients=None):
        self.cluster, self.open, self.listens = cluster, set(), True
        self.troubled = not cluster.servers or clients is not None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.own, self.shown = (cert, key), None
        self.show(cert, key)
        if clients:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(clients)
        super().__init__(("127.0.0.1", 0), Pages)
        cluster.servers.append(self)
        self.serve_beside()

    def serve_beside(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def get_request(self):
        peer, address = super().get_request()
        return self.context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False), address

    def show(self, *files):
        if files != self.shown:
            self.context.load_cert_chain(*files)
        self.shown = files

    def handle_error(self, request, client_address):
        pass

    def leave(self):
        if not self.listens:
            return
        self.listens = False
        self.shutdown()
        self.socket.close()
        self.cluster.end_watches()
        for each in list(self.open):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def come_back(self):
        if self.listens:
            return
        self.socket = socket.create_server(self.server_address[:2], reuse_port=False)
        self.listens = True
        self.serve_beside()

    def outage(self, seconds):
        self.leave()
        time.sleep(seconds)
        self.come_back()


def main(cert, key, token, clients=None):
    cluster = Cluster(token)
    for _ in range(2):
        print(Server(cluster, cert, key).server_address[1], flush=True)
    if clients:
        print(Server(cluster, cert, key, clients).server_address[1], flush=True)
    sys.stdin.read()  # until whoever started it goes


if __name__ == "__main__":
    main(*sys.argv[1:])
