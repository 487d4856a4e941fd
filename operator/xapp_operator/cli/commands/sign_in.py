"""`xapp login`, `xapp logout` and `xapp whoami`."""

from __future__ import annotations

from typing import Annotated

import typer

from xapp_operator.api.json import JsonObject, text
from xapp_operator.cli.command import command
from xapp_operator.cli.connection.login_file import Login, remove_login, write_login
from xapp_operator.cli.connection.resolution import checked_token, checked_url
from xapp_operator.cli.http.client import GatewayClient
from xapp_operator.cli.options import NamespaceOption, OutputOption, complete_nothing
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.questions import ask_secret, read_secret_line
from xapp_operator.cli.session import Session

app = typer.Typer()


@command(
    app,
    "login",
    example="""
xapp login https://gateway.example.com:31315 --ca ca.pem -n ric-xapps
kubectl create token jane -n ric-xapps | xapp login http://10.0.0.5:31315 --token-stdin
""",
)
def login(
    session: Session,
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="URL", help="Address of the gateway. Default: the one in use.", autocompletion=complete_nothing
        ),
    ] = None,
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read the token from stdin.")] = False,
    namespace: NamespaceOption = None,
) -> None:
    """Remember a gateway, and the token to sign in with.

    The token is asked for and not shown. Both are stored in a file that only you can read.
    """
    resolution = session.resolution
    where = resolution.where if address is None else None
    url = checked_url(address, source="URL") if address is not None else resolution.where.url
    ca = resolution.ca_option or (where.ca if where else None)
    found_by = where.found_by if where else "named by you"
    token: str | None = None
    with GatewayClient(url=url, found_by=found_by, token=None, ca=ca) as anyone:
        auth = text(anyone.get("/api/about"), "auth")
    if auth != "none":
        token = checked_token(_token(session, from_stdin=token_stdin), source="the token")
        session.warn_of_plain_http(url, token)
    with GatewayClient(url=url, found_by=found_by, token=token, ca=ca) as signed_in:
        caller = signed_in.get("/api/session")
    ca_path = str(ca.resolve()) if ca is not None else None
    write_login(resolution.login_path, Login(gateway=url, token=token, ca=ca_path, namespace=namespace))
    session.output.line(f"signed in at {url} as {_user(caller)}")


@command(app, "logout", example="xapp logout")
def logout(session: Session) -> None:
    """Forget the gateway and the token of `xapp login`. The token itself stays valid until it expires."""
    removed = remove_login(session.resolution.login_path)
    session.output.note("signed out" if removed else "you were not signed in with `xapp login`")


@command(app, "whoami", example="xapp whoami\nxapp whoami -o json")
def whoami(session: Session, output: OutputOption = Format.TABLE) -> None:
    """Show who the cluster takes you for, and which gateway is used, and why."""
    where, who = session.resolution.where, session.resolution.who
    caller = session.client.get("/api/session")
    if output in {Format.JSON, Format.YAML}:
        session.output.document(caller, output)
        return
    if output is Format.NAME:
        session.output.line(text(caller, "user"))
        return
    groups = caller.get("groups")
    session.output.fields(
        [
            ("User", _user(caller)),
            ("Groups", ", ".join(str(group) for group in groups) if isinstance(groups, list) and groups else "-"),
            ("Token", f"from {who.found_by}" if who.token else "none"),
            ("Expires", text(caller, "expiresAt", "-")),
            ("Gateway", f"{where.url} ({where.found_by})"),
            ("Namespace", session.namespace(None) or "all"),
        ],
    )


def _token(session: Session, *, from_stdin: bool) -> str:
    if from_stdin:
        return read_secret_line()
    return session.resolution.token_option or ask_secret(session.output, "Token")


def _user(caller: JsonObject) -> str:
    if text(caller, "auth") == "none":
        return "the gateway itself (it asks nobody to sign in)"
    return text(caller, "user")
