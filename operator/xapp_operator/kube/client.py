"""The verbs of the Kubernetes API on raw JSON objects, as the operator itself or as another user.

Objects are plain JSON, because the typed models of the official client drop fields that they do not know. Every failure
is one of the errors in `xapp_operator.errors`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal, Self, Unpack, cast

from xapp_operator.api.json import Json, JsonObject, encode_json, obj, text
from xapp_operator.common.off_loop import decode_sized
from xapp_operator.config.settings import Settings
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, error_from_response
from xapp_operator.kube.credentials import ClusterCredentials, ConnectionInfo
from xapp_operator.kube.discovery import Discovery
from xapp_operator.kube.proxy.service_proxy import ServiceProxy
from xapp_operator.kube.request_encoding import (
    APPLY_HEADERS,
    JSON_HEADERS,
    MERGE_PATCH_HEADERS,
    METADATA_HEADERS,
    METADATA_LIST_HEADERS,
    ListOptions,
    ListResult,
    PodLogOptions,
    access_review,
    apply_params,
    decode_list,
    decode_object,
    drop_none,
    target_namespace,
    write_params,
)
from xapp_operator.kube.resources import PODS, SELF_SUBJECT_ACCESS_REVIEWS, Resource
from xapp_operator.kube.transport import (
    CALL_TIMEOUT_SECONDS,
    OWN_IDENTITY,
    ApiRequest,
    ApiResponse,
    ApiTransport,
    RequestIdentity,
)
from xapp_operator.kube.watch.watch_events import WatchEvent, read_watch_events

PAGE_SIZE: Final = 500
WATCH_SECONDS_RANGE: Final = (60, 90)
WATCH_SILENCE_MARGIN_SECONDS: Final = 10.0


class KubeClient:
    """A client of one API server; `async with` closes its connections.

    Clients that `with_token` and `impersonate` return share its connections and need no closing.
    """

    def __init__(
        self, transport: ApiTransport, *, identity: RequestIdentity = OWN_IDENTITY, discovery: Discovery | None = None
    ) -> None:
        self._transport = transport
        self._identity = identity
        self.discovery = discovery or Discovery(self._fetch_discovery)

    @classmethod
    async def connect(cls, settings: Settings, *, on_server_time: Callable[[float], None] | None = None) -> Self:
        """Return a client for the cluster of `settings.kubeconfig`, of `~/.kube/config`, or of this pod.

        Raises:
            KubeError: when there is no usable configuration. No request is made yet.
        """
        return cls(ApiTransport(await ClusterCredentials.load(settings), on_server_time=on_server_time))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, including the connections of clients made from this one."""
        await self._transport.close()

    def with_token(self, token: str) -> KubeClient:
        """Return a client that authenticates with `token` only: without our own client certificate or token.

        Raises:
            Unauthenticated: when `token` is not a valid bearer token.
        """
        return self._with_identity(RequestIdentity.from_token(token))

    def for_callers(self) -> KubeClient:
        """Return a client with the same identity for requests of others, who see all that the API server says."""
        return self._with_identity(self._identity.for_callers())

    def impersonate(self, user: str) -> KubeClient:
        """Return a client that acts as `user`, such as `system:serviceaccount:<namespace>:<name>`.

        This identity needs the right to impersonate that user. The API server adds the groups of a service account.
        """
        return self._with_identity(self._identity.impersonating(user))

    def writing_while(self, may_write: Callable[[], bool]) -> KubeClient:
        """Return a client with the same identity whose writes are refused while `may_write` returns False."""
        return self._with_identity(self._identity.writing_while(may_write))

    def _with_identity(self, identity: RequestIdentity) -> KubeClient:
        return KubeClient(self._transport, identity=identity, discovery=self.discovery)

    def service_proxy(self) -> ServiceProxy:
        """Return a client of the API server's proxy to Services, with the identity of this client."""
        return ServiceProxy(self._transport, self._identity)

    async def connection(self) -> ConnectionInfo:
        """Return what another program needs to act as this identity, which impersonates nobody."""
        if self._identity.impersonated_user is not None:
            raise ValueError("a connection cannot impersonate")
        own = await self.credentials.connection()
        return own if self._identity.token is None else own.with_token(self._identity.token)

    @property
    def credentials(self) -> ClusterCredentials:
        """Return the address of the API server and our own identity there."""
        return self._transport.credentials

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None, metadata_only: bool = False
    ) -> JsonObject:
        """Return one object.

        Raises:
            NotFound: when it does not exist.
        """
        path = resource.path(namespace=namespace, name=name)
        return await self._request_object("GET", path, headers=METADATA_HEADERS if metadata_only else {})

    async def list(self, resource: Resource, **options: Unpack[ListOptions]) -> ListResult:
        """Return a consistent list of all objects of a namespace, or of all namespaces, read in pages of `limit`."""
        found: list[JsonObject] = []
        version = ""
        async for page in self.list_pages(resource, **options):
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
        """Yield the pages of one consistent list.

        Raises:
            WatchExpired: when the pages are read so slowly that the server has compacted their version.
        """
        params = drop_none(labelSelector=label_selector, fieldSelector=field_selector, limit=str(limit))
        path = resource.path(namespace=namespace)
        while True:
            page = decode_list(
                await self._request_object(
                    "GET", path, params=params, headers=METADATA_LIST_HEADERS if metadata_only else {}
                ),
                resource=None if metadata_only else resource,
            )
            yield page
            if not page.continue_token:
                return
            params["continue"] = page.continue_token

    async def create(
        self, resource: Resource, body: JsonObject, *, namespace: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and return it as stored; its namespace is `namespace`, or else the namespace in `body`.

        Raises:
            AlreadyExists: when an object with that name exists.
            Invalid: when the schema, a validation rule or an admission policy rejects it; names the fields.
        """
        path = resource.path(namespace=target_namespace(resource, body, namespace))
        params = write_params(dry_run=dry_run)
        return await self._request_object("POST", path, params=params, headers=JSON_HEADERS, body=body)

    async def replace(
        self, resource: Resource, body: JsonObject, *, namespace: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        """Replace an object with `body` and return it as stored.

        Raises:
            Conflict: when `body` has a resourceVersion and the object has a newer one.
        """
        path = resource.path(
            namespace=target_namespace(resource, body, namespace),
            name=text(obj(body, "metadata"), "name"),
        )
        return await self._request_object(
            "PUT", path, params=write_params(dry_run=dry_run), headers=JSON_HEADERS, body=body
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        """Send a JSON merge patch (RFC 7386) and return the object as stored."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        params = write_params(dry_run=False)
        return await self._request_object("PATCH", path, params=params, headers=MERGE_PATCH_HEADERS, body=body)

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: JsonObject,
        *,
        namespace: str | None = None,
        field_manager: str,
        dry_run: bool = False,
    ) -> JsonObject:
        """Apply `body` server-side as `field_manager`, which takes over its fields; return the object as stored.

        Raises:
            Conflict: when `body` has a resourceVersion and the object has a newer one.
        """
        path, params = resource.path(namespace=namespace, name=name), apply_params(field_manager, dry_run=dry_run)
        return await self._request_object("PATCH", path, params=params, headers=APPLY_HEADERS, body=body)

    async def preview_apply(
        self, resource: Resource, name: str, body: JsonObject, *, namespace: str | None = None, field_manager: str
    ) -> JsonObject:
        """Return what `apply` would store; nothing is stored."""
        return await self.apply(resource, name, body, namespace=namespace, field_manager=field_manager, dry_run=True)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Literal["Background"] | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object and return the server's response: a Status, or the object while finalizers hold it.

        Args:
            uid: delete only the object with this UID, not a later one with the same name.
            resource_version: delete only if the object has not changed since.
            propagation: Background deletes its dependents afterwards. By default, the kind decides: Jobs keep theirs.
            dry_run: only check whether it could be deleted.

        Raises:
            NotFound: when the object does not exist.
            Conflict: when `uid` or `resource_version` does not match.
        """
        path = resource.path(namespace=namespace, name=name)
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions := drop_none(uid=uid, resourceVersion=resource_version):
            options["preconditions"] = cast("JsonObject", preconditions)
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if dry_run:
            options["dryRun"] = ["All"]
        return await self._request_object("DELETE", path, headers=JSON_HEADERS, body=options)

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
        initial_events: bool = False,
        timeout_seconds: int | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent]:
        """Yield changes since `resource_version` until the server ends the stream, as it does after `timeout_seconds`.

        Close it with `contextlib.aclosing` when you leave early. A stream that is silent for longer than the server
        would keep it open counts as broken.

        Args:
            resource_version: of a list or of the last event; None starts now.
            initial_events: send all existing objects first as ADDED, then a bookmark with `ends_initial_events`.
            timeout_seconds: how long the server keeps the stream open; by default random, from 60 to 90.
            on_open: called when the server has accepted the watch, possibly long before the first event.

        Raises:
            WatchExpired: when `resource_version` is too old: list again.
            ApiUnavailable: when the stream breaks.
            Invalid: when the server does not support `initial_events`.
        """
        server_timeout = timeout_seconds or random.randint(*WATCH_SECONDS_RANGE)  # noqa: S311 - jitter
        params = drop_none(
            watch="true",
            allowWatchBookmarks="true",
            timeoutSeconds=str(server_timeout),
            labelSelector=label_selector,
            resourceVersion=resource_version,
            sendInitialEvents="true" if initial_events else None,
            resourceVersionMatch="NotOlderThan" if initial_events else None,
        )
        request = ApiRequest(
            "GET", resource.path(namespace=namespace), params=params, headers=METADATA_HEADERS if metadata_only else {}
        )
        read_timeout = server_timeout + WATCH_SILENCE_MARGIN_SECONDS
        async with self._transport.stream(request, identity=self._identity, read_timeout=read_timeout) as chunks:
            if on_open:
                on_open()
            async for event in read_watch_events(chunks):
                yield event

    @asynccontextmanager
    async def stream_log(
        self, pod: str, options: PodLogOptions, *, namespace: str
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        """Give the log of a container as it arrives; a followed log ends with its container.

        Raises:
            NotFound: when the pod does not exist.
            Invalid: when the log does not exist; the message is the API server's.
            KubeError: when the node of the pod does not respond.
        """
        path = PODS.path(namespace=namespace, name=pod, subresource="log")
        request = ApiRequest("GET", path, params=options.query_params(), headers={"Accept": "*/*"})
        read_timeout = None if options.follow else CALL_TIMEOUT_SECONDS
        async with self._transport.stream(request, identity=self._identity, read_timeout=read_timeout) as chunks:
            yield chunks

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
        """Send a request and return the response as bytes; `path` is already encoded.

        Raises:
            KubeError: for a status of 400 or more.
        """
        request = ApiRequest(
            method, path, params=params or {}, headers=headers or {}, body=body, timeout_seconds=timeout_seconds
        )
        response = await self._transport.send(request, identity=self._identity)
        if response.status >= FIRST_ERROR_STATUS:
            raise error_from_response(response.status, response.body, path=path, own=not self._identity.for_caller)
        return response

    async def is_allowed(
        self,
        resource: Resource,
        verb: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        name: str | None = None,
    ) -> bool:
        """Ask the API server whether this identity may `verb`, such as `get`, in a namespace or in all of them.

        Without `name`, it asks about all objects.
        """
        review = access_review(resource, verb, namespace=namespace, subresource=subresource, name=name)
        reviewed = await self.create(SELF_SUBJECT_ACCESS_REVIEWS, review)
        return obj(reviewed, "status").get("allowed") is True

    async def server_version(self) -> str:
        """Return the server's version, such as `v1.36.3`."""
        return text(await self._request_object("GET", "/version"), "gitVersion")

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
        response = await self.request_bytes(method, path, params=params, headers=headers, body=encoded)
        return await decode_sized(len(response.body), decode_object, response.body)
