"""`xapp repo`: saved chart repositories."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import Json, JsonObject, integer, obj, text
from xapp_operator.cli.command import command, command_group
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.http.problems import ProblemNotAllowed
from xapp_operator.cli.options import (
    AllNamespacesOption,
    DryRunOption,
    LimitOption,
    NamespaceOption,
    OutputOption,
    SearchOption,
    YesOption,
    complete_repositories,
)
from xapp_operator.cli.output.ages import age
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.tables import Column
from xapp_operator.cli.questions import ask_secret, confirm, read_secret_line
from xapp_operator.cli.session import Session, Table, segment
from xapp_operator.cli.values_input import read_file

app = command_group(
    "List, save, remove and browse chart repositories.",
    example="xapp repo add acme https://charts.example.com -n ric-xapps\nxapp repo charts acme -n ric-xapps",
)

USERS_SHOWN_MAX: Final = 5
"""XApps that are named before a repository is removed."""
_SETTINGS: Final = ("hasCredentials", "hasCaBundle", "insecureSkipTLSVerify", "allowPlainHTTP", "verify")
"""With one of these, a repository is more than its address, and the operator does not save it again."""

TABLE: Final = Table(
    columns=(
        Column("NAMESPACE", names=True),
        Column("NAME", names=True),
        Column("URL", flexible=True),
        Column("READY"),
        Column("CHARTS"),
        Column("FETCHED"),
        Column("MESSAGE", flexible=True),
    ),
    wide=(Column("TYPE"), Column("INTERVAL"), Column("CREDENTIALS")),
)
CHARTS: Final = Table(
    columns=(
        Column("NAME", names=True),
        Column("LATEST"),
        Column("APP VERSION"),
        Column("VERSIONS"),
        Column("DESCRIPTION", flexible=True),
    )
)
VERSIONS: Final = Table(
    columns=(Column("VERSION"), Column("APP VERSION"), Column("CREATED"), Column("DESCRIPTION", flexible=True)),
    wide=(Column("DIGEST", flexible=True),),
)

RepositoryArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the repository.", autocompletion=complete_repositories),
]


@command(app, "list", example="xapp repo list -A\nxapp repo list -n ric-xapps -o wide")
def list_repositories(
    session: Session,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespacesOption = False,
    search: SearchOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List saved repositories."""
    chosen = None if all_namespaces else session.namespace(namespace)
    params = {key: value for key, value in (("namespace", chosen), ("search", search)) if value}
    records = session.list_all("/api/repositories", {**params, "sort": "name"}, limit=limit)
    rows = [
        (
            text(each, "namespace"),
            text(each, "name"),
            text(each, "url"),
            "yes" if each.get("ready") is True else "no",
            _shown(each.get("charts")),
            age(text(each, "lastFetched")),
            text(each, "message"),
            text(each, "type"),
            text(each, "interval"),
            "yes" if each.get("hasCredentials") is True else "no",
        )
        for each in records
    ]
    session.show_records(records, [*rows], TABLE, output)


@command(
    app,
    "add",
    example="""
xapp repo add acme https://charts.example.com -n ric-xapps
xapp repo add acme https://charts.example.com -n ric-xapps --username jane
printenv PASSWORD | xapp repo add acme oci://registry.example.com/charts -n ric-xapps --username ci --password-stdin
""",
)
def add(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as --repo of a deployment takes it.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="http(s):// or oci://, without credentials.")],
    namespace: NamespaceOption = None,
    username: Annotated[
        str | None, typer.Option("--username", metavar="NAME", help="User; the password is asked for.")
    ] = None,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")] = False,
    repository_token_stdin: Annotated[
        bool, typer.Option("--repository-token-stdin", help="Read a bearer token of the repository from stdin.")
    ] = False,
    ca_bundle: Annotated[
        Path | None, typer.Option("--ca-bundle", metavar="FILE", help="PEM certificates to trust for it.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure-skip-tls-verify", help="Accept any certificate of it.")] = False,
    plain_http: Annotated[
        bool, typer.Option("--allow-plain-http", help="Send credentials over http, where others can read them.")
    ] = False,
    interval: Annotated[
        str | None, typer.Option("--interval", metavar="DURATION", help="How often its index is read, such as 5m.")
    ] = None,
    dry_run: DryRunOption = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """Save a repository. With --dry-run, ask whether it answers, and save nothing."""
    body: JsonObject = {"name": name, "namespace": session.required_namespace(namespace), "url": url}
    body |= _credentials(session, username, password_stdin=password_stdin, token_stdin=repository_token_stdin)
    if ca_bundle is not None:
        body["caBundle"] = read_file(str(ca_bundle)).decode("ascii", errors="replace")
    if insecure:
        body["insecureSkipTLSVerify"] = True
    if plain_http:
        body["allowPlainHTTP"] = True
    if interval:
        body["interval"] = interval
    params = {"dryRun": "true"} if dry_run else {}
    record = session.client.request("POST", "/api/repositories", body=body, params=params).object()
    if output in {Format.JSON, Format.YAML}:
        session.output.document(record, output)
    elif dry_run:
        session.output.line(text(record, "message"))
    elif output is Format.NAME:
        session.output.names([record])
    else:
        session.output.line(f"{text(record, 'namespace')}/{text(record, 'name')} is saved")


