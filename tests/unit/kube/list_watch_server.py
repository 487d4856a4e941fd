"""A small server that implements list and watch of one kind, and fails when a test wants it to."""

from __future__ import annotations

import asyncio

import orjson
from aiohttp import web

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.kube.watch.watch_events import WatchEventType

PAGE = 2


def xapp(name: str, *, version: int, namespace: str = "ric", uid: str | None = None, color: str = "red") -> JsonObject:
    """Return an object as the server stores it."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
        },
        "spec": {"color": color},
    }


class ListWatchServer:
    """Objects by namespace and name, with the history that watches read; `version` is the newest resource version.

    Like a real one, it sends nothing to a watch that resumes from an unknown version.
    """

    def __init__(self, *, streams_lists: bool = True) -> None:
        self.streams_lists = streams_lists
        self.version = 100
        self.objects: dict[tuple[str, str], JsonObject] = {}
        self.history: list[tuple[int, bytes]] = []
        self.forgotten = 0
        """Watches that continue before this version get 410."""
        self.refusal: tuple[int, str] | None = None
        """Status and message of the response to every request, when set."""
        self.requests: list[str] = []
        self.accepts: set[str] = set()
        self._changed = asyncio.Condition()
        self._epoch = 0

    def add_object(
        self, name: str, *, namespace: str = "ric", uid: str | None = None, color: str = "red"
    ) -> JsonObject:
        """Add or change an object without an event."""
        self.version += 1
        body = xapp(name, version=self.version, namespace=namespace, uid=uid, color=color)
        self.objects[(namespace, name)] = body
        return body

    async def apply(self, name: str, *, namespace: str = "ric", color: str = "red") -> JsonObject:
        """Add or change an object."""
        kind: WatchEventType = "MODIFIED" if (namespace, name) in self.objects else "ADDED"
        body = self.add_object(name, namespace=namespace, color=color)
        await self.send_event(kind, body)
        return body

    async def delete(self, name: str, *, namespace: str = "ric") -> None:
        """Delete an object; the event has the version of the deletion."""
        self.version += 1
        body = self.objects.pop((namespace, name))
        obj(body, "metadata")["resourceVersion"] = str(self.version)
        await self.send_event("DELETED", body)

    async def send_event(self, kind: WatchEventType, body: JsonObject) -> None:
        """Send an event to every watch."""
        version = int(text(obj(body, "metadata"), "resourceVersion"))
        self.history.append((version, _line(kind, body)))
        async with self._changed:
            self._changed.notify_all()

    async def bookmark(self) -> None:
        """Send a bookmark with the newest version to every watch."""
        await self.send_event("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    async def end_watches(self) -> None:
        """End every watch."""
        self._epoch += 1
        async with self._changed:
            self._changed.notify_all()

    def expire_history(self) -> None:
        """Respond 410 to watches from before now, as after a compaction."""
        self.forgotten = self.version
        self.history.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Respond to a list or a watch."""
        self.accepts.add(request.headers.get("Accept", ""))
        if self.refusal is not None:
            self.requests.append("refused")
            return _status(*self.refusal)
        parts = request.path.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else None
        if "watch" not in request.query:
            return self._list(request, namespace)
        if request.query.get("sendInitialEvents") == "true" and not self.streams_lists:
            self.requests.append("list as events refused")
            return _status(422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
        return await self._watch(request, namespace)

    def _visible(self, namespace: str | None) -> list[JsonObject]:
        return [body for (place, _), body in sorted(self.objects.items()) if namespace in {None, place}]

    def _list(self, request: web.Request, namespace: str | None) -> web.Response:
        start = int(request.query.get("continue", "0"))
        self.requests.append(f"page {start}")
        found = self._visible(namespace)
        metadata: JsonObject = {"resourceVersion": str(self.version)}
        if start + PAGE < len(found):
            metadata["continue"] = str(start + PAGE)
        return web.json_response({"metadata": metadata, "items": found[start : start + PAGE]})

    async def _watch(self, request: web.Request, namespace: str | None) -> web.StreamResponse:
        initial = request.query.get("sendInitialEvents") == "true"
        since = self.version if initial else int(request.query["resourceVersion"])
        self.requests.append("list as events" if initial else f"watch from {since}")
        epoch = self._epoch
        response = web.StreamResponse()
        await response.prepare(request)
        if not initial and since < self.forgotten:
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            await response.write(orjson.dumps({"type": "ERROR", "object": status}) + b"\n")
            return response
        if initial:
            for body in self._visible(namespace):
                await response.write(_line("ADDED", body))
            end: JsonObject = {
                "resourceVersion": str(since),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
            await response.write(_line("BOOKMARK", {"metadata": end}))
        while True:
            for version, line in [entry for entry in self.history if entry[0] > since]:
                since = version
                if namespace is None or f'"namespace":"{namespace}"'.encode() in line:
                    await response.write(line)
            if epoch != self._epoch:
                return response
            async with self._changed:
                if epoch == self._epoch and not any(version > since for version, _ in self.history):
                    await self._changed.wait()


def _line(kind: str, body: JsonObject) -> bytes:
    return orjson.dumps({"type": kind, "object": body}) + b"\n"


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)
