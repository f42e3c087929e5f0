"""runc without any engine: the bench itself injects what a CDI spec says, by the rules of the CDI 1.1 specification."""

import json
from typing import Any

from containers.engines.engine import SPEC, Engine, Request

CAPABILITIES = ("CAP_AUDIT_WRITE", "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE")


# What a host with cgroup v2 alone shows, as current distributions are: runc filters devices by eBPF there.
UNIFIED = 'umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'


class PlainRunc(Engine):
    name = "runc-cdi"
    enter: tuple[str, ...] = ()

    def run(self, request: Request) -> str:
        bundle = self.scratch / request.name
        bundle.mkdir()
        self.node.check([self.runc, "spec", "--bundle", str(bundle)])
        config = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
        config["process"] |= {"args": request.command, "terminal": False}
        for kind in ("bounding", "effective", "permitted"):
            config["process"]["capabilities"][kind] = list(CAPABILITIES)
        config["root"] = {"path": str(self.root_for(request)), "readonly": False}
        config["linux"]["cgroupsPath"] = f"{self.cgroup}/{request.name}"
        if request.devices:
            inject(config, json.loads(self.node.check(["cat", SPEC])), request)
        (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
        state = str(self.scratch / "state")
        return self.output([
            *self.enter, self.runc, "--root", state, "run", "--bundle", str(bundle), request.name,
        ])


class PlainRuncUnified(PlainRunc):
    name = "runc-cdi-v2"
    enter = ("unshare", "--mount", "sh", "-c", UNIFIED, "sh")


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
