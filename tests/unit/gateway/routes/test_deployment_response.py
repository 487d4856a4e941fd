"""When the answer to a change comes, and with which status: what it waits for in the records of an xApp."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tests.support.gateway import offline_gateway
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import Conflict
from xapp_operator.gateway.catalog.records import HandledRequest, build_xapp_entry
from xapp_operator.gateway.routes.xapps.deployment_response import (
    Completion,
    WriteOptions,
    deletion_response,
    deployment_response,
)
from xapp_operator.gateway.state import Gateway

HANDLED: Final = {"rollbackTo": "1@ours"}
ANSWER_SECONDS: Final = 10.0
LOOP_TURNS: Final = 20
WAITS: Final = WriteOptions(dry_run=False, wait=30, pretty=False)


def conditions(**statuses: str) -> list[JsonObject]:
    return [
        {"type": kind, "status": status, "reason": "RollbackFailed", "message": "this is why"}
        for kind, status in statuses.items()
    ]


@pytest.mark.parametrize(
    ("status", "settled", "done"),
    [
        pytest.param({"handled": HANDLED, "heldRevision": 1}, True, True, id="done"),
        pytest.param({}, False, False, id="not begun"),
        pytest.param({"handled": {"rollbackTo": "1@theirs"}, "heldRevision": 1}, False, False, id="held from before"),
        pytest.param(
            {"handled": HANDLED, "heldRevision": 1, "conditions": conditions(Ready="False")},
            False,
            False,
            id="held, and its pods are not ready",
        ),
        pytest.param(
            {"handled": HANDLED, "heldRevision": 1, "conditions": conditions(Ready="False", Stalled="True")},
            True,
            False,
            id="held and stalled",
        ),
        pytest.param({"handled": HANDLED}, True, False, id="refused, and ready as before"),
        pytest.param({"handled": HANDLED, "heldRevision": 2}, True, False, id="refused, and another one is held"),
        pytest.param(
            {"handled": HANDLED, "conditions": conditions(Ready="False")}, True, False, id="refused, and not ready"
        ),
        pytest.param(
            {"handled": HANDLED, "heldRevision": 1, "observedGeneration": 0}, True, False, id="the spec has changed"
        ),
    ],
)
def test_a_rollback_is_done_when_its_revision_is_held_and_ready(
    status: dict[str, Any], settled: bool, done: bool
) -> None:
    entry = build_xapp_entry(raw_xapp(status={**ready_status(), **status}))
    completion = Completion.rolled_back(1, HandledRequest("rollbackTo", "1@ours"))
    assert (completion.is_settled(entry), completion.is_done(entry)) == (settled, done)


@pytest.mark.parametrize(
    ("observed", "phase", "ready", "settled", "done"),
    [
        pytest.param(2, "Deployed", "True", True, True, id="ready"),
        pytest.param(2, "Deploying", "False", False, False, id="not ready yet"),
        pytest.param(2, "Suspended", "True", True, False, id="suspended, and ready as of an earlier spec"),
        pytest.param(2, "Suspended", "False", True, False, id="suspended, and not ready"),
        pytest.param(1, "Suspended", "True", False, False, id="suspended before, and not seen yet"),
    ],
)
def test_a_change_is_not_done_while_the_xapp_is_suspended(
    observed: int, phase: str, ready: str, settled: bool, done: bool
) -> None:
    reported: JsonObject = {**ready_status(generation=observed, phase=phase), "conditions": [*conditions(Ready=ready)]}
    xapp = raw_xapp(metadata={"generation": 2}, status=reported)
    entry, completion = build_xapp_entry(xapp), Completion.ready(xapp)
    assert (completion.is_settled(entry), completion.is_done(entry)) == (settled, done)


REQUEST: Final = HandledRequest("testAt", "2026-11-30T02:00:00.000000+00:00")
TESTED: Final[dict[str, Any]] = {"handled": {"testAt": REQUEST.value}}
OLD_RUN: Final[dict[str, Any]] = {
    "lastTest": {"revision": 1, "outcome": "Failed", "firstAt": "2026-11-20T08:00:00Z", "message": "a"}
}
NEW_RUN: Final[dict[str, Any]] = {
    "lastTest": {"revision": 1, "outcome": "Failed", "firstAt": "2026-11-30T02:00:01Z", "message": "a"}
}
RUNNING: Final[dict[str, Any]] = {"lastTest": {**NEW_RUN["lastTest"], "outcome": "Running"}}
STALLED: Final[dict[str, Any]] = {"conditions": conditions(Ready="False", Stalled="True")}


@pytest.mark.parametrize(
    ("status", "settled", "rejection"),
    [
        pytest.param(OLD_RUN, False, None, id="not handled yet"),
        pytest.param({**RUNNING, **TESTED}, False, None, id="they run"),
        pytest.param({**NEW_RUN, **TESTED}, True, None, id="they failed"),
        pytest.param({**OLD_RUN, **TESTED}, True, None, id="they ran twice in one second"),
        pytest.param({**NEW_RUN, **TESTED, **STALLED}, True, None, id="they ran while it was stalled"),
        pytest.param({**OLD_RUN, **STALLED}, False, None, id="stalled, and not handled yet"),
        pytest.param({**OLD_RUN, **TESTED, **STALLED}, True, "this is why", id="stalled, and not run again"),
        pytest.param(
            {**OLD_RUN, **TESTED, "phase": "Suspended"}, True, "it is suspended. resume it first", id="suspended"
        ),
    ],
)
def test_tests_that_the_operator_rejected_are_told_from_those_that_ended(
    status: dict[str, Any], settled: bool, rejection: str | None
) -> None:
    completion = Completion.tested(raw_xapp(status={**ready_status(), **OLD_RUN}), REQUEST)
    entry = build_xapp_entry(raw_xapp(status={**ready_status(), **status}))
    assert (completion.is_settled(entry), completion.find_rejection(entry)) == (settled, rejection)


async def test_a_rejected_request_is_a_conflict_that_tells_why(gateway: Gateway) -> None:
    requested = raw_xapp(metadata={"resourceVersion": "1"}, status={**ready_status(), **OLD_RUN})
    answer = asyncio.create_task(
        deployment_response(request_to(gateway), requested, WAITS, completion=Completion.tested(requested, REQUEST))
    )
    assert await is_waiting(answer)
    rejected: JsonObject = {**ready_status(), **OLD_RUN, **TESTED, **STALLED}
    gateway.cache.store_written(raw_xapp(metadata={"resourceVersion": "2"}, status=rejected))
    with pytest.raises(Conflict, match="has no effect on the xApp acme-ran-hello now: this is why"):
        await asyncio.wait_for(answer, ANSWER_SECONDS)


@pytest.mark.parametrize("others", [STALLED, {"phase": "Degraded"}], ids=["stalled", "degraded"])
def test_a_reconcile_is_done_when_it_is_handled_whatever_it_found(others: dict[str, Any]) -> None:
    completion = Completion.observed(REQUEST)
    for status, done in (({}, False), (TESTED, True)):
        entry = build_xapp_entry(raw_xapp(status={**ready_status(), **others, **status}))
        assert (completion.is_settled(entry), completion.is_done(entry)) == (done, done)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    settings, opened = offline_gateway(tmp_path)
    async with opened(settings) as one:
        yield one


def deleted(version: int = 1, **status: Any) -> JsonObject:
    """Return an XApp that is being deleted."""
    metadata: JsonObject = {
        "generation": 2,
        "deletionTimestamp": "2026-11-20T09:00:00Z",
        "finalizers": ["xapp-operator.io/finalizer"],
        "resourceVersion": str(version),
    }
    return raw_xapp(metadata=metadata, status={**ready_status(), **status})


def answer_of(gateway: Gateway) -> asyncio.Task[Response]:
    """Return the answer to a deletion that waits."""
    return asyncio.create_task(deletion_response(request_to(gateway), deleted(), WAITS))


def request_to(gateway: Gateway) -> Request:
    """Return a request whose client stays connected."""
    app = Starlette()
    app.state.gateway = gateway

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    return Request({"type": "http", "app": app}, receive)


async def is_waiting(answer: asyncio.Task[Response]) -> bool:
    """Return whether the answer still waits after everything that is due in the loop has run."""
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)
    return not answer.done()


async def test_a_deletion_that_is_stalled_is_answered_at_once_with_the_cause(gateway: Gateway) -> None:
    answer, stalled = answer_of(gateway), conditions(Ready="False", Stalled="True")
    assert await is_waiting(answer)
    gateway.cache.store_written(deleted(2, conditions=stalled))  # since before the deletion
    assert await is_waiting(answer)
    gateway.cache.store_written(deleted(3, conditions=stalled, observedGeneration=2))
    found = await asyncio.wait_for(answer, ANSWER_SECONDS)
    record = json.loads(bytes(found.body))
    assert (found.status_code, record["stalled"], record["message"]) == (202, True, "this is why")


async def test_a_deletion_that_goes_on_is_answered_when_the_xapp_is_gone(gateway: Gateway) -> None:
    answer, going = answer_of(gateway), conditions(Ready="False", Reconciling="True")
    assert await is_waiting(answer)
    gateway.cache.store_written(deleted(2, conditions=going, observedGeneration=2))
    assert await is_waiting(answer)
    gateway.store.remove("ric-xapps", "acme-ran-hello")
    assert (await asyncio.wait_for(answer, ANSWER_SECONDS)).status_code == 200
