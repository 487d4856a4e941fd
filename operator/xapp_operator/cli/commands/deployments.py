"""`xapp deploy` and `xapp upgrade`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.cli.changes import READY, Change, send_or_try
from xapp_operator.cli.command import command
from xapp_operator.cli.errors import UsageError
from xapp_operator.cli.http.client import Part
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    DryRunOption,
    NameArgument,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    WaitOption,
    complete_repositories,
)
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.session import Session, XAppName, segment
from xapp_operator.cli.values_input import (
    SetOption,
    SetStringOption,
    ValuesOption,
    read_file,
    read_object,
    values_text,
)
from xapp_operator.domain.naming import composed_name
from xapp_operator.errors import XAppError

app = typer.Typer()

DEPLOYMENT_PATH: Final = "/api/deployment/xapp"
UPLOAD: Final = "Upload Chart"
REMOTE: Final = "Remote Chart Repository"
REQUIRED: Final = {"xAppName": "--name", "organization": "--organization", "team": "--team"}

FileOption = Annotated[Path | None, typer.Option("--file", metavar="CHART.tgz", help="Packaged chart to upload.")]
ProvenanceOption = Annotated[
    Path | None, typer.Option("--provenance", metavar="FILE.prov", help="Provenance file of --file.")
]
ChartOption = Annotated[str | None, typer.Option("--chart", metavar="NAME", help="Chart in a repository.")]
UrlOption = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Address of the repository: http(s):// or oci://.")
]
RepoOption = Annotated[
    str | None,
    typer.Option(
        "--repo",
        metavar="NAME",
        help="Name of the repository. A saved one needs no --url.",
        autocompletion=complete_repositories,
    ),
]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="X.Y.Z", help="Version of the xApp: dotted numeric.")
]
ChartVersionOption = Annotated[
    str | None, typer.Option("--chart-version", metavar="RANGE", help="Exact version or range. Default: --version.")
]
OwnerOption = Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Who answers for it.")]
ServiceAccountOption = Annotated[
    str | None, typer.Option("--service-account", metavar="NAME", help="Service account that helm acts as.")
]
FormOption = Annotated[
    str | None,
    typer.Option("--form", metavar="FILE", help="Form with any fields of spec (YAML or JSON); options count more."),
]


@command(
    app,
    "deploy",
    example="""
xapp deploy --name greeter --organization acme --team ran --version 0.2.1 --owner jane -n ric-xapps \\
  --file hello-world-0.2.1.tgz -f values.yaml --wait
xapp deploy --name counter --organization acme --team ran --version 1.0.0 --owner jane -n ric-xapps \\
  --chart kpi-store --repo samples --set sampling.everySeconds=10 --dry-run
""",
)
def deploy(
    session: Session,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the xApp (xAppName).")] = None,
    organization: Annotated[
        str | None, typer.Option("--organization", metavar="NAME", help="Its organization.")
    ] = None,
    team: Annotated[str | None, typer.Option("--team", metavar="NAME", help="Its team.")] = None,
    version: VersionOption = None,
    owner: OwnerOption = None,
    namespace: NamespaceOption = None,
    file: FileOption = None,
    provenance: ProvenanceOption = None,
    chart: ChartOption = None,
    url: UrlOption = None,
    repo: RepoOption = None,
    chart_version: ChartVersionOption = None,
    values: ValuesOption = None,
    set_values: SetOption = None,
    set_strings: SetStringOption = None,
    release_name: Annotated[
        str | None, typer.Option("--release-name", metavar="NAME", help="Name of the Helm release.")
    ] = None,
    service_account: ServiceAccountOption = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="Take over a release of that name.")] = False,
    form: FormOption = None,
    dry_run_only: DryRunOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Deploy an xApp from a chart file (--file) or from a repository (--chart with --repo or --url).

    Its name is ORGANIZATION-TEAM-NAME in lower case.
    """
    fields = read_object(form) if form else {}
    given = {
        "xAppName": name,
        "organization": organization,
        "team": team,
        "version": version,
        "owner": owner,
        "chartVersion": chart_version,
        "releaseName": release_name,
        "serviceAccountName": service_account,
    }
    fields.update({key: value for key, value in given.items() if value is not None})
    if adopt:
        fields["adopt"] = True
    if namespace or not fields.get("namespace"):
        fields["namespace"] = session.required_namespace(namespace)
    _choose_source(session, fields, file=file, chart=chart, url=url, repo=repo)
    _require(fields)
    change = Change(
        method="POST",
        path=DEPLOYMENT_PATH,
        target=XAppName(text(fields, "namespace"), _composed(fields)),
        accepted="is being deployed",
        done=READY,
        parts=_parts(fields, file, provenance, values_text(values or [], set_values or [], set_strings or [])),
    )
    send_or_try(session, change, dry_run_only=dry_run_only, wait=wait, timeout=timeout, output=output)


@command(
    app,
    "upgrade",
    example="""
xapp upgrade acme-ran-greeter -n ric-xapps --version 0.2.2 --file hello-world-0.2.2.tgz --wait
xapp upgrade ric-xapps/acme-ran-counter --version 1.1.0 --set sampling.everySeconds=5 --dry-run
""",
)
def upgrade(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    version: VersionOption = None,
    owner: OwnerOption = None,
    file: FileOption = None,
    provenance: ProvenanceOption = None,
    chart: ChartOption = None,
    url: UrlOption = None,
    repo: RepoOption = None,
    chart_version: ChartVersionOption = None,
    values: ValuesOption = None,
    set_values: SetOption = None,
    set_strings: SetStringOption = None,
    service_account: ServiceAccountOption = None,
    form: FormOption = None,
    dry_run_only: DryRunOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Upgrade an xApp in place. What you do not name stays as it is.

    Files of -f replace the values; --set alone changes single ones of the current values. If somebody else changes the
    xApp at the same time, nothing is changed.
    """
    sources = (file, provenance, chart, url, repo, chart_version)
    if not any((version, owner, *sources, values, set_values, set_strings, service_account, form)):
        raise UsageError("name what to change, such as --version, --file or --set; `xapp retry` deploys the same again")
    target = session.xapp(name, namespace)
    spec = session.client.get(f"{target.path}/spec")
    fields = obj(spec, "form") | (read_object(form) if form else {})
    given = {
        "version": version,
        "owner": owner,
        "chartVersion": chart_version,
        "serviceAccountName": service_account,
    }
    fields.update({key: value for key, value in given.items() if value is not None})
    if file or chart or url or repo:
        _choose_source(session, fields, file=file, chart=chart, url=url, repo=repo)
    new_values = values_text(values or [], set_values or [], set_strings or [], below=obj(spec, "values"))
    change = Change(
        method="PUT",
        path=f"{DEPLOYMENT_PATH}/{segment(target.namespace)}/{segment(target.name)}",
        target=target,
        accepted="is being upgraded",
        done=READY,
        unchanged="is declared like this already: nothing was changed",
        parts=_parts(fields, file, provenance, new_values),
        headers={"If-Match": version_of(spec)},
    )
    send_or_try(session, change, dry_run_only=dry_run_only, wait=wait, timeout=timeout, output=output)


def version_of(document: JsonObject) -> str:
    """Return the value of If-Match that stands for the XApp as it was read."""
    return f'"{text(document, "uid")}/{document.get("generation")}"'


def _choose_source(
    session: Session, fields: JsonObject, *, file: Path | None, chart: str | None, url: str | None, repo: str | None
) -> None:
    if file is not None:
        if chart or url or repo:
            raise UsageError("--file uploads a chart: leave out --chart, --url and --repo")
        fields["method"] = UPLOAD
        for key in ("chartName", "url", "repoName"):
            fields.pop(key, None)
        return
    for key, value in (("chartName", chart), ("repoName", repo), ("url", url)):
        if value is not None:
            fields[key] = value
    if repo is not None and url is None:
        path = f"/api/repositories/{segment(text(fields, 'namespace'))}/{segment(repo)}"
        fields["url"] = text(session.client.get(path), "url")
    if chart or url or repo:
        fields["method"] = REMOTE
    fields.setdefault("method", REMOTE)


def _require(fields: JsonObject) -> None:
    required = {**REQUIRED, "version": "--version", "owner": "--owner"}
    if fields.get("method") == REMOTE:
        required |= {"chartName": "--chart", "repoName": "--repo", "url": "--url unless the repository is saved"}
    missing = [option for key, option in required.items() if not fields.get(key)]
    if missing:
        hint = (
            "; or --file for a chart to upload" if "chartName" not in fields and fields.get("method") == REMOTE else ""
        )
        raise UsageError(f"missing: {', '.join(missing)}{hint}")


def _composed(fields: JsonObject) -> str:
    try:
        return composed_name(text(fields, "organization"), text(fields, "team"), text(fields, "xAppName"))
    except XAppError:
        return text(fields, "xAppName")  # the gateway says what is wrong with it


def _parts(fields: JsonObject, file: Path | None, provenance: Path | None, values: bytes | None) -> dict[str, Part]:
    parts: dict[str, Part] = {"xAppForm": (None, json.dumps(fields).encode())}
    if file is not None:
        parts["file"] = (file.name, read_file(str(file)))
    if provenance is not None:
        if file is None:
            raise UsageError("--provenance belongs to --file")
        parts["provenance"] = (provenance.name, read_file(str(provenance)))
    if values is not None:
        parts["values"] = (None, values)
    return parts