@command(app, "remove", example="xapp repo remove acme -n ric-xapps --yes")
def remove(
    session: Session, name: RepositoryArgument, namespace: NamespaceOption = None, yes: YesOption = False
) -> None:
    """Remove a saved repository. XApps that use it stay.

    It names the XApps that use the repository. On a terminal, it asks before it removes anything.
    """
    chosen = session.required_namespace(namespace)
    path = f"/api/repositories/{segment(chosen)}/{segment(name)}"
    record = _known(session, path)
    if use := _use(record):
        session.output.warning(f"{chosen}/{name} {use}")
    if not yes and not confirm(session.output, f"Remove the repository {chosen}/{name}?"):
        raise CliError("nothing was removed")
    uid = text(record, "uid")
    session.client.request("DELETE", path, headers={"If-Match": f'"{uid}"'} if uid else {})
    session.output.note(f"{chosen}/{name} is removed")


@command(app, "charts", example="xapp repo charts samples -n ric-xapps --search hello")
def charts(
    session: Session,
    name: RepositoryArgument,
    namespace: NamespaceOption = None,
    search: SearchOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List the charts of a repository."""
    path = f"/api/repositories/{segment(session.required_namespace(namespace))}/{segment(name)}/charts"
    records = session.list_all(path, {"search": search} if search else {}, limit=limit)
    if output is Format.NAME:
        for each in records:
            session.output.line(text(each, "name"))
        return
    rows = [
        (
            text(each, "name"),
            text(each, "latest"),
            text(each, "appVersion", "-"),
            _shown(each.get("versions")),
            text(each, "description"),
        )
        for each in records
    ]
    session.show_records(records, [*rows], CHARTS, output)


@command(app, "versions", example="xapp repo versions samples kpi-store -n ric-xapps")
def versions(
    session: Session,
    name: RepositoryArgument,
    chart: Annotated[str, typer.Argument(metavar="CHART", help="Name of the chart.")],
    namespace: NamespaceOption = None,
    search: SearchOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List the versions of a chart, the newest first."""
    path = f"/api/repositories/{segment(session.required_namespace(namespace))}/{segment(name)}/charts"
    params = {"search": search} if search else {}
    records = session.list_all(f"{path}/{segment(chart)}/versions", params, limit=limit)
    if output is Format.NAME:
        for each in records:
            session.output.line(text(each, "version"))
        return
    rows = [
        (
            text(each, "version"),
            text(each, "appVersion", "-"),
            text(each, "created", "-"),
            text(each, "description"),
            text(each, "digest", "-"),
        )
        for each in records
    ]
    session.show_records(records, [*rows], VERSIONS, output)


def _credentials(session: Session, username: str | None, *, password_stdin: bool, token_stdin: bool) -> JsonObject:
    if token_stdin and (username is not None or password_stdin):
        raise UsageError("give a user with a password, or a token, but not both")
    if token_stdin:
        return {"token": read_secret_line()}
    if username is None:
        if password_stdin:
            raise UsageError("--password-stdin needs --username")
        return {}
    password = read_secret_line() if password_stdin else ask_secret(session.output, f"Password of {username}")
    return {"username": username, "password": password}


def _known(session: Session, path: str) -> JsonObject:
    """Return the record of a repository; empty for those who may remove it, but not see it."""
    try:
        return session.client.get(path)
    except ProblemNotAllowed as problem:
        if problem.status != HTTPStatus.FORBIDDEN:
            raise
        return {}


def _use(record: JsonObject) -> str:
    """Return which XApps use a repository, and what its removal means for them; empty if none does."""
    usage = obj(record, "usedBy")
    count, names = integer(usage, "count"), usage.get("names")
    if not usage:
        return "may be used by XApps that you may not list"
    if count == 0:
        return ""
    shown = [str(each) for each in names[:USERS_SHOWN_MAX]] if isinstance(names, list) else []
    more = [f"{count - len(shown)} more"] if count > len(shown) else []
    xapps, they, keep = ("1 XApp", "it", "It keeps") if count == 1 else (f"{count} XApps", "they", "They keep")
    saved = "The operator saves the address again when it next looks at one of them."
    if any(record.get(each) for each in _SETTINGS):
        saved = (
            f"The operator does not save it again, because it has more than an address: until you add it again, {they} "
            "cannot be upgraded."
        )
    return f"is used by {xapps}: {', '.join(shown + more)}. {keep} running. {saved}"


def _shown(value: Json) -> str:
    return "-" if value is None else str(value)
