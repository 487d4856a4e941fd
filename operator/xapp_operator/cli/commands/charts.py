"""`xapp chart`: uploaded charts."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import obj, text
from xapp_operator.cli.command import command, command_group
from xapp_operator.cli.errors import CliError
from xapp_operator.cli.http.client import Part
from xapp_operator.cli.options import (
    AllNamespacesOption,
    DryRunOption,
    LimitOption,
    NamespaceOption,
    OutputOption,
    SearchOption,
    YesOption,
)
from xapp_operator.cli.output.ages import age
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.tables import Column
from xapp_operator.cli.questions import confirm
from xapp_operator.cli.session import Session, Table, segment
from xapp_operator.cli.values_input import read_file

app = command_group(
    "List, upload and delete charts in the cluster.",
    example="xapp chart upload hello-world-0.2.1.tgz -n ric-xapps\nxapp chart list -n ric-xapps",
)

TABLE: Final = Table(
    columns=(
        Column("NAMESPACE", names=True),
        Column("NAME", flexible=True, names=True),
        Column("CHART"),
        Column("VERSION"),
        Column("APP VERSION"),
        Column("AGE"),
        Column("KEPT"),
    ),
    wide=(Column("SIZE"), Column("DIGEST", flexible=True), Column("DESCRIPTION", flexible=True)),
)


@command(app, "list", example="xapp chart list -n ric-xapps\nxapp chart list -A --search hello")
def list_charts(
    session: Session,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespacesOption = False,
    search: SearchOption = None,
    limit: LimitOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """List uploaded charts."""
    chosen = None if all_namespaces else session.namespace(namespace)
    params = {key: value for key, value in (("namespace", chosen), ("search", search)) if value}
    records = session.list_all("/api/charts", {**params, "sort": "name"}, limit=limit)
    rows = [
        (
            text(each, "namespace"),
            text(each, "name"),
            text(obj(each, "chart"), "name", "-"),
            text(obj(each, "chart"), "version", "-"),
            text(obj(each, "chart"), "appVersion", "-"),
            age(text(each, "createdAt")),
            "yes" if each.get("keep") is True else "no",
            str(each.get("size") or "-"),
            text(each, "digest", "-"),
            text(obj(each, "chart"), "description"),
        )
        for each in records
    ]
    session.show_records(records, [*rows], TABLE, output)


@command(
    app,
    "upload",
    example="xapp chart upload hello-world-0.2.1.tgz -n ric-xapps\nxapp chart upload hello-world-0.2.1.tgz --dry-run",
)
def upload(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="CHART.tgz", help="Packaged chart.")],
    namespace: NamespaceOption = None,
    provenance: Annotated[
        Path | None, typer.Option("--provenance", metavar="FILE.prov", help="Its provenance file.")
    ] = None,
    dry_run: DryRunOption = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """Upload a chart. With --dry-run, say what it is, and store nothing."""
    parts: dict[str, Part] = {}
    chosen = session.namespace(namespace) if dry_run else session.required_namespace(namespace)
    if chosen:
        parts["namespace"] = (None, chosen.encode())
    parts["file"] = (file.name, read_file(str(file)))
    if provenance is not None:
        parts["provenance"] = (provenance.name, read_file(str(provenance)))
    params = {"dryRun": "true"} if dry_run else {}
    answer = session.client.request("POST", "/api/charts", parts=parts, params=params)
    record = answer.object()
    if output in {Format.JSON, Format.YAML}:
        session.output.document(record, output)
    elif dry_run:
        warnings = record.get("warnings")
        for warning in warnings if isinstance(warnings, list) else []:
            session.output.warning(str(warning))
        description = text(record, "description")
        session.output.line(
            f"{text(record, 'name')} {text(record, 'version')}{f': {description}' if description else ''}"
        )
    elif output is Format.NAME:
        session.output.names([record])
    else:
        state = "is stored" if answer.status == HTTPStatus.CREATED else "was stored already"
        session.output.line(f"{text(record, 'namespace')}/{text(record, 'name')} {state}")


@command(app, "delete", example="xapp chart delete hello-world-0.2.1-3f9a2b7c51d0 -n ric-xapps --yes")
def delete(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as `xapp chart list` shows it.")],
    namespace: NamespaceOption = None,
    yes: YesOption = False,
) -> None:
    """Delete an uploaded chart. One that XApps use is not deleted."""
    chosen = session.required_namespace(namespace)
    if not yes and not confirm(session.output, f"Delete the chart {chosen}/{name}?"):
        raise CliError("nothing was deleted")
    session.client.request("DELETE", f"/api/charts/{segment(chosen)}/{segment(name)}")
    session.output.note(f"{chosen}/{name} is deleted")
