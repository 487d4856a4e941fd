"""Changes of xApps: sending them, waiting for their effect, and saying what became of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from rich.text import Text

from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.cli.errors import CliError, NotReadyInTime
from xapp_operator.cli.http.client import Answer, GatewayClient, Parameters, Part
from xapp_operator.cli.http.event_stream import parse_events
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.tables import Column
from xapp_operator.cli.output.visible_text import on_one_line
from xapp_operator.cli.session import Session, XAppName

WAIT_SECONDS_MAX: Final = 300
"""What a gateway waits at most, unless its administrator has chosen another bound."""
SUSPENDED: Final = "Suspended"
"""The phase. Until the operator has seen a later spec, the record still has it, with the progress of that spec."""
READY: Final = "is Ready"
"""What is said of a change that has taken effect when the xApp is Ready."""
LOOK_SECONDS: Final = 1.0


TookEffect = Callable[[JsonObject, JsonObject], bool]
"""Whether a change has taken effect, by the records of the xApp before it and now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One request that changes an xApp.

    Args:
        target: the xApp; of a new one, the name that it will have.
        done: what is said when it has taken effect, such as `is Ready`.
        accepted: what is said when it has been accepted, such as `is being upgraded`.
        unchanged: what is said if the spec asked for it before, with the state of an xApp that is not Ready. None: the
            change is no change of the spec.
        took_effect: whether it has taken effect. None: when the xApp is Ready.
        ends_when_stalled: whether it will not take effect once the xApp is Stalled.
    """

    method: str
    path: str
    target: XAppName
    accepted: str
    done: str
    unchanged: str | None = None
    body: Json | bytes | None = None
    parts: Mapping[str, Part] | None = None
    headers: Mapping[str, str] | None = None
    params: Mapping[str, str] | None = None
    took_effect: TookEffect | None = None
    ends_when_stalled: bool = True


def send(session: Session, change: Change, *, wait: bool, timeout: float, output: Format | None) -> JsonObject:
    """Send a change, wait for its effect if that is wanted, and print the record or a sentence; nothing for None.

    A gateway waits only so long. Then the record is read until the change has taken effect, or `timeout` is over.

    Raises:
        Problem: the gateway refuses it.
        NotReadyInTime: with `wait`, it has not taken effect in time, or the xApp is suspended.
        CliError: with `wait`, it has failed.
    """
    started = time.monotonic()
    params: dict[str, str | int | list[str]] = dict(change.params or {})
    seconds = max(1, min(int(timeout), _wait_limit(session))) if wait else 0
    if wait:
        params["wait"] = seconds
    compares = wait and change.took_effect is not None and timeout - seconds >= 1
    before = session.client.get(change.target.path) if compares or change.unchanged is not None else {}
    with progress(session, change.target) if wait else _no_progress():
        answer = _request(session, change, params, seconds)
        record = answer.object()
        is_done = answer.status == HTTPStatus.OK
        remaining = timeout - (time.monotonic() - started)
        ended = is_done or is_suspended(record) or _has_failed(change, record)
        if wait and not ended and timeout - seconds >= 1 and remaining >= 1:
            record = _wait_until_settled(session, change, before, seconds=remaining)
            is_done = _took_effect(change, before, record)
    unchanged = change.unchanged if _has_same_spec(before, record) else None
    printed = output is None or session.show_record(record, output)
    if wait and not is_done:
        raise _unfinished(change, record, unchanged)
    if not printed and not session.output.quiet:
        _report(session, change, record, unchanged=unchanged, is_done=is_done and wait)
    return record


def send_or_try(
    session: Session, change: Change, *, dry_run_only: bool, wait: bool, timeout: float, output: Format
) -> None:
    """Send a change, or with `dry_run_only` print what it would change."""
    if dry_run_only:
        dry_run(session, change, output)
    else:
        send(session, change, wait=wait, timeout=timeout, output=output)


def dry_run(session: Session, change: Change, output: Format) -> None:
    """Send a change as a dry run, and print what would change."""
    answer = _request(session, change, {**(change.params or {}), "dryRun": "true"}, 0)
    show_dry_run(session, answer.object(), output)


def show_dry_run(session: Session, result: JsonObject, output: Format) -> None:
    """Print the answer to a dry run: warnings on stderr, then the diff, or the objects of a new xApp."""
    if output in {Format.JSON, Format.YAML}:
        session.output.document(result, output)
        return
    warnings = result.get("warnings")
    for warning in warnings if isinstance(warnings, list) else []:
        session.output.warning(str(warning))
    diff = result.get("diff")
    objects = items(result, "objects")
    if isinstance(diff, str):
        session.output.diff(diff)
    changed = [each for each in objects if text(each, "change") != "unchanged"]
    if changed and not diff:
        session.output.table(
            (Column("CHANGE"), Column("KIND"), Column("NAME", flexible=True)),
            [(text(each, "change", "unknown"), text(each, "kind"), text(each, "name")) for each in changed],
        )
    elif diff == "" and not changed:
        session.output.note("nothing would change")


def is_suspended(record: JsonObject) -> bool:
    """Return whether the operator leaves the xApp as it is: changes take effect when it is resumed."""
    return text(record, "phase") == SUSPENDED and record.get("progress") is None


def _took_effect(change: Change, before: JsonObject, record: JsonObject) -> bool:
    if change.took_effect is not None:
        return change.took_effect(before, record)
    return record.get("ready") is True and not is_suspended(record)


def _has_same_spec(before: JsonObject, record: JsonObject) -> bool:
    return integer(record, "generation") > 0 and record.get("generation") == before.get("generation")


def _has_failed(change: Change, record: JsonObject) -> bool:
    return change.ends_when_stalled and record.get("stalled") is True


def _wait_until_settled(session: Session, change: Change, before: JsonObject, *, seconds: float) -> JsonObject:
    """Return the record when the change has taken effect, failed or cannot take effect, or the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        record = session.client.get(change.target.path)
        is_settled = _took_effect(change, before, record) or is_suspended(record) or _has_failed(change, record)
        if is_settled or time.monotonic() >= deadline:
            return record
        time.sleep(min(LOOK_SECONDS, max(deadline - time.monotonic(), 0)))


