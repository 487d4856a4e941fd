"""`xapp call`: requests to the xApp's own API."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import httpx
import typer

from xapp_operator.cli.command import command
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.http.problems import problem_of
from xapp_operator.cli.options import NameArgument, NamespaceOption
from xapp_operator.cli.output.visible_text import on_lines, on_one_line
from xapp_operator.cli.session import Session, segment
from xapp_operator.cli.values_input import read_file

app = typer.Typer()

ERROR_SHOWN_BYTES: Final = 64 * 1024
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@command(
    app,
    "call",
    example="""
xapp call acme-ran-kpi-monitor GET config -n ric-xapps
xapp call acme-ran-kpi-monitor PUT config -d @config.json
xapp call acme-ran-kpi-monitor GET metrics --service kpi-monitor --port metrics
""",
)
def call(
    session: Session,
    name: NameArgument,
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Method of HTTP, such as GET.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Path in the xApp's API, with a query if needed.")],
    namespace: NamespaceOption = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="TEXT", help="Body; @FILE reads a file, @- stdin.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME: VALUE", help="Header; can be repeated.")
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", metavar="NAME", help="Service; with --port. Default: the API's own.")
    ] = None,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="Port of --service, name or number.")
    ] = None,
    include: Annotated[bool, typer.Option("--include", "-i", help="Print status and headers, too.")] = False,
) -> None:
    """Send a request to the xApp's own API, through the gateway, and print the answer.

    The exit code follows from the status: 0 below 400, 3 for 404, 4 for 401 and 403, 5 for others below 500, else 1.
    """
    method = method.upper()
    if method not in METHODS:
        raise UsageError(f"{method} is no method: use one of {', '.join(sorted(METHODS))}")
    if (service is None) != (port is None):
        raise UsageError("--service and --port belong together")
    target = session.xapp(name, namespace)
    base = f"{target.path}/api" if service is None else f"{target.path}/proxy/{segment(service)}/{segment(port or '')}"
    inside, _, query = path.lstrip("/").partition("?")
    if not {".", ".."}.isdisjoint(inside.split("/")):
        raise UsageError(f"the path {path} leaves the API of the xApp: write it without '.' and '..'")
    with session.client.stream(
        method,
        f"{base}/{inside}{f'?{query}' if query else ''}",
        content=_body(data),
        headers=_headers(header or [], has_body=data is not None),
        silence_seconds=None,
        raise_errors=False,
    ) as response:
        if include:
            _write_head(response)
        _write_body(response)
        if response.is_error:
            raise _error(response, target.path)


def _body(data: str | None) -> bytes | None:
    if data is None:
        return None
    return read_file(data[1:]) if data.startswith("@") else data.encode()


def _headers(given: list[str], *, has_body: bool) -> dict[str, str]:
    headers = {"Content-Type": "application/json"} if has_body else {}
    for line in given:
        name, colon, value = line.partition(":")
        if not colon or not name.strip().isascii() or not value.isprintable():
            raise UsageError("a header is NAME: VALUE")
        if name.strip().lower() == "authorization":
            raise UsageError("the gateway passes no credentials on to an xApp: leave out the header Authorization")
        headers[name.strip()] = value.strip()
    return headers


def _write_head(response: httpx.Response) -> None:
    sys.stdout.write(f"HTTP {response.status_code} {on_one_line(response.reason_phrase)}\n")
    for name, value in response.headers.items():
        sys.stdout.write(f"{on_one_line(name)}: {on_one_line(value)}\n")
    sys.stdout.write("\n")
    sys.stdout.flush()


def _write_body(response: httpx.Response) -> None:
    """Write the body as it comes: as it is into a file, harmless on a terminal."""
    if not sys.stdout.isatty():
        for piece in response.iter_bytes():
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        return
    last = ""
    for text in response.iter_text():
        sys.stdout.write(on_lines(text))
        sys.stdout.flush()
        last = text[-1:] or last
    if last not in {"", "\n"}:
        sys.stdout.write("\n")


def _error(response: httpx.Response, path: str) -> CliError:
    error = problem_of(response.status_code, b"", path=path)
    error.message = f"the answer has the status {response.status_code}"
    return error
