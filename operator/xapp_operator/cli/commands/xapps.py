"""`xapp list` and `xapp get`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.cli.command import command
from xapp_operator.cli.options import (
    AllNamespacesOption,
    LimitOption,
    NameArgument,
    NamespaceOption,
    OutputOption,
    SearchOption,
)
from xapp_operator.cli.output.ages import age
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.styles import health_cell, phase_cell
from xapp_operator.cli.output.tables import Column, Field, Row
from xapp_operator.cli.session import Session, Table

app = typer.Typer()

TABLE: Final = Table(
    columns=(
        Column("NAMESPACE", names=True),
        Column("NAME", names=True),
        Column("VERSION"),
        Column("PHASE"),
        Column("HEALTH"),
        Column("REVISION"),
        Column("AGE"),
        Column("MESSAGE", flexible=True),
    ),
    wide=(
        Column("ORGANIZATION", flexible=True),
        Column("TEAM", flexible=True),
        Column("OWNER", flexible=True),
        Column("CHART", flexible=True),
        Column("SOURCE"),
    ),
)


class Sort(StrEnum):
    """By what the list is sorted."""

    CREATED = "created"
    NAME = "name"
    NAMESPACE = "namespace"
    ORGANIZATION = "organization"
    TEAM = "team"
    OWNER = "owner"
    VERSION = "version"
    PHASE = "phase"
    HEALTH = "health"
    UPDATED = "updated"


class Source(StrEnum):
    """How an xApp is known."""

    XAPP = "xapp"
    LABELS = "labels"


OrganizationOption = Annotated[
    list[str] | None, typer.Option("--organization", metavar="NAME", help="Only of this organization; can be repeated.")
]
TeamOption = Annotated[
    list[str] | None, typer.Option("--team", metavar="NAME", help="Only of this team; can be repeated.")
]


@command(app, "list", example="xapp list -A\nxapp list -n ric-xapps --attention\nxapp list --phase Failed -o name")
def list_xapps(
    session: Session,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespacesOption = False,
    organization: OrganizationOption = None,
    team: TeamOption = None,
    owner: Annotated[
        list[str] | None, typer.Option("--owner", metavar="NAME", help="Only of this owner; can be repeated.")
    ] = None,
    phase: Annotated[
        list[str] | None, typer.Option("--phase", metavar="PHASE", help="Only in this phase; can be repeated.")
    ] = None,
    health: Annotated[
        list[str] | None, typer.Option("--health", metavar="HEALTH", help="Only with this health; can be repeated.")
    ] = None,
    source: Annotated[
        Source | None, typer.Option("--source", help="Only with an XApp resource, or only known by labels.")
    ] = None,
    attention: Annotated[
        bool | None, typer.Option("--attention/--no-attention", help="Only what needs a person, or only the others.")
    ] = None,
    search: SearchOption = None,
    sort: Annotated[Sort, typer.Option("--sort", help="Sort by this.")] = Sort.CREATED,
    descending: Annotated[bool, typer.Option("--desc", help="Sort the other way round.")] = False,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List xApps.

    Without a namespace, those of all namespaces that you may list. MESSAGE begins with `drifted` if objects of the
    release differ from its manifest: `xapp status` names them.
    """
    params = xapp_filters(
        None if all_namespaces else session.namespace(namespace), organization=organization, team=team
    )
    for key, values in (("owner", owner), ("phase", phase), ("health", health)):
        if values:
            params[key] = values
    if source is not None:
        params["source"] = source.value
    if attention is not None:
        params["attention"] = str(attention).lower()
    if search:
        params["search"] = search
    params["sort"] = sort.value
    params["order"] = "desc" if descending else "asc"
    records = session.list_all("/api/xapps", params, limit=limit)
    session.show_records(records, [_row(record) for record in records], TABLE, output)


