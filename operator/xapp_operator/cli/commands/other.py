"""`xapp services`, `xapp open`, `xapp completion` and `xapp version`."""

from __future__ import annotations

import webbrowser
from enum import StrEnum
from importlib.metadata import version as package_version
from typing import Annotated, Final

import typer
from typer._completion_shared import get_completion_script

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.cli.command import command
from xapp_operator.cli.commands.xapps import ports
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.options import (
    AllNamespacesOption,
    LimitOption,
    NamespaceOption,
    OutputOption,
    SearchOption,
    complete_xapps,
)
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.tables import Column, Row
from xapp_operator.cli.session import Session, Table, XAppName, segment

app = typer.Typer()

COMPLETE_VARIABLE: Final = "_XAPP_COMPLETE"
ZSH_REGISTRATION: Final = "compdef _xapp_completion xapp"
ZSH_REGISTRATION_OR_CALL: Final = f"""\
if [[ $funcstack[1] == _xapp ]]; then
  _xapp_completion "$@"
else
  {ZSH_REGISTRATION}
fi"""
"""A file of zsh's fpath is the body of the function `_xapp`: it has to complete, not to register itself."""
SERVICES: Final = Table(
    columns=(
        Column("NAMESPACE", names=True),
        Column("NAME", names=True),
        Column("TYPE"),
        Column("CLUSTER-IP"),
        Column("PORTS", flexible=True),
        Column("XAPP", flexible=True),
    ),
    wide=(Column("LABELS", flexible=True),),
)


SERVICES_OF_XAPP: Final = Table(
    columns=(
        Column("NAME", names=True),
        Column("TYPE"),
        Column("CLUSTER-IP"),
        Column("PORTS", flexible=True),
        Column("ADDRESS", names=True),
        Column("VIA"),
    ),
)


class Shell(StrEnum):
    """Shells that can complete commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@command(
    app,
    "services",
    example="xapp services acme-ran-greeter -n ric-xapps\nxapp services -n ric --port netconf\n"
    "xapp services -A --label app=ric",
)
def services(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only those of this xApp, with addresses.", autocompletion=complete_xapps),
    ] = None,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespacesOption = False,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", metavar="SELECTOR", help="Label selector, such as app=ric,a!=b."),
    ] = None,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="Only with a port of this name or number.")
    ] = None,
    search: SearchOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List the Services of the monitored namespaces, or those of one xApp with the addresses that reach them."""
    if name is not None:
        filters = {"-A": all_namespaces, "--label": label, "--port": port, "--search": search, "--limit": limit}
        refused = [option for option, value in filters.items() if value]
        if refused:
            raise UsageError(f"{refused[0]} is for all Services: leave it out, or leave out the NAME of the xApp")
        _show_services_of(session, session.xapp(name, namespace), output)
        return
    chosen = None if all_namespaces else session.namespace(namespace)
    options = (("namespace", chosen), ("label", label), ("port", port), ("search", search))
    params = {key: value for key, value in options if value}
    records = session.list_all("/api/discovery/services", params, limit=limit)
    rows = [
        (
            text(each, "namespace"),
            text(each, "name"),
            text(each, "type"),
            text(each, "clusterIP", "-"),
            ports(each),
            text(obj(each, "xApp"), "name", "-"),
            _labels(each),
        )
        for each in records
    ]
    session.show_records(records, [*rows], SERVICES, output)


def _show_services_of(session: Session, xapp: XAppName, output: Format) -> None:
    found = items(session.client.get(f"{xapp.path}/config"), "services")
    if output is Format.NAME:
        session.output.names({"namespace": xapp.namespace, "name": text(each, "name")} for each in found)
        return
    rows: list[Row] = []
    for each in found:
        service: Row = (text(each, "name"), text(each, "type"), text(each, "clusterIP", "-"), ports(each))
        for address in items(each, "addresses") or [{}]:
            rows.append((*service, _absolute(session, text(address, "url", "-")), text(address, "via", "-")))
            service = ("", "", "", "")
    session.show_records(found, rows, SERVICES_OF_XAPP, output)


def _absolute(session: Session, url: str) -> str:
    """Return the address of a Service; one through the gateway is a path there."""
    return f"{session.resolution.where.url}{url}" if url.startswith("/") else url


@command(app, "open", example="xapp open\nxapp open acme-ran-greeter -n ric-xapps --print")
def open_dashboard(
    session: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Open the page of this xApp.", autocompletion=complete_xapps)
    ] = None,
    namespace: NamespaceOption = None,
    print_only: Annotated[bool, typer.Option("--print", help="Print the address, and open nothing.")] = False,
) -> None:
    """Open the dashboard in a browser."""
    url = session.resolution.where.url
    if name is not None:
        target = session.xapp(name, namespace)
        url = f"{url}/xapps/{segment(target.namespace)}/{segment(target.name)}"
    session.output.line(url)
    if not print_only and not webbrowser.open(url):
        raise CliError("no browser can be started here: open the address yourself")


@command(
    app,
    "completion",
    example="""
source <(xapp completion bash)
xapp completion zsh > "${fpath[1]}/_xapp"
xapp completion fish > ~/.config/fish/completions/xapp.fish
""",
)
def completion(
    session: Session, shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]
) -> None:
    """Print a script that lets a shell complete commands, options, and names of xApps and namespaces."""
    script = get_completion_script(prog_name="xapp", complete_var=COMPLETE_VARIABLE, shell=shell.value)
    if shell is Shell.ZSH:
        script = script.replace(ZSH_REGISTRATION, ZSH_REGISTRATION_OR_CALL)
    session.output.raw(f"{script}\n")


@command(app, "version", example="xapp version\nxapp version --client")
def version(
    session: Session,
    client_only: Annotated[bool, typer.Option("--client", help="Do not ask the gateway.")] = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """Show the versions of this program, the gateway and the cluster."""
    own = package_version("xapp-operator")
    about: JsonObject = {} if client_only else session.client.get("/api/about")
    if output in {Format.JSON, Format.YAML}:
        session.output.document({"client": own, "gateway": about or None}, output)
        return
    session.output.line(f"xapp {own}")
    if about:
        session.output.line(f"gateway {text(about, 'version')} at {session.resolution.where.url}")
        if kubernetes := text(about, "kubernetes"):
            session.output.line(f"Kubernetes {kubernetes}")


def _labels(service: JsonObject) -> str:
    return ",".join(f"{key}={value}" for key, value in obj(service, "labels").items())
