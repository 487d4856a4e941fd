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

from xapp_operator.api.json import Json, JsonObject, encode_json, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, error_from_response
from xapp_operator.kube.credentials import ClusterCredentials, ConnectionInfo
from xapp_operator.kube.discovery import Discovery
from xapp_operator.kube.pod_log_options import PodLogOptions
from xapp_operator.kube.request_encoding import (
    APPLY_HEADERS,
    JSON_HEADERS,
    METADATA_HEADERS,
    METADATA_LIST_HEADERS,
    PATCH_HEADERS,
    PatchKind,
    PropagationPolicy,
    decode_object,
    drop_none,
    target_namespace,
    write_params,
)
from xapp_operator.kube.resources import PODS, SELF_SUBJECT_ACCESS_REVIEWS, Resource
from xapp_operator.kube.service_proxy import ServiceProxy
from xapp_operator.kube.transport import (
    CALL_TIMEOUT_SECONDS,
    OWN_IDENTITY,
    ApiRequest,
    ApiResponse,
    ApiStream,
    ApiTransport,
    RequestIdentity,
    impersonating,
    token_identity,
)
from xapp_operator.kube.watch_events import LineSplitter, WatchEvent, parse_watch_event

PAGE_SIZE: Final = 500
WATCH_SECONDS_RANGE: Final = (60, 90)
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

    def __init__(
        self, transport: ApiTransport, *, identity: RequestIdentity = OWN_IDENTITY, discovery: Discovery | None = None
    ) -> None:
        self._transport = transport
        self._identity = identity
        self.discovery = discovery or Discovery(self._fetch_discovery)

    @classmethod
    async def connect(cls, settings: Settings) -> Self:
        """Return a client for the cluster of `settings.kubeconfig`, of `~/.kube/config`, or of this pod.

        Raises:
            KubeError: where no usable configuration is found. No request is made yet.
        """
        return cls(ApiTransport(await ClusterCredentials.load(settings)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, those of clients made from this one too."""
        await self._transport.close()

    def with_token(self, token: str) -> KubeClient:
        """Return a client that sends `token` and nothing else of ours: no certificate, no token, no impersonation.

        Raises:
            Unauthenticated: for a text that can be no bearer token.
        """
        return KubeClient(self._transport, identity=token_identity(token), discovery=self.discovery)

    def impersonate(self, user: str) -> KubeClient:
        """Return a client that acts as `user`, such as `system:serviceaccount:<namespace>:<name>`.

        Needs the right to impersonate that user; the API server adds the groups of a service account by itself.
        """
        return KubeClient(self._transport, identity=impersonating(self._identity, user), discovery=self.discovery)

    def service_proxy(self) -> ServiceProxy:
        """Return the way to Services through the API server, in the name of this client."""
        return ServiceProxy(self._transport, self._identity)

    async def connection_info(self) -> ConnectionInfo:
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
        return await self._request_object("GET", path, headers=METADATA_HEADERS if metadata_only else {})

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
        async for page in self.list_pages(
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

    async def list_pages(
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
        params = drop_none(labelSelector=label_selector, fieldSelector=field_selector, limit=str(limit))
        path = resource.path(namespace=namespace)
        while True:
            page = await self._request_object(
                "GET", path, params=params, headers=METADATA_LIST_HEADERS if metadata_only else {}
            )
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
        path = resource.path(namespace=target_namespace(resource, body, namespace))
        return await self._request_object(
            "POST", path, params=write_params(dry_run=dry_run), headers=JSON_HEADERS, body=body
        )

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
            namespace=target_namespace(resource, body, namespace),
            name=text(obj(body, "metadata"), "name"),
            subresource=subresource,
        )
        return await self._request_object(
            "PUT", path, params=write_params(dry_run=dry_run), headers=JSON_HEADERS, body=body
        )

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
        path = resource.path(namespace=target_namespace(resource, body, namespace), name=name)
        params = write_params(dry_run=dry_run) | ({"force": "true"} if force else {})
        return await self._request_object("PATCH", path, params=params, headers=APPLY_HEADERS, body=body)

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
        headers = PATCH_HEADERS[kind]
        return await self._request_object(
            "PATCH", path, params=write_params(dry_run=dry_run), headers=headers, body=body
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: PropagationPolicy | None = None,
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
        preconditions = cast("JsonObject", drop_none(uid=uid, resourceVersion=resource_version))
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        if propagation:
            options["propagationPolicy"] = propagation
        if dry_run:
            options["dryRun"] = ["All"]
        path = resource.path(namespace=namespace, name=name)
        return await self._request_object("DELETE", path, headers=JSON_HEADERS, body=options)

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
        timeout_seconds: int | None = None,
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
        server_timeout = timeout_seconds or random.randint(*WATCH_SECONDS_RANGE)  # noqa: S311 - jitter
        params = drop_none(
            watch="true",
            allowWatchBookmarks="true",
            timeoutSeconds=str(server_timeout),
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
        )
        if initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        request = ApiRequest(
            "GET", resource.path(namespace=namespace), params=params, headers=METADATA_HEADERS if metadata_only else {}
        )
        read_timeout = server_timeout + WATCH_SILENCE_MARGIN_SECONDS
        async with self._transport.stream(request, identity=self._identity, read_timeout=read_timeout) as stream:
            if on_open:
                on_open()
            # A line that the end of the stream cuts short is dropped: the next watch starts before it.
            lines = LineSplitter()
            async with aclosing(stream.chunks()) as chunks:
                async for chunk in chunks:
                    for line in lines.feed(chunk):
                        yield parse_watch_event(line)

    @asynccontextmanager
    async def stream_log(self, pod: str, options: PodLogOptions, *, namespace: str) -> AsyncIterator[ApiStream]:
        """Give the log of a container to be read as it comes; one that is followed ends with its container.

        Raises:
            NotFound: when there is no such pod.
            Invalid: when there is no such log, in the words of the API server.
            KubeError: when the pod's node does not answer.
        """
        path = PODS.path(namespace=namespace, name=pod, subresource="log")
        request = ApiRequest("GET", path, params=options.query_params(), headers={"Accept": "*/*"})
        read_timeout = None if options.follow else CALL_TIMEOUT_SECONDS
        async with self._transport.stream(request, identity=self._identity, read_timeout=read_timeout) as stream:
            yield stream

    async def request_bytes(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_seconds: float = CALL_TIMEOUT_SECONDS,
    ) -> ApiResponse:
        """Send any request and return its answer as bytes; `path` is already encoded.

        Raises:
            KubeError: for a status of 400 or more.
        """
        request = ApiRequest(
            method, path, params=params or {}, headers=headers or {}, body=body, timeout_seconds=timeout_seconds
        )
        response = await self._transport.send(request, identity=self._identity)
        if response.status >= FIRST_ERROR_STATUS:
            raise error_from_response(response.status, response.body, path=path)
        return response

    async def is_allowed(
        self,
        resource: Resource,
        verb: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> bool:
        """Ask the API server whether this identity may `verb`; `namespace=None` asks for all namespaces."""
        attributes = drop_none(
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
        reviewed = await self.create(SELF_SUBJECT_ACCESS_REVIEWS, review)
        return obj(reviewed, "status").get("allowed") is True

    async def server_version(self) -> str:
        """Return the server's version, such as `v1.36.3`."""
        return text(await self._request_object("GET", "/version"), "gitVersion")

    async def api_versions(self) -> tuple[str, ...]:
        """Return what `helm template --api-versions` wants, such as `v1`, `v1/Pod`, `apps/v1/Deployment`."""
        return await self.discovery.api_versions()

    async def _fetch_discovery(self, path: str, accept: str) -> JsonObject:
        return await self._request_object("GET", path, headers={"Accept": accept})

    async def _request_object(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Json = None,
    ) -> JsonObject:
        encoded = None if body is None else encode_json(body)
        return decode_object(
            (await self.request_bytes(method, path, params=params, headers=headers, body=encoded)).body
        )
