"""The audit lines of requests, and the caller whose share a request takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.types import Scope

from xapp_operator.gateway.http.audit import (
    RequestNotes,
    RequestRecord,
    audit_notes,
    authenticated_group,
    begin_notes,
    write_refused_connection,
)
from xapp_operator.telemetry.audit import AuditLog
from xapp_operator.telemetry.metrics import METRICS


class Caller:
    def __init__(self, user: str, *, is_authenticated: bool = True) -> None:
        self.user = user
        self.is_authenticated = is_authenticated


class Lines:
    """An audit log in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.log = AuditLog(str(path))

    def record(self, scope: Scope, notes: RequestNotes, *, address: str = "192.0.2.1") -> RequestRecord:
        return RequestRecord(self.log, notes, scope, address=address, method="GET")

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._path.read_text(encoding="utf-8").splitlines()]

    def only(self) -> dict[str, Any]:
        [line] = self.read()
        return line


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Lines]:
    made = Lines(tmp_path / "audit.log")
    with made.log:
        yield made


def scope_of(**parameters: str) -> Scope:
    return {"route": SimpleNamespace(path="/api/xapps/{namespace}/{name}"), "path_params": parameters}


def test_a_line_says_who_did_what_and_how_it_ended(lines: Lines) -> None:
    notes = RequestNotes(caller=Caller("jane"), reason="conflict")
    lines.record(scope_of(namespace="ric", name="hello"), notes).complete(409)
    line = lines.only()
    assert line.pop("timestamp")
    assert 0 <= line.pop("seconds") < 60
    assert line == {
        "level": "info",
        "logger": "xapp_operator.audit",
        "message": "request",
        "stage": "ResponseComplete",
        "user": "jane",
        "address": "192.0.2.1",
        "method": "GET",
        "route": "/api/xapps/{namespace}/{name}",
        "namespace": "ric",
        "name": "hello",
        "status": 409,
        "reason": "conflict",
    }


def test_a_long_response_has_a_line_at_its_begin_too(lines: Lines) -> None:
    record = lines.record(scope_of(), RequestNotes())
    has_started = [record.has_started]
    record.started(200)
    assert [*has_started, record.has_started] == [False, True]
    record.complete(200)
    assert [each["stage"] for each in lines.read()] == ["ResponseStarted", "ResponseComplete"]
    assert all(0 <= each["seconds"] < 60 for each in lines.read())


def test_what_is_not_known_is_null(lines: Lines) -> None:
    lines.record({}, RequestNotes(), address="").complete(0)
    line = lines.only()
    assert {line[each] for each in ("user", "address", "route", "namespace", "name", "reason")} == {None}


def test_notes_come_before_the_caller_and_the_path(lines: Lines) -> None:
    notes = RequestNotes(caller=Caller("jane"), user="joe", namespace="other", name="that")
    lines.record(scope_of(namespace="ric", name="hello"), notes).complete(200)
    line = lines.only()
    assert (line["user"], line["namespace"], line["name"]) == ("joe", "other", "that")


def test_a_long_user_is_cut(lines: Lines) -> None:
    lines.record({}, RequestNotes(user="u" * 300)).complete(200)
    assert lines.only()["user"] == "u" * 256


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("a" * 63, 404, True),
        ("a" * 64, 404, False),
        ("a" * 64, 400, False),
        ("a" * 64, 0, False),
        ("a" * 64, 200, True),
        ("a" * 64, 399, True),
        ("a" * 253, 200, True),
        ("a" * 254, 200, False),
        ("Secret!", 200, False),
        ("-a", 200, False),
    ],
)
def test_only_names_are_written(lines: Lines, name: str, status: int, expected: bool) -> None:
    lines.record(scope_of(namespace="ric", name=name), RequestNotes()).complete(status)
    assert lines.only()["name"] == (name if expected else None)


def test_requests_are_counted_without_an_audit_log_too() -> None:
    scope = {"route": SimpleNamespace(path="/api/counted/{name}")}
    RequestRecord(None, RequestNotes(), scope, address="", method="PURGE").complete(299)
    RequestRecord(None, RequestNotes(), {}, address="", method="PURGE").complete(298)
    counted = [
        line for line in METRICS.render().decode().splitlines() if "_count{" in line and 'method="PURGE"' in line
    ]
    assert len(counted) == 2
    assert any('route="/api/counted/{name}"' in line and 'status="299"' in line for line in counted)
    assert any('route="unmatched"' in line and 'status="298"' in line for line in counted)


def test_the_time_of_a_request_is_measured_from_its_begin(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("xapp_operator.gateway.http.audit.time", SimpleNamespace(perf_counter=lambda: now))
    record = lines.record({}, RequestNotes())
    now = 101.23456
    record.started(200)
    now = 102.5
    record.complete(200)
    assert [each["seconds"] for each in lines.read()] == [1.2346, 2.5]


@pytest.mark.parametrize("address", ["192.0.2.1", ""])
def test_a_connection_without_a_request_has_a_line(lines: Lines, address: str) -> None:
    write_refused_connection(lines.log, address=address, status=431, reason="head-too-large")
    line = lines.only()
    assert line.pop("timestamp")
    assert line == {
        "level": "info",
        "logger": "xapp_operator.audit",
        "message": "request",
        "stage": "ResponseComplete",
        "user": None,
        "address": address or None,
        "method": None,
        "route": None,
        "namespace": None,
        "name": None,
        "status": 431,
        "reason": "head-too-large",
        "seconds": 0,
    }


def test_the_notes_of_a_request_are_kept_in_its_scope() -> None:
    scope: Scope = {"type": "http"}
    first = audit_notes(HTTPConnection(scope))
    assert audit_notes(HTTPConnection(scope)) is first
    second = begin_notes(scope)
    assert second is not first
    assert audit_notes(HTTPConnection(scope)) is second


@pytest.mark.parametrize(
    ("caller", "group"),
    [
        (None, None),
        (Caller("jane", is_authenticated=False), None),
        (Caller("jane"), "jane"),
        (Caller("system:serviceaccount:ric:a"), "system:serviceaccount:ric"),
    ],
)
def test_only_an_authenticated_caller_has_a_share(caller: Caller | None, group: str | None) -> None:
    scope: Scope = {"type": "http"}
    assert authenticated_group(scope) is None
    begin_notes(scope).caller = caller
    assert authenticated_group(scope) == group
