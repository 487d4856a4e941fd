"""`xapp history`, `xapp rollback` and `xapp test`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.cli.changes import Change, send, send_or_try
from xapp_operator.cli.command import command
from xapp_operator.cli.commands.lifecycle import action
from xapp_operator.cli.errors import CliError, NotFound
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    DryRunOption,
    LimitOption,
    NameArgument,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    WaitOption,
)
from xapp_operator.cli.output.ages import age
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.tables import Cell, Column, Row
from xapp_operator.cli.rollback_target import rollback_target
from xapp_operator.cli.session import Session, Table, XAppName

app = typer.Typer()

TABLE: Final = Table(
    columns=(
        Column("REVISION", names=True),
        Column("STATUS"),
        Column("ACTION"),
        Column("CHART"),
        Column("APP VERSION"),
        Column("AGE"),
        Column("HEALTHY"),
        Column("DESCRIPTION", flexible=True),
    ),
    wide=(Column("CHART DIGEST", flexible=True), Column("VALUES DIGEST", flexible=True)),
)


@command(app, "history", example="xapp history acme-ran-greeter -n ric-xapps -o wide")
def history(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List the revisions of the Helm release, the newest first."""
    target = session.xapp(name, namespace)
    revisions = session.list_all(f"{target.path}/history", limit=limit)
    if output is Format.NAME:
        for each in revisions:
            session.output.line(str(each.get("revision")))
        return
    session.show_records(revisions, [_row(each) for each in revisions], TABLE, output)


@command(
    app,
    "rollback",
    example="xapp rollback acme-ran-greeter 2 -n ric-xapps --wait\nxapp rollback acme-ran-greeter --dry-run",
)
def rollback(
    session: Session,
    name: NameArgument,
    revision: Annotated[
        int | None, typer.Argument(min=1, metavar="REVISION", help="Default: the newest one before that worked.")
    ] = None,
    namespace: NamespaceOption = None,
    dry_run_only: DryRunOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Roll back to a revision. The operator holds it until the spec changes."""
    target = session.xapp(name, namespace)
    number = revision if revision is not None else _newest_that_worked(session, target)
    change = Change(
        method="POST",
        path=f"{target.path}/rollback",
        target=target,
        accepted=f"is being rolled back to revision {number}",
        done=f"was rolled back to revision {number}",
        body={"revision": number},
        took_effect=lambda before, record: _is_held(record, number) and _release(record) != _release(before),
    )
    send_or_try(session, change, dry_run_only=dry_run_only, wait=wait, timeout=timeout, output=output)


@command(app, "test", example="xapp test acme-ran-greeter -n ric-xapps\nxapp test acme-ran-greeter --no-wait")
def run_tests(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the results.")] = True,
    show_logs: Annotated[bool, typer.Option("--logs", help="Print the logs of tests that passed, too.")] = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Run the tests of the chart, and print their results and the logs of those that failed."""
    target = session.xapp(name, namespace)
    change = action(
        target,
        "test",
        accepted="is being tested",
        done="was tested",
        took_effect=_were_tested,
        ends_when_stalled=False,
    )
    if not wait:
        send(session, change, wait=False, timeout=timeout, output=output)
        return
    send(session, change, wait=True, timeout=timeout, output=None)
    tests = items({"tests": session.client.request("GET", f"{target.path}/tests").json()}, "tests")
    if output in {Format.JSON, Format.YAML}:
        session.output.document([*tests], output)
    elif not tests:
        session.output.line(f"the chart of {target} has no tests")
    else:
        _show_tests(session, tests, all_logs=show_logs)
    _judge(target, session.client.get(target.path))


def _show_tests(session: Session, tests: list[JsonObject], *, all_logs: bool) -> None:
    session.output.table((Column("TEST"), Column("KIND"), Column("RESULT")), [_test_row(each) for each in tests])
    for each in tests:
        if text(each, "log") and (all_logs or text(each, "phase") != "Succeeded"):
            session.output.line("")
            session.output.line(f"log of {text(each, 'name')}:", style="bold")
            session.output.lines(text(each, "log"))


def _judge(target: XAppName, record: JsonObject) -> None:
    condition = _test_condition(record)
    if text(condition, "status") == "False":
        raise CliError(f"the tests of {target} failed: {text(condition, 'message')}")


def _test_condition(record: JsonObject) -> JsonObject:
    return next((each for each in items(record, "conditions") if text(each, "type") == "TestSuccess"), {})


def _were_tested(before: JsonObject, record: JsonObject) -> bool:
    """Return whether tests have ended since `before`. The condition is Unknown while they run."""
    now, then = _test_condition(record), _test_condition(before)
    is_new = text(now, "lastTransitionTime") != text(then, "lastTransitionTime")
    return is_new and text(now, "status") in {"True", "False"}


def _is_held(record: JsonObject, revision: int) -> bool:
    return record.get("ready") is True and record.get("heldRevision") == revision


def _release(record: JsonObject) -> Json:
    return obj(record, "release").get("revision")


def _newest_that_worked(session: Session, target: XAppName) -> int:
    revision = rollback_target(session.client.get(target.path))
    if revision is None:
        raise NotFound(
            f"{target} has no other revision that worked before: choose one yourself, see `xapp history {target}`"
        )
    return revision


def _row(revision: JsonObject) -> Row:
    chart = " ".join(part for part in (text(revision, "chart"), text(revision, "chartVersion")) if part)
    return (
        str(revision.get("revision")),
        text(revision, "status", "-"),
        text(revision, "action", "-"),
        chart or "-",
        text(revision, "appVersion", "-"),
        age(text(revision, "deployedAt")),
        _yes_or_no(revision.get("wasHealthy")),
        text(revision, "description"),
        text(revision, "chartDigest", "-"),
        text(revision, "valuesDigest", "-"),
    )


def _test_row(test_record: JsonObject) -> Row:
    phase = text(test_record, "phase", "not run")
    style = {"Succeeded": "green", "Failed": "red"}.get(phase, "")
    return text(test_record, "name"), text(test_record, "kind", "-"), Cell(phase, style)


def _yes_or_no(value: Json) -> str:
    return {True: "yes", False: "no"}.get(value, "-") if isinstance(value, bool) else "-"
