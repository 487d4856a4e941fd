"""The verbs of the Kubernetes API on raw JSON objects, in our own name or in another person's.

Lives in `kube`, the only package that speaks to the API server. Objects go in and come out as plain JSON: the typed
models of the official client drop fields that they do not know. Every failure is one of the errors of
`xapp_operator.errors`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, cast

from xapp_operator.api.json import Json, JsonObject, encode, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.kube.credentials import Connection, Credentials
from xapp_operator.kube.discovery import Discovery
from xapp_operator.kube.encoding import (
    APPLY,
    JSON,
    METADATA,
    METADATA_LIST,
    PATCHES,
    PatchKind,
    Propagation,
    decode,
    given,
    namespace_of,
    write_params,
)
from xapp_operator.kube.failures import FIRST_ERROR_STATUS, from_answer
from xapp_operator.kube.logs import LogOptions
from xapp_operator.kube.resources import PODS, SELF_SUBJECT_ACCESS_REVIEWS, Resource
from xapp_operator.kube.serviceproxy import ServiceProxy
from xapp_operator.kube.transport import (
    CALL_SECONDS,
    OURS,
    Answer,
    Identity,
    Request,
    Stream,
    Transport,
    identity_of,
    impersonated,
)
from xapp_operator.kube.watch import LineSplitter, WatchEvent, read_event

PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = (60, 90)
WATCH_SILENCE_MARGIN_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ListResult:
    """A whole list, or one page of it; `resource_version` is where a watch may go on."""

    items: list[JsonObject]
    resource_version: str


class KubeClient:
    """A client of one API server; `async with` closes its connections.

    Clients made from it by `as_user` and `impersonate` share its connections and need not be closed.
    """

    def __init__(self, transport: Transport, *, identity: Identity = OURS, discovery: Discovery | None = None) -> None:
        self._transport = transport
        self._identity = identity
        self.discovery = discovery or Discovery(self._read)

    @classmethod
    async def connect(cls, settings: Settings) -> Self:
        """Return a client for the cluster of `settings.kubeconfig`, of `~/.kube/config`, or of this pod.

        Raises:
            KubeError: where no usable configuration is found. No request is made yet.
        """
        return cls(Transport(await Credentials.load(settings)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, those of clients made from this one too."""
        await self._transport.close()

    def as_user(self, token: str) -> KubeClient:
        """Return a client that sends `token` and nothing else of ours: no certificate, no token, no impersonation.

        Raises:
            Unauthenticated: for a text that can be no bearer token.
        """
        return KubeClient(self._transport, identity=identity_of(token), discovery=self.discovery)

    def impersonate(self, user: str) -> KubeClient:
        """Return a client that acts as `user`, such as `system:serviceaccount:<namespace>:<name>`.

        Needs the right to impersonate that user; the API server adds the groups of a service account by itself.
        """
        return KubeClient(self._transport, identity=impersonated(self._identity, user), discovery=self.discovery)

    def service_proxy(self) -> ServiceProxy:
        """Return the way to Services through the API server, in the name of this client."""
        return ServiceProxy(self._transport, self._identity)

    async def connection(self) -> Connection:
        """Return what the operator framework needs to speak to the same API server in our own name."""
        return await self._transport.credentials.connection()

    @property
    def server(self) -> str:
        """Return the base URL of the API server."""
        return self._transport.credentials.server

    @property
    def kubeconfig_path(self) -> str | None:
        """Return the kubeconfig in use (as KUBECONFIG, so perhaps several paths), or None in a pod."""
        return self._transport.credentials.kubeconfig_path

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None, metadata_only: bool = False
    ) -> JsonObject:
        """Return one object.

        Raises:
            NotFound: when it does not exist.
        """
        path = resource.path(namespace=namespace, name=name)
        return await self._object("GET", path, headers=METADATA if metadata_only else {})

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> ListResult:
        """Return all objects of a namespace, or of all namespaces, read in pages of `limit` of one instant."""
        found: list[JsonObject] = []
        version = ""
        async for page in self.pages(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
            limit=limit,
        ):
            found += page.items
            version = page.resource_version
        return ListResult(items=found, resource_version=version)

    async def pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> AsyncGenerator[ListResult]:
        """Yield the pages of a list, all of one instant.

        Raises:
            WatchExpired: when the pages are read so slowly that their instant is forgotten.
        """
        params = given(labelSelector=label_selector, fieldSelector=field_selector, limit=str(limit))
        path = resource.path(namespace=namespace)
        while True:
            page = await self._object("GET", path, params=params, headers=METADATA_LIST if metadata_only else {})
            found = items(page, "items")
            if not metadata_only:
                # The server leaves these out of lists of its own kinds, but not out of watches.
                for item in found:
                    item.setdefault("apiVersion", resource.api_version)
                    item.setdefault("kind", resource.kind)
            metadata = obj(page, "metadata")
            yield ListResult(items=found, resource_version=text(metadata, "resourceVersion"))
            if not text(metadata, "continue"):
                return
            params["continue"] = text(metadata, "continue")

    async def create(
        self, resource: Resource, body: JsonObject, *, namespace: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and return it as stored; its namespace is `namespace`, or else the one in `body`.

        Raises:
            AlreadyExists: when there is one of that name.
            Invalid: when the schema, a rule or an admission policy refuses it, with the fields.
        """
        path = resource.path(namespace=namespace_of(resource, body, namespace))
        return await self._object("POST", path, params=write_params(dry_run=dry_run), headers=JSON, body=body)

    async def replace(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object by `body`, and return it as stored.

        Raises:
            Conflict: when `body` carries a resourceVersion and the object has another by now.
        """
        path = resource.path(
            namespace=namespace_of(resource, body, namespace),
            name=text(obj(body, "metadata"), "name"),
            subresource=subresource,
        )
        return await self._object("PUT", path, params=write_params(dry_run=dry_run), headers=JSON, body=body)

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: JsonObject,
        *,
        namespace: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Apply `body` on the server's side (it needs apiVersion and kind), and return the object as stored.

        Raises:
            Conflict: when another manager owns a field of `body` and `force` is not given.
        """
        path = resource.path(namespace=namespace_of(resource, body, namespace), name=name)
        params = write_params(dry_run=dry_run) | ({"force": "true"} if force else {})
        return await self._object("PATCH", path, params=params, headers=APPLY, body=body)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Json,
        *,
        namespace: str | None = None,
        kind: PatchKind = "merge",
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Send a JSON merge patch (RFC 7386) or a JSON patch (RFC 6902), and return the object as stored."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        headers = PATCHES[kind]
        return await self._object("PATCH", path, params=write_params(dry_run=dry_run), headers=headers, body=body)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object and return the server's answer: a Status, or the object while finalizers hold it.

        Args:
            uid: delete only this one, not one made anew under its name.
            resource_version: delete only if unchanged since.

        Raises:
            NotFound: when it does not exist.
            Conflict: when `uid` or `resource_version` does not fit.
        """
        preconditions = cast("JsonObject", given(uid=uid, resourceVersion=resource_version))
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        if propagation:
            options["propagationPolicy"] = propagation
        if dry_run:
            options["dryRun"] = ["All"]
        path = resource.path(namespace=namespace, name=name)
        return await self._object("DELETE", path, headers=JSON, body=options)

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
        initial_events: bool = False,
        seconds: int | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent]:
        """Yield changes since `resource_version` until the server ends the stream, as it does after `seconds`.

        Close it with `contextlib.aclosing` when leaving early. A stream on which nothing comes for longer than the
        server would keep it open counts as broken.

        Args:
            resource_version: of a list or of the last event; None starts at the present.
            initial_events: send all present objects first as ADDED, then a bookmark with `ends_initial_events`.
            seconds: how long the server keeps the stream open; by default 60 to 90, at random.
            on_open: called when the server has accepted the watch, perhaps long before the first event.

        Raises:
            WatchExpired: when `resource_version` is too old: list again.
            ApiUnavailable: when the stream breaks.
            Invalid: when the server does not know `initial_events`.
        """
        lasting = seconds or random.randint(*WATCH_SECONDS)  # noqa: S311 - jitter
        params = given(
            watch="true",
            allowWatchBookmarks="true",
            timeoutSeconds=str(lasting),
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
        )
        if initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        request = Request(
            "GET", resource.path(namespace=namespace), params=params, headers=METADATA if metadata_only else {}
        )
        silence = lasting + WATCH_SILENCE_MARGIN_SECONDS
        async with self._transport.stream(request, identity=self._identity, silence=silence) as stream:
            if on_open:
                on_open()
            # A line that the end of the stream cuts short is dropped: the next watch starts before it.
            lines = LineSplitter()
            async with aclosing(stream.chunks()) as chunks:
                async for chunk in chunks:
                    for line in lines.feed(chunk):
                        yield read_event(line)

    @asynccontextmanager
    async def log(self, pod: str, options: LogOptions, *, namespace: str) -> AsyncIterator[Stream]:
        """Give the log of a container to be read as it comes; one that is followed ends with its container.

        Raises:
            NotFound: when there is no such pod.
            Invalid: when there is no such log, in the words of the API server.
            KubeError: when the pod's node does not answer.
        """
        path = PODS.path(namespace=namespace, name=pod, subresource="log")
        request = Request("GET", path, params=options.params(), headers={"Accept": "*/*"})
        silence = None if options.follow else CALL_SECONDS
        async with self._transport.stream(request, identity=self._identity, silence=silence) as stream:
            yield stream

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        seconds: float = CALL_SECONDS,
    ) -> Answer:
        """Send any request and return its answer as bytes; `path` is already encoded.

        Raises:
            KubeError: for a status of 400 or more.
        """
        request = Request(method, path, params=params or {}, headers=headers or {}, body=body, seconds=seconds)
        answer = await self._transport.call(request, identity=self._identity)
        if answer.status >= FIRST_ERROR_STATUS:
            raise from_answer(answer.status, answer.body, path=path)
        return answer

    async def allowed(
        self,
        resource: Resource,
        verb: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> bool:
        """Ask the API server whether this identity may `verb`; `namespace=None` asks for all namespaces."""
        attributes = given(
            group=resource.group,
            resource=resource.plural,
            verb=verb,
            namespace=namespace,
            name=name,
            subresource=subresource,
        )
        review: JsonObject = {
            "apiVersion": SELF_SUBJECT_ACCESS_REVIEWS.api_version,
            "kind": SELF_SUBJECT_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": cast("JsonObject", attributes)},
        }
        answer = await self.create(SELF_SUBJECT_ACCESS_REVIEWS, review)
        return obj(answer, "status").get("allowed") is True

    async def version(self) -> str:
        """Return the server's version, such as `v1.36.3`."""
        return text(await self._object("GET", "/version"), "gitVersion")

    async def api_versions(self) -> tuple[str, ...]:
        """Return what `helm template --api-versions` wants, such as `v1`, `v1/Pod`, `apps/v1/Deployment`."""
        return await self.discovery.api_versions()

    async def _read(self, path: str, accept: str) -> JsonObject:
        return await self._object("GET", path, headers={"Accept": accept})

    async def _object(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Json = None,
    ) -> JsonObject:
        encoded = None if body is None else encode(body)
        return decode((await self.raw(method, path, params=params, headers=headers, body=encoded)).body)
