"""Labelled objects as an API server returns them, and a server that lists and watches them by kind and selector."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from tests.unit.kube.list_watch_server import ListWatchServer
from xapp_operator.api.json import JsonObject

OURS: Final = "xapp-operator.io/xapp"
DRAX: Final = "drax/role=xapp"
NAMESPACE: Final = "ric"


def drax_labels(name: str = "hello", component: str = "") -> dict[str, str]:
    """Return the labels of the dRAX set, without empty ones."""
    given = {"drax/role": "xapp", "drax/xapp-name": name, "drax/xapp-component-name": component}
    return {key: value for key, value in given.items() if value}


def labelled(
    name: str,
    labels: dict[str, str],
    *,
    release: str = "",
    release_namespace: str = NAMESPACE,
    namespace: str = NAMESPACE,
    annotations: dict[str, str] | None = None,
    **body: Any,
) -> JsonObject:
    """Return an object with these labels and, with `release`, Helm's annotations."""
    helm = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": release_namespace}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-11-20T08:00:00Z",
        "labels": labels,
        "annotations": {**(helm if release else {}), **(annotations or {})},
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata | body.pop("metadata", {}), **body}


class LabelledObjects:
    """One `ListWatchServer` for each kind and selector; `refused` are plurals that may not be read."""

    def __init__(self) -> None:
        self.servers: dict[tuple[str, str], ListWatchServer] = {}
        self.refused: set[str] = set()

    def of(self, plural: str, selector: str) -> ListWatchServer:
        """Return the server of one kind and selector."""
        return self.servers.setdefault((plural, selector), ListWatchServer())

    async def put(self, plural: str, selector: str, body: JsonObject) -> None:
        """Add or change an object where `selector` picks it."""
        server = self.of(plural, selector)
        metadata: Any = body["metadata"]
        key = metadata["namespace"], metadata["name"]
        server.version += 1
        known = key in server.objects
        server.objects[key] = {**body, "metadata": {**metadata, "resourceVersion": str(server.version)}}
        await server.send_event("MODIFIED" if known else "ADDED", server.objects[key])

    async def drop(self, plural: str, selector: str, name: str) -> None:
        """Delete an object, or make it leave the selector."""
        await self.of(plural, selector).delete(name, namespace=NAMESPACE)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Respond to a list or a watch."""
        plural = request.path.rpartition("/")[2]
        if plural in self.refused:
            return web.json_response(
                {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}, status=403
            )
        return await self.of(plural, request.query.get("labelSelector", "")).handle(request)