@command(
    app, "get", example="xapp get acme-ran-hello-world -n ric-xapps\nxapp get ric-xapps/acme-ran-hello-world -o yaml"
)
def get(
    session: Session, name: NameArgument, namespace: NamespaceOption = None, output: OutputOption = Format.TABLE
) -> None:
    """Show one xApp with its conditions, release and Services."""
    record = session.client.get(session.xapp(name, namespace).path)
    if session.show_record(record, output):
        return
    release, chart, resources = obj(record, "release"), obj(record, "chart"), obj(record, "resources")
    session.output.fields(
        [
            ("Name", f"{text(record, 'namespace')}/{text(record, 'name')}"),
            ("xApp", _joined(record, "organization", "team", "xAppName")),
            ("Version", text(record, "version", "-")),
            ("Owner", text(record, "owner", "-")),
            ("Phase", phase_cell(text(record, "phase"))),
            ("Health", health_cell(text(record, "health"))),
            ("Message", text(record, "message", "-")),
            ("Chart", _joined(chart, "repoName", "name", "version")),
            ("Release", f"{text(release, 'name', '-')}, revision {_number(release.get('revision'))}"),
            *_held(record),
            ("Objects", f"{integer(resources, 'ready')} of {integer(resources, 'total')} healthy"),
            ("Created", text(record, "createdAt", "-")),
            ("Updated", text(record, "updatedAt", "-")),
        ],
    )
    session.output.line("")
    conditions = items(record, "conditions")
    session.output.table(
        (Column("CONDITION"), Column("STATUS"), Column("REASON"), Column("AGE"), Column("MESSAGE", flexible=True)),
        [
            (
                text(each, "type"),
                text(each, "status"),
                text(each, "reason", "-"),
                age(text(each, "lastTransitionTime")),
                text(each, "message"),
            )
            for each in conditions
        ],
    )
    services = items(record, "services")
    if services:
        session.output.line("")
        session.output.table(
            (Column("SERVICE", names=True), Column("TYPE"), Column("CLUSTER-IP"), Column("PORTS", flexible=True)),
            [(text(each, "name"), text(each, "type"), text(each, "clusterIP", "-"), ports(each)) for each in services],
        )


def xapp_filters(
    namespace: str | None, *, organization: list[str] | None, team: list[str] | None
) -> dict[str, str | int | list[str]]:
    """Return the query of a list of xApps."""
    params: dict[str, str | int | list[str]] = {}
    if namespace:
        params["namespace"] = namespace
    if organization:
        params["organization"] = organization
    if team:
        params["team"] = team
    return params


def ports(service: JsonObject) -> str:
    """Return the ports of a Service, as kubectl shows them."""
    shown = []
    for port in items(service, "ports"):
        node_port = port.get("nodePort")
        name = text(port, "name")
        number = f"{port.get('port')}{f':{node_port}' if node_port else ''}/{text(port, 'protocol', 'TCP')}"
        shown.append(f"{name}={number}" if name else number)
    return ",".join(shown)


def _row(record: JsonObject) -> Row:
    release, chart = obj(record, "release"), obj(record, "chart")
    return (
        text(record, "namespace"),
        text(record, "name"),
        text(record, "version", "-"),
        phase_cell(text(record, "phase")),
        health_cell(text(record, "health")),
        _number(release.get("revision")),
        age(text(record, "createdAt")),
        _message(record),
        text(record, "organization", "-"),
        text(record, "team", "-"),
        text(record, "owner", "-"),
        _joined(chart, "name", "version"),
        text(record, "source"),
    )


def _message(record: JsonObject) -> str:
    """Return the message of a record, after what Ready does not depend on."""
    parts = ("drifted" if record.get("drifted") is True else "", text(record, "message"))
    return "; ".join(part for part in parts if part)


def _held(record: JsonObject) -> list[Field]:
    held = record.get("heldRevision")
    return [] if held is None else [("Rolled back", f"revision {held} is in force until the spec changes")]


def _number(value: Json) -> str:
    return "-" if value is None else str(value)


def _joined(record: JsonObject, *keys: str) -> str:
    return " ".join(text(record, key) for key in keys if text(record, key)) or "-"
