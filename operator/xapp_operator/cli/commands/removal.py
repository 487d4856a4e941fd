"""`xapp delete`."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Annotated

import typer

from xapp_operator.api.json import JsonObject, items, text
from xapp_operator.cli.changes import progress
from xapp_operator.cli.command import command
from xapp_operator.cli.commands.deployments import DEPLOYMENT_PATH
from xapp_operator.cli.commands.xapps import OrganizationOption, TeamOption, xapp_filters
from xapp_operator.cli.errors import CliError, NotReadyInTime, UsageError
from xapp_operator.cli.http.client import Answer
from xapp_operator.cli.http.problems import Problem
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    DryRunOption,
    NamespaceOption,
    TimeoutOption,
    WaitOption,
    YesOption,
    complete_xapps,
)
from xapp_operator.cli.output.tables import Column
from xapp_operator.cli.questions import confirm
from xapp_operator.cli.session import Session, XAppName

app = typer.Typer()

WAIT_SECONDS = 30
"""How long one request waits. The next one goes on."""


@command(
    app,
    "delete",
    example="""
xapp delete acme-ran-greeter -n ric-xapps --wait
xapp delete --organization acme --team ran -n ric-xapps --yes
xapp delete acme-ran-greeter --dry-run
""",
)
def delete(
    session: Session,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="NAME or NAMESPACE/NAME of xApps.", autocompletion=complete_xapps),
    ] = None,
    namespace: NamespaceOption = None,
    organization: OrganizationOption = None,
    team: TeamOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
) -> None:
    """Remove xApps: by name, or all of an organization or a team.

    On a terminal, it asks before it removes anything.
    """
    targets = _targets(session, names or [], namespace, organization, team)
    if not targets:
        session.output.note("nothing found")
        return
    if dry_run:
        for target in targets:
            _preview(session, target)
        return
    _ask(session, targets, yes=yes)
    if len(targets) == 1:
        _delete(session, targets[0])
        session.output.note(f"{targets[0]} is being removed")
        failures = []
    else:
        failures = [error for target in targets if (error := _try(session, target))]
    if wait:
        deadline = time.monotonic() + timeout
        failed = {str(target) for target, _ in failures}
        for target in targets:
            if str(target) not in failed:
                _wait_until_gone(session, target, deadline)
    if failures:
        raise failures[-1][1]


def _targets(
    session: Session,
    names: list[str],
    namespace: str | None,
    organization: list[str] | None,
    team: list[str] | None,
) -> list[XAppName]:
    if names and (organization or team):
        raise UsageError("name xApps, or choose them with --organization and --team, but not both")
    if names:
        return list(dict.fromkeys(session.xapp(name, namespace) for name in names))
    if not organization and not team:
        raise UsageError("name an xApp, or choose several with --organization and --team")
    params = xapp_filters(session.required_namespace(namespace), organization=organization, team=team)
    records = session.client.list_all("/api/xapps", {**params, "source": "xapp", "sort": "name"})
    return [XAppName(text(record, "namespace"), text(record, "name")) for record in records]


def _ask(session: Session, targets: list[XAppName], *, yes: bool) -> None:
    if yes:
        return
    if not session.output.can_ask:
        raise UsageError("removing an xApp needs --yes where nobody can be asked")
    for target in targets:
        session.output.note(f"  {target}")
    what = "this xApp" if len(targets) == 1 else f"these {len(targets)} xApps"
    if not confirm(session.output, f"Remove {what}?"):
        raise CliError("nothing was removed")


def _try(session: Session, target: XAppName) -> tuple[XAppName, CliError] | None:
    """Send the removal, and return the error if it is refused: the others are removed all the same."""
    try:
        _delete(session, target)
    except Problem as problem:
        session.output.warning(f"{target} was not removed: {problem.message}")
        return target, problem
    session.output.note(f"{target} is being removed")
    return None


def _delete(session: Session, target: XAppName, *, wait: int = 0) -> Answer:
    return session.client.request(
        "DELETE",
        DEPLOYMENT_PATH,
        body={"name": target.name, "namespace": target.namespace},
        params={"wait": wait} if wait else {},
        wait_seconds=wait,
    )


def _wait_until_gone(session: Session, target: XAppName, deadline: float) -> None:
    why = ""
    with progress(session, target):
        while (remaining := deadline - time.monotonic()) >= 1:
            try:
                answer = _delete(session, target, wait=min(WAIT_SECONDS, int(remaining)))
            except Problem as problem:
                if problem.status != HTTPStatus.NOT_FOUND:
                    raise
                is_gone = True
            else:
                is_gone = answer.status == HTTPStatus.OK
            if is_gone:
                session.output.line(f"{target} is removed")
                return
            record = answer.object()
            if record.get("stalled") is True:
                raise CliError(
                    f"{target} cannot be removed: {text(record, 'message')}",
                    details=(f"When that is mended, run `xapp retry {target}`.",),
                )
            why = "" if record.get("ready") is True else text(record, "message")  # Ready: the operator has not begun
    raise NotReadyInTime(
        f"{target} is still being removed{f': {why}' if why else ''}",
        details=(f"Watch it with `xapp status {target} -w`.",),
    )


def _preview(session: Session, target: XAppName) -> None:
    answer = session.client.request(
        "DELETE",
        DEPLOYMENT_PATH,
        body={"name": target.name, "namespace": target.namespace},
        params={"dryRun": "true"},
    ).object()
    session.output.line(f"{target}:", style="bold")
    rows = [("remove", text(each, "kind"), text(each, "name")) for each in items(answer, "objects")]
    rows += [("keep", text(each, "kind"), text(each, "name")) for each in items(answer, "kept")]
    rows += [("keep", "PersistentVolumeClaim", name) for name in _texts(answer, "claimsKept")]
    session.output.table((Column("CHANGE"), Column("KIND"), Column("NAME", flexible=True)), rows)
    if dependents := _texts(answer, "dependents"):
        session.output.warning(f"these depend on it: {', '.join(dependents)}")


def _texts(answer: JsonObject, key: str) -> list[str]:
    value = answer.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []
