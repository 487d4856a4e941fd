"""The response to every change of an XApp: 202 with its record and Location; with `wait`, 200 once it is ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, integer, obj
from xapp_operator.api.models import Phase
from xapp_operator.config.settings import Settings
from xapp_operator.errors import Conflict
from xapp_operator.gateway.auth.actions import Action, needed_permissions
from xapp_operator.gateway.catalog.records import HandledRequest, XAppEntry, build_xapp_entry, pack_test_run
from xapp_operator.gateway.http.openapi import PRETTY_PARAMETER, document_parameter, if_match_parameter
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.http.responses.streaming import run_until_one_ends, wait_for_disconnect
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.actions import SUSPENDED_OBSTACLE

WRITE_PARAMETERS: Final = ("dryRun", "wait", "pretty")

WAIT_PARAMETER: Final = document_parameter(
    "wait",
    "Wait at most this many seconds for the xApp to become ready: 200 if it does, 202 if not.",
    schema={"type": "number", "minimum": 0},
)
IF_MATCH_PARAMETER: Final = if_match_parameter("xApp")
WRITE_PARAMETER_DOCS: Final = (
    document_parameter(
        "dryRun", "Only check and render; change nothing.", schema={"type": "boolean", "default": False}
    ),
    WAIT_PARAMETER,
    PRETTY_PARAMETER,
)
_LOCATION_HEADER: Final = {"Location": "Path of the xApp's record."}
LOCATION_HEADERS: Final = {202: _LOCATION_HEADER, 200: _LOCATION_HEADER}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query parameters of a change; `wait` in seconds."""

    dry_run: bool
    wait: float | None
    pretty: bool

    @classmethod
    def from_query(cls, query: StrictQuery, settings: Settings) -> WriteOptions:
        """Read the query.

        Raises:
            MalformedRequest: for an invalid value.
        """
        return cls(
            dry_run=query.boolean("dryRun"),
            wait=query.seconds("wait", high=settings.wait_max_seconds),
            pretty=query.boolean("pretty"),
        )


SettledCheck: TypeAlias = Callable[[XAppEntry], bool]


@dataclass(frozen=True, slots=True)
class Completion:
    """What the answer to a change waits for: until `is_settled`. It is a success if the xApp then `is_done`.

    It is a conflict if `find_rejection` then tells why the operator has done nothing of what was asked for.
    """

    is_settled: SettledCheck
    is_done: SettledCheck
    find_rejection: Callable[[XAppEntry], str | None] = lambda _: None

    @classmethod
    def ready(cls, xapp: JsonObject, *, handled: HandledRequest | None = None) -> Completion:
        """Wait until the spec of `xapp` is ready or stalled, once the operator has `handled` an annotation, if any.

        One that is suspended is not waited for: it keeps its conditions, which are about an earlier spec.
        """
        generation = integer(obj(xapp, "metadata"), "generation")

        def is_suspended(entry: XAppEntry) -> bool:
            return entry.observed_generation >= generation and entry.phase == Phase.SUSPENDED.value

        def is_current(entry: XAppEntry) -> bool:
            return entry.observed_generation >= generation and (handled is None or handled.is_among(entry.handled))

        return cls(
            is_settled=lambda entry: is_suspended(entry) or (is_current(entry) and (entry.ready or entry.stalled)),
            is_done=lambda entry: is_current(entry) and entry.ready and not is_suspended(entry),
        )

    @classmethod
    def rolled_back(cls, revision: int, handled: HandledRequest) -> Completion:
        """Wait until the operator holds `revision` and is ready or stalled, or until the rollback is `handled` without.

        An xApp whose rollback failed may be ready, with the revision that it had.
        """

        def is_settled(entry: XAppEntry) -> bool:
            holds_other = entry.held_revision != revision
            return handled.is_among(entry.handled) and (holds_other or entry.ready or entry.stalled)

        return cls(
            is_settled=is_settled,
            is_done=lambda entry: is_settled(entry) and entry.held_revision == revision and entry.ready,
        )

    @classmethod
    def tested(cls, xapp: JsonObject, handled: HandledRequest) -> Completion:
        """Wait until the tests of `xapp` that `handled` asks for have ended, however they ended.

        An xApp that is stalled or suspended without a new run was not tested. Elsewhere, the operator rejects no tests,
        and two runs within one second look the same.
        """
        last_run = pack_test_run(obj(xapp, "status"))

        def is_settled(entry: XAppEntry) -> bool:
            return handled.is_among(entry.handled) and not entry.tests_pending

        def find_rejection(entry: XAppEntry) -> str | None:
            if not is_settled(entry) or entry.test_run != last_run:
                return None
            if entry.phase == Phase.SUSPENDED.value:
                return SUSPENDED_OBSTACLE
            return entry.message if entry.stalled else None

        return cls(is_settled=is_settled, is_done=is_settled, find_rejection=find_rejection)

    @classmethod
    def observed(cls, handled: HandledRequest) -> Completion:
        """Wait until the operator has looked at the xApp because of `handled`, whatever it found."""

        def is_observed(entry: XAppEntry) -> bool:
            return handled.is_among(entry.handled)

        return cls(is_settled=is_observed, is_done=is_observed)

    @classmethod
    def suspended(cls, xapp: JsonObject) -> Completion:
        """Wait until the operator has suspended `xapp`."""
        generation = integer(obj(xapp, "metadata"), "generation")

        def is_suspended(entry: XAppEntry) -> bool:
            return entry.observed_generation >= generation and entry.phase == Phase.SUSPENDED.value

        return cls(is_settled=is_suspended, is_done=is_suspended)


