"""`xapp retry`, `xapp suspend` and `xapp resume`."""

from __future__ import annotations

import typer

from xapp_operator.api.json import text
from xapp_operator.cli.changes import SUSPENDED, Change, TookEffect, send
from xapp_operator.cli.command import command
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    NameArgument,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    WaitOption,
)
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.session import Session, XAppName

app = typer.Typer()


@command(app, "retry", example="xapp retry acme-ran-greeter -n ric-xapps --wait")
def retry(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Try a failed deployment again, and read the index of its repository again."""
    change = action(session.xapp(name, namespace), "retry", accepted="is being tried again", done="was tried again")
    send(session, change, wait=wait, timeout=timeout, output=output)


@command(app, "suspend", example="xapp suspend acme-ran-greeter -n ric-xapps")
def suspend(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Let the operator leave the release as it is. The xApp keeps running."""
    change = action(
        session.xapp(name, namespace),
        "suspend",
        accepted="will be suspended",
        done="is suspended",
        unchanged="is suspended already",
        took_effect=lambda _, record: text(record, "phase") == SUSPENDED,
        ends_when_stalled=False,
    )
    send(session, change, wait=wait, timeout=timeout, output=output)


@command(app, "resume", example="xapp resume acme-ran-greeter -n ric-xapps --wait")
def resume(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Let the operator work on a suspended release again."""
    change = action(
        session.xapp(name, namespace),
        "resume",
        accepted="will be resumed",
        done="is resumed",
        unchanged="is not suspended: there is nothing to resume",
    )
    send(session, change, wait=wait, timeout=timeout, output=output)


def action(
    target: XAppName,
    name: str,
    *,
    accepted: str,
    done: str,
    unchanged: str | None = None,
    took_effect: TookEffect | None = None,
    ends_when_stalled: bool = True,
) -> Change:
    """Return the change that asks the operator for an action."""
    return Change(
        method="POST",
        path=f"{target.path}/actions",
        target=target,
        accepted=accepted,
        done=done,
        unchanged=unchanged,
        body={"action": name},
        took_effect=took_effect,
        ends_when_stalled=ends_when_stalled,
    )
