"""`xapp status` and `xapp health`."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.cli.changes import is_suspended
from xapp_operator.cli.command import command
from xapp_operator.cli.errors import CliError, NotReadyInTime
from xapp_operator.cli.http.foreign_answers import ConnectionLost
from xapp_operator.cli.http.problems import Problem, ProblemNotFound
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    NameArgument,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
)
from xapp_operator.cli.output.ages import age
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.status_tree import culprit, status_tree
from xapp_operator.cli.output.styles import health_cell
from xapp_operator.cli.output.tables import Column
from xapp_operator.cli.session import Session, XAppName

app = typer.Typer()

LOOK_SECONDS: Final = 1.0
"""Between two looks at an xApp that is watched."""
FAILED_PHASES: Final = frozenset({"Failed", "Degraded"})


@command(
    app, "status", example="xapp status acme-ran-greeter -n ric-xapps\nxapp status acme-ran-greeter -w --timeout 120"
)
def status(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow it until it is Ready or has failed, and exit accordingly.")
    ] = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
) -> None:
    """Show the state of an xApp as a tree of its objects, pods and containers.

    With -w, the exit code tells the end: 0 Ready, 1 failed, 6 not ready in time, or suspended. Of an xApp that is being
    removed, 0 means gone.
    """
    target = session.xapp(name, namespace)
    if watch:
        wait_until_ready(session, target, timeout)
        return
    record, health = _look(session, target)
    for line in status_tree(record, health):
        session.output.rich(line)


@command(app, "health", example="xapp health acme-ran-greeter -n ric-xapps\nxapp health acme-ran-greeter -o json")
def health_report(
    session: Session, name: NameArgument, namespace: NamespaceOption = None, output: OutputOption = Format.TABLE
) -> None:
    """Show the health of each object and pod, and the last events."""
    report = session.client.get(f"{session.xapp(name, namespace).path}/health")
    if output in {Format.JSON, Format.YAML}:
        session.output.document(report, output)
        return
    session.output.line(f"{text(report, 'status')}: {text(report, 'message', 'no message')}", style="bold")
    session.output.line("")
    session.output.table(
        (Column("KIND"), Column("NAME", names=True), Column("HEALTH"), Column("MESSAGE", flexible=True)),
        [
            (text(each, "kind"), text(each, "name"), health_cell(text(each, "status")), text(each, "message"))
            for each in items(report, "resources")
        ],
    )
    if pods := items(report, "pods"):
        session.output.line("")
        session.output.table(
            (
                Column("POD", names=True),
                Column("PHASE"),
                Column("READY"),
                Column("RESTARTS"),
                Column("NODE"),
                Column("REASON", flexible=True),
            ),
            [
                (
                    text(pod, "name"),
                    text(pod, "phase"),
                    _ready_containers(pod),
                    str(integer(pod, "restarts")),
                    text(pod, "node", "-"),
                    _reasons(pod),
                )
                for pod in pods
            ],
        )
    if events := items(report, "events"):
        session.output.line("")
        show_events(session, events)


def show_events(session: Session, events: list[JsonObject]) -> None:
    """Print events as a table."""
    session.output.table(
        (
            Column("AGE"),
            Column("TYPE"),
            Column("REASON"),
            Column("OBJECT", flexible=True),
            Column("COUNT"),
            Column("MESSAGE", flexible=True),
        ),
        [
            (
                age(text(each, "lastSeen")),
                text(each, "type"),
                text(each, "reason"),
                f"{text(obj(each, 'object'), 'kind')}/{text(obj(each, 'object'), 'name')}",
                str(integer(each, "count")),
                text(each, "message"),
            )
            for each in events
        ],
    )


def wait_until_ready(session: Session, target: XAppName, timeout: float) -> None:
    """Show the tree until the xApp is Ready, has failed or is gone. Without a terminal, print each change on a line.

    Raises:
        CliError: it has failed.
        NotReadyInTime: the time is over, or it is suspended.
    """
    deadline = time.monotonic() + timeout
    record: JsonObject = {}
    health: JsonObject | None = None
    lines: list[Text] = []
    said = ""
    on_terminal = session.output.stdout.is_terminal
    with Live(console=session.output.stdout, auto_refresh=False, transient=True) as live:
        while True:
            try:
                record, health = _look(session, target)
            except ProblemNotFound:
                if record:
                    lines = [Text(f"{target} is gone")]
                    break
                raise
            except ConnectionLost as error:
                session.output.note(error.message)
            lines = status_tree(record, health) if record else []
            if on_terminal:
                live.update(Group(*lines), refresh=True)
            elif (line := _summary(record)) != said:
                session.output.line(line)
                said = line
            if not record or _is_settled(record) or time.monotonic() >= deadline:
                break
            time.sleep(LOOK_SECONDS)
    if on_terminal or not record:
        for each in lines:
            session.output.rich(each)
    _judge(target, record, health)


def _judge(target: XAppName, record: JsonObject, health: JsonObject | None) -> None:
    if is_suspended(record):
        raise NotReadyInTime(
            f"{target} is suspended: what its spec says takes effect when it is resumed",
            details=(f"Resume it with `xapp resume {target}`.",),
        )
    if record.get("ready") is True or not record or text(record, "phase") == "Uninstalling":
        return
    if _has_failed(record):
        raise CliError(f"{target} has failed: {culprit(record, health)}")
    raise NotReadyInTime(f"{target} is not Ready in time: {culprit(record, health)}")


def _look(session: Session, target: XAppName) -> tuple[JsonObject, JsonObject | None]:
    record = session.client.get(target.path)
    try:
        return record, session.client.get(f"{target.path}/health")
    except Problem:
        return record, None  # the record alone tells the state too


def _is_settled(record: JsonObject) -> bool:
    if text(record, "phase") == "Uninstalling":
        return record.get("stalled") is True
    return record.get("ready") is True or _has_failed(record) or is_suspended(record)


def _has_failed(record: JsonObject) -> bool:
    """Return whether nothing more happens by itself."""
    tries_again = obj(record, "progress").get("nextTryAt") is not None
    return record.get("stalled") is True or (text(record, "phase") in FAILED_PHASES and not tries_again)


def _summary(record: JsonObject) -> str:
    name = f"{text(record, 'namespace')}/{text(record, 'name')}"
    step = text(obj(record, "progress"), "step")
    return ", ".join(
        part
        for part in (f"{name}: {text(record, 'phase')}", text(record, "health"), step, text(record, "message"))
        if part
    )


def _ready_containers(pod: JsonObject) -> str:
    containers = [each for each in items(pod, "containers") if each.get("init") is not True]
    return f"{sum(each.get('ready') is True for each in containers)}/{len(containers)}"


def _reasons(pod: JsonObject) -> str:
    containers = [each for each in items(pod, "containers") if each.get("ready") is not True and text(each, "reason")]
    return ", ".join(f"{text(each, 'name')}: {text(each, 'reason')}" for each in containers)