def _wait_limit(session: Session) -> int:
    limit = obj(session.client.get("/api/about"), "limits").get("waitSeconds")
    return int(limit) if isinstance(limit, int | float) else WAIT_SECONDS_MAX


def _request(session: Session, change: Change, params: Parameters, wait_seconds: float) -> Answer:
    return session.client.request(
        change.method,
        change.path,
        params=params,
        body=change.body,
        parts=change.parts,
        headers=change.headers,
        wait_seconds=wait_seconds,
    )


def _unfinished(change: Change, record: JsonObject, unchanged: str | None) -> CliError:
    """Return the error for a change that has not taken effect; `unchanged` if the spec asked for it before."""
    target = change.target
    reason = text(record, "message") or "the operator has not reported on it yet"
    if is_suspended(record):
        return NotReadyInTime(
            f"{target} is suspended: the change was accepted, and takes effect when it is resumed"
            if unchanged is None
            else f"{target} {unchanged}. It is suspended.",
            details=(f"Resume it with `xapp resume {target}`.",),
        )
    if _has_failed(change, record):
        return CliError(
            f"{target} has failed: {reason}" if unchanged is None else f"{target} {unchanged}. It has failed: {reason}",
            details=(f"See `xapp status {target}`.",),
        )
    return NotReadyInTime(
        f"{target}: the change was accepted, but has not taken effect in time: {reason}"
        if unchanged is None
        else f"{target} {unchanged}. It is not Ready: {reason}",
        details=(f"The operator goes on. Watch it with `xapp status {target} -w`.",),
    )


def _report(session: Session, change: Change, record: JsonObject, *, unchanged: str | None, is_done: bool) -> None:
    target = change.target
    session.output.line(f"{target} {unchanged or (change.done if is_done else change.accepted)}")
    if unchanged is not None and change.took_effect is None and record.get("ready") is not True:
        state = ": ".join(part for part in (text(record, "phase"), text(record, "message")) if part)
        session.output.line(f"{target} is not Ready: {state}")


@contextmanager
def _no_progress() -> Iterator[None]:
    yield


@contextmanager
def progress(session: Session, target: XAppName) -> Iterator[None]:
    """Show on a terminal how far the xApp is, until the block ends. It reads the stream of changes."""
    if not session.output.shows_progress:
        yield
        return
    ended = threading.Event()
    with session.output.stderr.status(_status_text(f"{target}: waiting …")) as status:

        def follow() -> None:
            client = _second_client(session)
            try:
                params: Parameters = {"namespace": target.namespace, "name": target.name, "fields": "summary"}
                with client.stream("GET", "/api/stream", params=params) as response:
                    for event in parse_events(response.iter_lines()):
                        if ended.is_set():
                            return
                        if event.kind in {"added", "modified"}:
                            status.update(_status_text(_progress_line(target, json.loads(event.data))))
            except (CliError, ValueError):
                return  # the change itself goes on, and reports what is wrong
            finally:
                client.close()

        thread = threading.Thread(target=follow, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()


def _second_client(session: Session) -> GatewayClient:
    where = session.resolution.where
    return GatewayClient(url=where.url, found_by=where.found_by, token=session.resolution.who.token, ca=where.ca)


def _status_text(line: str) -> Text:
    return Text(line, no_wrap=True, overflow="ellipsis")


def _progress_line(target: XAppName, record: JsonObject) -> str:
    step = text(obj(record, "progress"), "step")
    parts = (f"{target}: {text(record, 'phase')}", step and f"step {step}", text(record, "message"))
    return on_one_line(", ".join(part for part in parts if part))
