"""runc without any engine: the bench itself injects what a CDI spec says, by the rules of the CDI 1.1 specification."""

import json
from pathlib import Path
from typing import Any

from containers import cases
from containers.engines.engine import SPEC, Engine, Request

CAPABILITIES = ("CAP_AUDIT_WRITE", "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE")

LIFE = '"$0" --root "$1" create --bundle "$2" "$3" && "$0" --root "$1" start "$3"'


class PlainRunc(Engine):
    """Bundles as `runc spec` makes them."""

    name = "runc-cdi"

    def run(self, request: Request) -> str:
        """Created and started, as engines do it: runtimes like ours look at the first alone. What the container says
        comes through to its end, since it holds the output open."""
        bundle = self.bundle(request)
        try:
            return self.output([*self.enter, "sh", "-c", LIFE, self.runtime(), self.state(), str(bundle), request.name])
        finally:
            self.node.check([*self.enter, self.runtime(), "--root", self.state(), "delete", "--force", request.name])

    def state(self) -> str:
        return str(self.scratch / "state")

    def runtime(self) -> str:
        return self.runc

    def bundle(self, request: Request) -> Path:
        bundle = self.scratch / request.name
        bundle.mkdir()
        self.node.check([self.runc, "spec", "--bundle", str(bundle)])
        config = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
        config["process"] |= {"args": request.command, "terminal": False}
        for kind in ("bounding", "effective", "permitted"):
            config["process"]["capabilities"][kind] = list(CAPABILITIES)
        config["root"] = {"path": str(self.root_for(request)), "readonly": False}
        config["linux"]["cgroupsPath"] = f"{self.cgroup}/{request.name}"
        config["process"]["env"] += request.environment
        self.ask(config, request)
        (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return bundle

    def ask(self, config: dict[str, Any], request: Request) -> None:
        """Puts what is wanted into the bundle."""
        if request.devices:
            inject(config, json.loads(self.node.check(["cat", SPEC])), request)


class PlainRuncUnified(PlainRunc):
    name = "runc-cdi-v2"
    enter = Engine.UNIFIED


class RuncRuntime(PlainRunc):
    """Our runtime in front of runc, which it finds on PATH."""

    name = "runc-runtime"
    injection = cases.RUNTIME

    def start(self) -> None:
        super().start()
        self.programs = self.own_programs()

    def runtime(self) -> str:
        return str(self.programs / "nvidia-container-runtime")

    def ask(self, config: dict[str, Any], request: Request) -> None:
        config["process"]["env"].append(self.wanted(request))


class RuncRuntimeUnified(RuncRuntime):
    name = "runc-runtime-v2"
    enter = Engine.UNIFIED


def inject(config: dict[str, Any], spec: dict[str, Any], request: Request) -> None:
    edits = {device["name"]: device["containerEdits"] for device in spec["devices"]}
    for part in [*(edits[name] for name in request.devices), spec["containerEdits"]]:
        apply(config, without(part, request.without) if request.without else part)
    config["mounts"].sort(key=lambda mount: mount["destination"].count("/"))


def without(edits: dict[str, Any], word: str) -> dict[str, Any]:
    def is_kept(entry: dict[str, Any]) -> bool:
        return word not in (entry.get("path"), entry.get("containerPath"), *entry.get("args", []))
    kinds = ("deviceNodes", "hooks", "mounts")
    return {**edits, **{kind: list(filter(is_kept, edits.get(kind, []))) for kind in kinds}}


def apply(config: dict[str, Any], edits: dict[str, Any]) -> None:
    config["process"]["env"] += edits.get("env", [])
    for node in edits.get("deviceNodes", []):
        device = {"path": node["path"], "type": "c", "major": node["major"], "minor": node.get("minor", 0)}
        known = config["linux"].setdefault("devices", [])
        if any(other["path"] == node["path"] for other in known):
            continue
        known.append({**device, "fileMode": node.get("fileMode", 0o666)})
        rule = {"allow": True, "type": "c", "access": node.get("permissions", "rwm")}
        config["linux"]["resources"]["devices"].append({**rule, "major": device["major"], "minor": device["minor"]})
    for mount in edits.get("mounts", []):
        config["mounts"].append({
            "destination": mount["containerPath"], "source": mount["hostPath"], "options": mount["options"],
        })
    for hook in edits.get("hooks", []):
        own = {key: hook[key] for key in ("path", "args", "env")}
        config.setdefault("hooks", {}).setdefault(hook["hookName"], []).append(own)
