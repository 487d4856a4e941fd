"""The connections of kopf to the API server.

kopf decodes and copies whole objects, which Python does only up to some hundred levels. A deeper object would stop the
operator, or could never be deleted, so kopf gets every response without what is nested too deep. It does not write that
back: its patches hold only what it changes.

When a watch is too old (410), kopf lists the objects again, but tells nobody which are gone. So the lists are reported.

kopf logs why a request was refused. So it gets that without what may quote values of the object.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import aiohttp
import kopf
from kopf._cogs.structs.credentials import KubeContext, Vault, VaultKey  # kopf takes a vault, but does not export it

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.common.off_loop import decode_sized
from xapp_operator.domain.bounded_json import loads_bounded, prune_json
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, error_from_status
from xapp_operator.kube.watch.watch_events import read_lines

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedObjects:
    """All objects of a kind, in a namespace or (None) in all, as of a resource version."""

    plural: str
    namespace: str | None
    uids: frozenset[str]
    version: int


class KopfConnections(Vault):
    """The connections of kopf, whose responses are bounded, and which are closed when its last task has ended.

    kopf would close them earlier, so that its last tasks would open others; and not at all when it is cancelled while
    it starts.
    """

    def __init__(self, on_listed: Callable[[ListedObjects], None]) -> None:
        """Prepare without a connection; `on_listed` is called before kopf handles the objects of a list."""
        super().__init__()
        self._on_listed = on_listed

    def extended(
        self, factory: Callable[[KubeContext], T], purpose: str | None = None
    ) -> AsyncIterator[tuple[VaultKey, KubeContext, T]]:
        return super().extended(lambda info: factory(_with_bounded_responses(info, self._on_listed)), purpose)

    async def close(self) -> None:
        pass

    async def close_at_end(self) -> None:
        await super().close()


def _with_bounded_responses(info: KubeContext, on_listed: Callable[[ListedObjects], None]) -> kopf.AiohttpSession:
    """Return the session that kopf would create, but with bounded responses, and lists reported. kopf closes it."""
    info = cast("kopf.ConnectionInfo", info)  # as `login` in kopf_operator.py returns it

    class Response(_BoundedResponse):
        async def json(self, **_: Any) -> Any:
            body = await super().json()
            if self.status >= FIRST_ERROR_STATUS:
                return _without_quotes(self.status, body)
            if self.method == "GET" and (listed := _listed_objects(self.url.path, body)) is not None:
                on_listed(listed)
            return body

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
        headers=info.as_http_headers(),
        proxy=info.proxy_url,
        response_class=Response,
    )
    return kopf.AiohttpSession(server=info.server, aiohttp_session=session)


def _without_quotes(status: int, body: Json) -> Json:
    """Return a refusal without what the API server may quote of the object; kopf uses nothing else of it."""
    if not isinstance(body, dict) or text(body, "kind") != "Status":
        return body
    details: JsonObject = {key: each for key, each in obj(body, "details").items() if key == "retryAfterSeconds"}
    return {
        "kind": "Status",
        "code": status,
        "reason": text(body, "reason"),
        "message": error_from_status(status, body, own=True).message,
        "details": details,
    }


def _listed_objects(path: str, body: JsonObject) -> ListedObjects | None:
    """Return what a response lists, or None if it is no list, or not the whole."""
    metadata = obj(body, "metadata")
    if "items" not in body or text(metadata, "continue"):
        return None
    before, namespace, plural = path.split("/")[-3:]
    return ListedObjects(
        plural=plural,
        namespace=namespace if before == "namespaces" else None,
        uids=frozenset(text(obj(each, "metadata"), "uid") for each in items(body, "items")),
        version=int(text(metadata, "resourceVersion", "0")),
    )


class _BoundedResponse(aiohttp.ClientResponse):
    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        await super().start(connection)
        self.content = cast("aiohttp.StreamReader", _BoundedContent(self.content))
        return self

    async def json(self, **_: Any) -> Any:
        return await super().json(loads=_loads_text)


class _BoundedContent:
    """The body of a response: as it is, or as the lines of a watch."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        async for line in read_lines(self._content.iter_chunked(size)):
            yield await decode_sized(len(line), prune_json, line) + b"\n"


def _loads_text(text: str) -> Json:
    return loads_bounded(text.encode())