async def deployment_response(
    request: Request, xapp: JsonObject, options: WriteOptions, *, completion: Completion | None = None
) -> Response:
    """Return the record of an XApp that was just written, after waiting for it when `options` ask for that.

    By default, it waits until the xApp is ready.

    Raises:
        Conflict: the operator has rejected what was asked for.
        KubeError: after the wait, the caller may no longer read the XApp.
    """
    gateway = get_gateway(request)
    gateway.cache.store_written(xapp)
    entry, status = build_xapp_entry(xapp), 202
    if options.wait is not None:
        completion = completion or Completion.ready(xapp)
        await _wait(request, gateway, entry, until=completion.is_settled, seconds=options.wait)
        current = gateway.store.get(*entry.key)
        if current is not None and current.uid == entry.uid:
            entry = current
            if (obstacle := completion.find_rejection(current)) is not None:
                raise Conflict(f"the request has no effect on the xApp {entry.name} now: {obstacle}")
            status = 200 if completion.is_done(current) else 202
    location = f"/api/xapps/{entry.namespace}/{entry.name}"
    return json_response(entry.record_json, status=status, pretty=options.pretty, headers={"Location": location})


async def deletion_response(request: Request, deleted: JsonObject, options: WriteOptions) -> Response:
    """Return the last record of an XApp that is being deleted: 202, or 200 once it is gone when `options` wait.

    A deletion that is stalled is not waited for: its record tells why.

    Raises:
        KubeError: after the wait, the caller may no longer read the XApp.
    """
    gateway = get_gateway(request)
    if obj(deleted, "metadata").get("finalizers"):
        gateway.cache.store_written(deleted)
    entry, status = build_xapp_entry(deleted), 202
    if options.wait is not None:
        await _wait(request, gateway, entry, until=lambda current: current.stalled, seconds=options.wait)
        current = gateway.store.get(*entry.key)
        if current is not None and current.uid == entry.uid:
            entry = current
        else:
            status = 200
    return json_response(entry.record_json, status=status, pretty=options.pretty)


async def _wait(request: Request, gateway: Gateway, entry: XAppEntry, *, until: SettledCheck, seconds: float) -> None:
    """Wait until a check of the XApp is true, or it is gone; or the client leaves, or `seconds` pass.

    What is shown after that comes from memory, so the caller must be able to read the XApp then.

    Raises:
        SessionEnded, Unauthenticated, AccessDenied, ApiUnavailable: as `Caller.recheck`.
    """
    store, settled = gateway.store, asyncio.Event()

    def check() -> None:
        current = store.get(*entry.key)
        if current is None or current.uid != entry.uid or until(current):
            settled.set()

    def on_change(_change: str, changed: XAppEntry, _before: XAppEntry | None) -> None:
        if changed.key == entry.key:
            check()

    check()
    unsubscribe = store.subscribe(on_change)
    try:
        await run_until_one_ends(settled.wait(), wait_for_disconnect(request.receive), seconds=seconds)
    finally:
        unsubscribe()
    permissions = needed_permissions(Action.VIEW, namespace=entry.namespace, name=entry.name)
    await gateway.get_caller(request).recheck(*permissions)
