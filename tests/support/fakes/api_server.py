"""A Kubernetes API server in memory, as far as the operator, helm and the tests use one.

It answers at the level of HTTP requests, so that the shipped client, caches and writers run on top of it. It knows
resource versions and conflicts, generations, status subresources, finalizers, merge patches, server-side apply,
selectors, partial metadata and watches. It knows no schemas, no admission, no RBAC and no garbage collection.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from urllib.parse import unquote

import orjson

from tests.support.fakes.field_managers import fields_of, hand_over, managed_fields
from tests.support.fakes.json_patch import Json, apply, merge, selects, selects_fields
from tests.support.fakes.kinds import DISCOVERY, KINDS, WITH_GENERATION, WITH_STATUS
from tests.support.fakes.list_keys import repeated_name, with_defaults
from tests.support.fakes.metadata import SERVER_METADATA, kept_metadata
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.kube.api_errors import error_from_response
from xapp_operator.kube.credentials import ClusterCredentials
from xapp_operator.kube.transport import ApiRequest, ApiResponse, ApiTransport, RequestIdentity

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_READS = {"GET", "HEAD"}

Key = tuple[str, str]
"""Namespace and name of an object."""


class Refused(Exception):
    """A response with an error."""

    def __init__(self, code: int, reason: str, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": {"name": name},
            "code": code,
        }


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def kind(self) -> str:
        return KINDS[self.group, self.version][self.plural][0]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> Key:
        return self.namespace, self.name


@dataclass(slots=True)
class _Watcher:
    namespace: str
    selector: str
    partial: bool
    lines: asyncio.Queue[tuple[float, bytes]] = field(default_factory=asyncio.Queue)


@dataclass(frozen=True, slots=True)
class _Change:
    version: int
    kind: str
    body: Json
    before: Json | None


class FakeApiServer:
    """The objects of one cluster."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self.lag = 0.0
        """Seconds until a watch shows a change."""
        self._version = itertools.count(1)
        self.newest_version = 0
        self._objects: defaultdict[str, dict[Key, Json]] = defaultdict(dict)
        self._changes: defaultdict[str, list[_Change]] = defaultdict(list)
        self._watchers: defaultdict[str, list[_Watcher]] = defaultdict(list)
        self.on_stored: list[Callable[[str, Json], None]] = []
        """Called with the plural and the body of each object that was created or changed."""
        self.unwatchable: set[str] = set()
        """The plurals of kinds that the operator may not list and watch, as it is told when it asks."""
        self.on_removed: list[Callable[[str, Json], None]] = []

    # Requests

    def handle(self, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        """Return the body of the response to a request that is no watch.

        Raises:
            Refused: for a status of 400 or more.
        """
        document = self._document(request.path)
        if document is not None:
            return document
        body: Json = {} if request.body is None else orjson.loads(request.body)
        if request.path.endswith("/selfsubjectaccessreviews"):
            resource = body["spec"]["resourceAttributes"]["resource"]
            return {**body, "status": {"allowed": resource not in self.unwatchable}}
        target = parse_path(request.path)
        partial = "PartialObjectMetadata" in request.headers.get("Accept", "")
        if request.method == "GET":
            return self._read(target, request, partial=partial)
        stored = self._write(target, request, body, manager=manager)
        return _partial(stored) if partial else stored

    def _write(self, target: Target, request: ApiRequest, body: Json, *, manager: str) -> Json:
        dry_run = "dryRun" in request.params
        if request.method == "POST":
            return self.create(target, body, dry_run=dry_run, manager=manager)
        if request.method == "PUT":
            return self.replace(target, body, dry_run=dry_run, manager=manager)
        if request.method == "DELETE":
            return self.delete(target, body.get("preconditions") or {})
        if "apply-patch" in request.headers.get("Content-Type", ""):
            field_manager = request.params["fieldManager"]
            return self.apply(target, body, manager=field_manager, dry_run=dry_run)
        return self.patch(target, body, manager=manager)

    def watch(self, request: ApiRequest) -> AsyncGenerator[bytes]:
        """Return the stream of a watch; it never ends by itself, as a server may keep it open for long."""
        target = parse_path(request.path)
        watcher = _Watcher(
            target.namespace,
            request.params.get("labelSelector", ""),
            "PartialObjectMetadata" in request.headers.get("Accept", ""),
        )
        if request.params.get("sendInitialEvents"):
            for body in self._select(target, watcher.selector, ""):
                watcher.lines.put_nowait((0.0, _line("ADDED", body, partial=watcher.partial)))
            ended = {"k8s.io/initial-events-end": "true"}
            bookmark = {"metadata": {"resourceVersion": str(max(self.newest_version, 1)), "annotations": ended}}
            watcher.lines.put_nowait((0.0, orjson.dumps({"type": "BOOKMARK", "object": bookmark}) + b"\n"))
        else:
            since = int(request.params.get("resourceVersion", self.newest_version))
            for change in self._changes[target.plural]:
                if change.version > since:
                    _notify(watcher, change, due=self._clock.monotonic() + self.lag)
        return self._stream(target.plural, watcher)

    async def _stream(self, plural: str, watcher: _Watcher) -> AsyncGenerator[bytes]:
        self._watchers[plural].append(watcher)
        try:
            while True:
                due, line = await watcher.lines.get()
                await asyncio.sleep(max(due - self._clock.monotonic(), 0.0))
                yield line
        finally:
            self._watchers[plural].remove(watcher)

    @property
    def watched(self) -> list[str]:
        """Return the plural of each watch that is open."""
        return [plural for plural, watchers in self._watchers.items() for _ in watchers]

    # Verbs

    def get(self, target: Target) -> Json:
        """Return one object as it is stored; it must not be changed."""
        found = self._objects[target.plural].get(target.key)
        if found is None:
            message = f'{_group_resource(target)} "{target.name}" not found'
            raise Refused(404, "NotFound", message, name=target.name)
        return found

    def find(self, plural: str, name: str, *, namespace: str = "ns") -> Json | None:
        """Return an object, or None."""
        return self._objects[plural].get((namespace, name))

    def all(self, plural: str) -> list[Json]:
        return list(self._objects[plural].values())

    def create(self, target: Target, body: Json, *, dry_run: bool = False, manager: str = "") -> Json:
        metadata = {**body.get("metadata", {})}
        target = Target(target.group, target.version, target.plural, target.namespace, metadata["name"])
        _check_name(target)
        if target.key in self._objects[target.plural]:
            message = f'{_group_resource(target)} "{target.name}" already exists'
            raise Refused(409, "AlreadyExists", message, name=target.name)
        metadata["creationTimestamp"] = self._timestamp()
        metadata["uid"] = f"uid-{self.newest_version + 1}"
        if target.namespace:
            metadata["namespace"] = target.namespace
        if target.plural in WITH_GENERATION:
            metadata["generation"] = 1
        created = with_defaults({"apiVersion": target.api_version, "kind": target.kind, **body, "metadata": metadata})
        if target.plural in WITH_STATUS:
            created.pop("status", None)
            if target.plural == "xapps":
                created["status"] = {"observedGeneration": -1}
        if manager and "managedFields" not in metadata:
            metadata["managedFields"] = managed_fields(
                body | {"kind": target.kind, "apiVersion": target.api_version}, manager=manager, operation="Update"
            )
        return created if dry_run else self._store(target, created, None)

    def replace(self, target: Target, body: Json, *, dry_run: bool = False, manager: str = "kubectl") -> Json:
        before = self.get(target)
        _check_version(target, before, body.get("metadata", {}).get("resourceVersion"))
        changed = {**body, "metadata": {**before["metadata"], **body["metadata"]}}
        changed["metadata"] = {
            key: value
            for key, value in changed["metadata"].items()
            if key in body["metadata"] or key in SERVER_METADATA
        }
        return self._update(target, before, changed, dry_run=dry_run, manager=manager)

    def patch(self, target: Target, patch: Json, *, manager: str = "kubectl") -> Json:
        before = self.get(target)
        _check_version(target, before, patch.get("metadata", {}).get("resourceVersion"))
        return self._update(target, before, merge(before, patch), dry_run=False, manager=manager)

    def apply(
        self, target: Target, body: Json, *, manager: str, dry_run: bool = False, before: Json | None = None
    ) -> Json:
        """Apply `body`; `before` is what this manager applied last, by default nothing that would now be removed."""
        managed = managed_fields(body, manager=manager)
        live = self._objects[target.plural].get(target.key)
        if live is None:
            metadata = {**body.get("metadata", {}), "managedFields": managed}
            return self.create(target, {**body, "metadata": metadata}, dry_run=dry_run)
        _check_version(target, live, body.get("metadata", {}).get("resourceVersion"))
        own, theirs = fields_of(live, manager)
        changed = apply(live, body, before=before or {}, own=own, others=theirs)
        others = [each for each in hand_over(live, changed) if each["manager"] != manager]
        changed["metadata"] = {**changed["metadata"], "managedFields": [*others, *managed]}
        return self._update(target, live, changed, dry_run=dry_run)

    def delete(self, target: Target, preconditions: Json) -> Json:
        before = self.get(target)
        metadata = before["metadata"]
        for name in ("uid", "resourceVersion"):
            if preconditions.get(name) not in (None, metadata[name]):
                raise Refused(409, "Conflict", f"the {name} in the precondition does not match", name=target.name)
        if metadata.get("finalizers"):
            if "deletionTimestamp" in metadata:
                return before
            marked = {**metadata, "deletionTimestamp": self._timestamp(), "deletionGracePeriodSeconds": 0}
            if "generation" in marked:
                marked["generation"] += 1
            return self._store(target, {**before, "metadata": marked}, before)
        self._remove(target, before)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def copy_objects(self, other: FakeApiServer) -> None:
        """Take over all objects of another server, which nobody changes any more, as they are."""
        self._objects = defaultdict(dict, {plural: {**objects} for plural, objects in other._objects.items()})
        self.newest_version = other.newest_version
        self._version = itertools.count(self.newest_version + 1)

    # Storage

    def _update(self, target: Target, before: Json, changed: Json, *, dry_run: bool, manager: str = "") -> Json:
        metadata = kept_metadata(before, changed)
        changed = with_defaults({**changed, "metadata": metadata})
        if target.subresource == "status":
            changed = {**before, "status": changed.get("status", {})}
        elif target.plural in WITH_STATUS:
            changed.pop("status", None)
            if "status" in before:
                changed["status"] = before["status"]
            if changed.get("spec") != before.get("spec"):
                metadata["generation"] += 1
        if manager and target.subresource != "status" and "managedFields" in metadata:
            metadata["managedFields"] = hand_over(before, changed, manager=manager)
        _check_ports(target, changed)
        if changed == before or dry_run:
            return changed if dry_run else before
        if "deletionTimestamp" in metadata and "finalizers" not in metadata:
            self._remove(target, changed)
            return changed
        return self._store(target, changed, before)

    def _store(self, target: Target, body: Json, before: Json | None) -> Json:
        version = self.newest_version = next(self._version)
        stored = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        self._objects[target.plural][target.key] = stored
        self._record(target.plural, _Change(version, "ADDED" if before is None else "MODIFIED", stored, before))
        for listener in self.on_stored:
            listener(target.plural, stored)
        return stored

    def _remove(self, target: Target, body: Json) -> None:
        del self._objects[target.plural][target.key]
        version = self.newest_version = next(self._version)
        removed = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        self._record(target.plural, _Change(version, "DELETED", removed, body))
        for listener in self.on_removed:
            listener(target.plural, removed)

    def _record(self, plural: str, change: _Change) -> None:
        self._changes[plural].append(change)
        for watcher in self._watchers[plural]:
            _notify(watcher, change, due=self._clock.monotonic() + self.lag)

    # Reading

    def _read(self, target: Target, request: ApiRequest, *, partial: bool) -> Json:
        if target.name:
            found = self.get(target)
            return _partial(found) if partial else found
        params = request.params
        chosen = list(self._select(target, params.get("labelSelector", ""), params.get("fieldSelector", "")))
        start, limit = int(params.get("continue", "0")), int(params.get("limit", "0")) or len(chosen)
        items = [_partial(each) if partial else each for each in chosen[start : start + limit]]
        metadata = {"resourceVersion": str(max(self.newest_version, 1))}
        if start + limit < len(chosen):
            metadata["continue"] = str(start + limit)
        return {"kind": "List", "metadata": metadata, "items": items}

    def _select(self, target: Target, labels: str, fields: str) -> Iterator[Json]:
        for (namespace, _), body in sorted(self._objects[target.plural].items()):
            if target.namespace not in ("", namespace):
                continue
            if selects(labels, body["metadata"].get("labels", {})) and selects_fields(fields, body):
                yield body

    def _document(self, path: str) -> Json | None:
        return {"gitVersion": "v1.36.3"} if path == "/version" else DISCOVERY.get(path)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of a response that begins now."""
        return {"Date": _date(int(self._clock.now()))}

    def _timestamp(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FakeTransport(ApiTransport):
    """The connection of one process to a FakeApiServer."""

    def __init__(
        self,
        server: FakeApiServer,
        credentials: ClusterCredentials,
        *,
        around_write: Callable[[ApiRequest], Callable[[], None]] = lambda _: lambda: None,
        refuse: Callable[[ApiRequest], None] = lambda _: None,
        on_response: Iterable[Callable[[ApiRequest, ApiResponse, RequestIdentity], None]] = (),
        on_server_time: Callable[[float], None] | None = None,
    ) -> None:
        """Connect; `around_write` is called before each write, and what it returns after it.

        `refuse` is called with each request, and may raise Refused; `on_response` with each response.
        """
        super().__init__(credentials, on_server_time=on_server_time)
        self._server = server
        self._refuse = refuse
        self.latency: Callable[[ApiRequest], float] = lambda _: 0.0
        self.response_latency: Callable[[ApiRequest], float] = lambda _: 0.0
        self._on_response = on_response
        self._around_write = around_write
        self.requests: list[ApiRequest] = []

    async def send(self, request: ApiRequest, *, identity: RequestIdentity) -> ApiResponse:
        await asyncio.sleep(self.latency(request))
        identity.check_write(request.method)
        self.requests.append(request)
        done = self._around_write(request) if request.method not in _READS else None
        try:
            self._refuse(request)
            response = ApiResponse(200, self._server.headers, orjson.dumps(self._server.handle(request)))
        except Refused as refused:
            response = ApiResponse(refused.code, {}, orjson.dumps(refused.body))
        for listener in self._on_response:
            listener(request, response, identity)
        if done is not None:
            done()
        if (seconds := self.response_latency(request)) > 0:
            await asyncio.sleep(seconds)
        self._note_server_time(request, response.status, response.headers)
        return response

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        try:
            self._refuse(request)
            chunks = self._server.watch(request)
        except Refused as refused:
            raise error_from_response(refused.code, orjson.dumps(refused.body), path=request.path) from None
        self._note_server_time(request, 200, self._server.headers)
        try:
            yield chunks
        finally:
            await chunks.aclose()


_date = functools.lru_cache(maxsize=1)(functools.partial(formatdate, usegmt=True))


@functools.lru_cache(maxsize=1024)
def parse_path(path: str) -> Target:
    """Return what a path of a collection or an object names.

    Raises:
        Refused: when the kind is not served.
    """
    parts = [unquote(part) for part in path.strip("/").split("/")]
    group, rest = ("", parts[1:]) if parts[0] == "api" else (parts[1], parts[2:])
    version, *rest = rest
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *_ = (*rest, "", "")
    if plural not in KINDS.get((group, version), {}):
        raise Refused(404, "NotFound", "the server could not find the requested resource")
    return Target(group, version, plural, namespace, name, subresource)


def target_of(body: Json, *, namespace: str) -> Target:
    """Return the target of an object with apiVersion, kind and a name, in `namespace` if it names no other."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    kinds = KINDS[group, version]
    plural = next(plural for plural, (kind, _) in kinds.items() if kind == body["kind"])
    where = str(body["metadata"].get("namespace") or namespace)
    return Target(group, version, plural, where if kinds[plural][1] else "", str(body["metadata"]["name"]))


def _notify(watcher: _Watcher, change: _Change, *, due: float) -> None:
    metadata = change.body["metadata"]
    if watcher.namespace not in ("", metadata.get("namespace", "")):
        return
    now = selects(watcher.selector, metadata.get("labels", {}))
    known = change.before is not None and selects(watcher.selector, change.before["metadata"].get("labels", {}))
    if change.kind == "DELETED":
        kind = "DELETED" if known else ""
    else:
        kind = ("MODIFIED" if known else "ADDED") if now else ("DELETED" if known else "")
    if kind:
        watcher.lines.put_nowait((due, _line(kind, change.body, partial=watcher.partial)))


def _line(kind: str, body: Json, *, partial: bool) -> bytes:
    return orjson.dumps({"type": kind, "object": _partial(body) if partial else body}) + b"\n"


def _partial(body: Json) -> Json:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": body["metadata"]}


def _check_version(target: Target, before: Json, version: str | None) -> None:
    if version not in (None, before["metadata"]["resourceVersion"]):
        message = (
            f'Operation cannot be fulfilled on {_group_resource(target)} "{target.name}": the object has been '
            "modified; please apply your changes to the latest version and try again"
        )
        raise Refused(409, "Conflict", message, name=target.name)


def _check_name(target: Target) -> None:
    if not _NAME.fullmatch(target.name):
        message = f'{target.kind} "{target.name}" is invalid: metadata.name: Invalid value: "{target.name}"'
        raise Refused(422, "Invalid", message, name=target.name)


def _check_ports(target: Target, body: Json) -> None:
    if target.plural == "services" and (where := repeated_name(body["spec"].get("ports", []), "spec.ports")):
        refused = Refused(422, "Invalid", f'Service "{target.name}" is invalid: {where}: Duplicate value: "a"')
        refused.body["details"] = {"name": target.name, "causes": [{"field": where, "message": "Duplicate value"}]}
        raise refused


def _group_resource(target: Target) -> str:
    return f"{target.plural}.{target.group}" if target.group else target.plural
