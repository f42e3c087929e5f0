"""The objects of the fake API server (fake_api.py): their versions, owners and history, and what is refused of them."""

import copy
import re
import threading

LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
EVENT_NEEDS = ("eventTime", "reportingController", "reportingInstance", "action", "reason", "regarding")


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def document(self):
        return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.code, "reason": self.reason,
                "message": self.message}


def merge(target, patch, strategic=False, path=()):
    """RFC 7396; `strategic` also knows that conditions are keyed by their type."""
    if strategic and path == ("status", "conditions") and isinstance(patch, list):
        merged = {each["type"]: each for each in target or []}
        for each in patch:
            if each.get("$patch") == "delete":
                merged.pop(each["type"], None)
            else:
                merged[each["type"]] = {**merged.get(each["type"], {}), **each}
        return list(merged.values())
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value, strategic, (*path, key))
    return result


def leaves(value, path=()):
    """Every field that somebody can own, and what it is."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, (*path, key))
    elif path not in {("apiVersion",), ("kind",)} and path[:2] not in {
            ("metadata", "name"), ("metadata", "namespace"), ("metadata", "resourceVersion"), ("metadata", "uid"),
            ("metadata", "creationTimestamp"), ("metadata", "managedFields")}:
        yield path, value


def without(value, path):
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: below for key, below in value.items() if key != path[0]}
    return {**value, path[0]: without(value[path[0]], path[1:])}


def managed_fields(owners, tainters):
    """As the API server tells who applied what; of those who patched or updated only who wrote taints."""
    entries = [{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:taints": {}}}} for manager in sorted(tainters)]
    for manager, fields in owners.items():
        tree = {}
        for path in fields:
            at = tree
            for key in path:
                at = at.setdefault(f"f:{key}", {})
        if tree:
            entries.append({"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": tree})
    return entries


class Store:
    """All objects, and what happened to them; every change has a number."""

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.objects = {}  # (group, plural, namespace, name): object
        self.owners = {}  # the same: {manager: {path: value}}
        self.tainters = {}  # the same: managers whose list of taints it is
        self.version = 100
        self.forgotten = 0
        self.history = []  # (version, type, key, object)

    def put(self, key, made):
        before = self.objects.get(key)
        metadata = {**made.get("metadata", {}), "name": key[3]}
        if key[2]:
            metadata["namespace"] = key[2]
        if self.owners.get(key) or self.tainters.get(key):
            metadata["managedFields"] = managed_fields(self.owners.get(key, {}), self.tainters.get(key, set()))
        made = {**made, "metadata": metadata}
        self.check(key, made)
        if before is not None:
            metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
            metadata["uid"] = before["metadata"]["uid"]
            if made == before:
                return before
        self.version += 1
        metadata.setdefault("uid", f"uid-{self.version}")
        metadata["resourceVersion"] = str(self.version)
        self.objects[key] = made
        self.tell("MODIFIED" if before else "ADDED", key, made)
        return made

    def tell(self, kind, key, made):
        self.history.append((self.version, kind, key, copy.deepcopy(made)))
        self.changed.notify_all()

    @staticmethod
    def check(key, made):
        for name, value in (made["metadata"].get("labels") or {}).items():
            if not isinstance(value, str) or not LABEL.fullmatch(value):
                raise Refused(422, "Invalid", f"metadata.labels: Invalid value: {value!r} of {name}")
        if key[:2] == ("events.k8s.io", "events"):
            for need in EVENT_NEEDS:
                if not made.get(need):
                    raise Refused(422, "Invalid", f"{need}: Required value")

    def need(self, key):
        if key not in self.objects:
            raise Refused(404, "NotFound", f'{key[1]} "{key[3]}" not found')
        return self.objects[key]

    def create(self, key, made):
        if key in self.objects:
            raise Refused(409, "AlreadyExists", f'{key[1]} "{key[3]}" already exists')
        return self.put(key, made)

    def update(self, key, made):
        self.check_version(key, made)
        return self.put(key, made)

    def patch(self, key, patch, strategic, manager):
        self.check_version(key, patch)
        if "taints" in patch.get("spec", {}):
            self.tainters[key] = {manager}
        return self.put(key, merge(self.objects[key], patch, strategic))

    def check_version(self, key, sent):
        there = self.need(key)
        meant = sent.get("metadata", {}).get("resourceVersion")
        if meant and meant != there["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", "the object has been modified; please apply your changes to the latest version")

    def delete(self, key):
        gone = self.need(key)
        self.version += 1
        del self.objects[key]
        self.owners.pop(key, None)
        self.tainters.pop(key, None)
        gone = copy.deepcopy(gone)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.tell("DELETED", key, gone)
        return gone

    def apply(self, key, made, manager, force):
        owners = self.owners.setdefault(key, {})
        there = dict(leaves(self.objects.get(key, {})))
        wanted = dict(leaves(made))
        for other, fields in owners.items():
            differing = [] if other == manager else [
                path for path in fields if path in wanted and wanted[path] != there.get(path)]
            if differing and not force:
                raise Refused(409, "Conflict", f"Apply failed with 1 conflict: conflict with \"{other}\": "
                              + ", ".join("." + ".".join(path) for path in differing))
            for path in differing:
                del fields[path]
        result = self.objects.get(key, {})
        for path in owners.get(manager, {}):
            if path not in wanted and not any(path in fields for other, fields in owners.items() if other != manager):
                result = without(result, path)
        owners[manager] = wanted
        return self.put(key, merge(result, made))
