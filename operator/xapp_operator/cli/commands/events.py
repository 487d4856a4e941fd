"""`xapp events`."""

from __future__ import annotations

import typer

from xapp_operator.cli.command import command
from xapp_operator.cli.commands.health import show_events
from xapp_operator.cli.options import LimitOption, NameArgument, NamespaceOption, OutputOption
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.session import Session

app = typer.Typer()


@command(app, "events", example="xapp events acme-ran-greeter -n ric-xapps --limit 20")
def events(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List events about an xApp and its objects, the newest first."""
    target = session.xapp(name, namespace)
    found = session.client.list_all(f"{target.path}/events", limit=limit, snapshot=False)
    if output in {Format.JSON, Format.YAML}:
        session.output.document([*found], output)
    elif found:
        show_events(session, found)
    else:
        session.output.note("no events")
