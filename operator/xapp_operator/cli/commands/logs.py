"""`xapp logs`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Final

import httpx
import typer

from xapp_operator.cli.command import command
from xapp_operator.cli.http.event_stream import ServerEvent, parse_events
from xapp_operator.cli.http.foreign_answers import ConnectionLost
from xapp_operator.cli.options import NameArgument, NamespaceOption
from xapp_operator.cli.output.visible_text import on_lines
from xapp_operator.cli.session import Session

app = typer.Typer()

RECONNECTIONS_MAX: Final = 5
"""Broken connections in a row, each without a line."""
RECONNECT_SECONDS: Final = 1.0


@command(
    app,
    "logs",
    example="""
xapp logs acme-ran-greeter -n ric-xapps
xapp logs acme-ran-greeter -f --since 10m
xapp logs acme-ran-greeter --previous --tail 50
""",
)
def logs(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines as they are written.")] = False,
    pod: Annotated[str | None, typer.Option("--pod", metavar="NAME", help="Default: the newest ready pod.")] = None,
    container: Annotated[
        str | None, typer.Option("--container", "-c", metavar="NAME", help="Default: the main container.")
    ] = None,
    tail: Annotated[int | None, typer.Option("--tail", min=1, metavar="N", help="Lines from the end.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="A duration such as 10m, or an RFC 3339 time.")
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="The log before the last restart of the container.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print control characters as they are, for files.")] = False,
) -> None:
    """Print the log of a container of an xApp.

    Control characters, such as escape sequences, are shown as escapes: a log could control your terminal otherwise.
    """
    target = session.xapp(name, namespace)
    params: dict[str, str | int | list[str]] = {}
    options = {"pod": pod, "container": container, "tail": tail, "since": since}
    params.update({key: value for key, value in options.items() if value is not None})
    if previous:
        params["previous"] = "true"
    if follow:
        for line in _follow(session, f"{target.path}/logs", params):
            _write(f"{line}\n", raw=raw)
        return
    with session.client.stream("GET", f"{target.path}/logs", params=params) as response:
        _note_pod(session, response)
        for piece in response.iter_text():
            _write(piece, raw=raw)


def _follow(session: Session, path: str, params: dict[str, str | int | list[str]]) -> Iterator[str]:
    """Yield lines until the container ends. A broken connection is opened again where it was."""
    last_id: str | None = None
    failures = 0
    while True:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        query = {**params, "follow": "true"}
        try:
            with session.client.stream("GET", path, params=query, headers=headers) as response:
                if last_id is None:
                    _note_pod(session, response)
                for event in parse_events(response.iter_lines()):
                    failures = 0
                    last_id = event.id or last_id
                    if event.kind == "end":
                        return
                    if event.kind == "limit":
                        break
                    yield from _lines_of(event)
                else:
                    return  # the kubelet cannot read further; its last line says why
        except ConnectionLost as error:
            failures += 1
            if failures > RECONNECTIONS_MAX or last_id is None:
                raise
            session.output.note(f"{error.message}: connecting again")
            time.sleep(RECONNECT_SECONDS * failures)


def _lines_of(event: ServerEvent) -> Iterator[str]:
    if event.kind == "message":
        yield event.data


def _note_pod(session: Session, response: httpx.Response) -> None:
    pods = [each.strip() for each in response.headers.get("X-Pods", "").split(",") if each.strip()]
    if len(pods) > 1:
        chosen, container = response.headers.get("X-Pod", "?"), response.headers.get("X-Container", "?")
        session.output.note(f"pod {chosen}, container {container}; --pod chooses another of: {', '.join(pods)}")


def _write(content: str, *, raw: bool) -> None:
    sys.stdout.write(content if raw else on_lines(content))
    sys.stdout.flush()
