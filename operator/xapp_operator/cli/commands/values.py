"""`xapp config`: the values of an xApp, as text with their comments."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import JsonObject, text
from xapp_operator.cli.changes import READY, Change, dry_run, send, send_or_try, show_dry_run
from xapp_operator.cli.command import command, command_group
from xapp_operator.cli.commands.deployments import version_of
from xapp_operator.cli.connection.local_programs import edit_file
from xapp_operator.cli.errors import CliError, NotReadyInTime, UsageError
from xapp_operator.cli.options import (
    DEFAULT_TIMEOUT,
    DryRunOption,
    NameArgument,
    NamespaceOption,
    OutputOption,
    TimeoutOption,
    WaitOption,
    YesOption,
)
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.questions import confirm
from xapp_operator.cli.session import Session, XAppName
from xapp_operator.cli.values_input import SetOption, SetStringOption, ValuesOption, parse_settings, values_text
from xapp_operator.cli.values_patch import patch_text
from xapp_operator.config.command_line import CommandLineSettings

app = command_group(
    "Show and change the values of an xApp.",
    example="xapp config get acme-ran-greeter\nxapp config set acme-ran-greeter log.level=debug --wait",
)

YAML: Final = "application/yaml"
DEFAULT_EDITOR: Final = "vi"
UNCHANGED: Final = "has these values already: no value was changed"


@command(
    app, "get", example="xapp config get acme-ran-greeter > values.yaml\nxapp config get acme-ran-greeter --effective"
)
def get_values(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    effective: Annotated[
        bool, typer.Option("--effective", help="What the chart gets: defaults and all other values merged.")
    ] = False,
    output: OutputOption = Format.YAML,
) -> None:
    """Print the values of the user as they were written, secrets masked.

    With -o json, print the whole configuration with Services, addresses, layers and schema.
    """
    target = session.xapp(name, namespace)
    if output is Format.JSON or effective:
        record = session.client.get(f"{target.path}/config")
        session.output.document(record.get("effective") if effective else record, output)
        return
    session.output.file_text(_text_of(session, target))


@command(
    app,
    "set",
    example="""
xapp config set acme-ran-greeter log.level=debug replicas=2 -n ric-xapps --wait
xapp config set acme-ran-greeter -f values.yaml --dry-run
xapp config set acme-ran-greeter debug=null
""",
)
def set_values(
    session: Session,
    name: NameArgument,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Values to change; KEY=null removes one.")
    ] = None,
    namespace: NamespaceOption = None,
    values: ValuesOption = None,
    set_options: SetOption = None,
    set_strings: SetStringOption = None,
    dry_run_only: DryRunOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Change single values, or replace all of them with a file. KEY=VALUE and --set mean the same.

    Comments stay if the keys that change are in the text already, or are added as a whole.
    """
    target = session.xapp(name, namespace)
    single = [*(settings or []), *(set_options or [])]
    change = _change(target, values or [], single, set_strings or [])
    if not values:
        change = _with_comments(session, change, parse_settings(single, set_strings or []))
    send_or_try(session, change, dry_run_only=dry_run_only, wait=wait, timeout=timeout, output=output)


@command(
    app,
    "diff",
    example="""
xapp config diff acme-ran-greeter -f values.yaml
xapp config diff acme-ran-greeter --set replicas=3
xapp config diff acme-ran-greeter --revision 2 --to 3
""",
)
def diff_values(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    values: ValuesOption = None,
    settings: SetOption = None,
    set_strings: SetStringOption = None,
    revision: Annotated[int | None, typer.Option("--revision", min=1, help="Compare this revision …")] = None,
    to: Annotated[int | None, typer.Option("--to", min=1, help="… with this one.")] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Show what other values would change in the objects, or how the values of two revisions differ."""
    target = session.xapp(name, namespace)
    if revision is not None and to is not None:
        answer = session.client.get(f"{target.path}/history/{revision}/diff/{to}", of="values")
        if output in {Format.JSON, Format.YAML}:
            session.output.document(answer, output)
        else:
            session.output.diff(text(answer, "values"))
        return
    if revision is not None or to is not None:
        raise UsageError("compare two revisions with --revision and --to")
    dry_run(session, _change(target, values or [], settings or [], set_strings or []), output)


@command(app, "edit", example="EDITOR=nano xapp config edit acme-ran-greeter -n ric-xapps --wait")
def edit_values(
    session: Session,
    name: NameArgument,
    namespace: NamespaceOption = None,
    yes: YesOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
    output: OutputOption = Format.TABLE,
) -> None:
    """Edit the values in $VISUAL or $EDITOR, see what would change, and apply it.

    Masked secrets keep their values if you leave the masks alone. If the text is refused, it stays in a file.
    """
    if not yes and not session.output.can_ask:
        raise UsageError("nobody can be asked here, because there is no terminal: confirm with --yes")
    target = session.xapp(name, namespace)
    version = version_of(session.client.get(f"{target.path}/spec"))
    before = _text_of(session, target)
    path = _text_file(target, before)
    try:
        edit_file(CommandLineSettings.from_environment().editor or DEFAULT_EDITOR, path)
    finally:
        after = path.read_bytes()
        if after == before.encode():
            path.unlink()
    if after == before.encode():
        session.output.note("nothing was changed")
        return
    change = Change(
        method="PUT",
        path=f"{target.path}/config",
        target=target,
        accepted="is being upgraded",
        done=READY,
        unchanged=UNCHANGED,
        body=after,
        headers={"Content-Type": YAML, "If-Match": version},
    )
    try:
        _show_edit(session, before, after, change)
        if not yes and not confirm(session.output, f"Apply these values to {target}?"):
            raise CliError("the values were not changed")  # noqa: TRY301 - the text must be kept here too
        send(session, change, wait=wait, timeout=timeout, output=output)
    except NotReadyInTime:
        path.unlink()  # the text is accepted
        raise
    except CliError as error:
        error.details = (*error.details, f"Your text is in {path}: use it with `xapp config set {target} -f {path}`.")
        raise
    path.unlink()


def _with_comments(session: Session, patch: Change, settings: JsonObject) -> Change:
    """Return a change of the stored text that means the same, if it has comments and that is possible."""
    version = version_of(session.client.get(f"{patch.target.path}/spec"))
    before = _text_of(session, patch.target)
    after = patch_text(before, settings) if "#" in before else None
    if after is None:
        return patch
    headers = {"Content-Type": YAML, "If-Match": version}
    return replace(patch, method="PUT", body=after.encode(), headers=headers)


def _show_edit(session: Session, before: str, after: bytes, change: Change) -> None:
    lines = unified_diff(
        before.splitlines(), after.decode(errors="replace").splitlines(), "values", "edited values", lineterm=""
    )
    session.output.diff("\n".join(lines))
    answer = session.client.request(
        change.method, change.path, params={"dryRun": "true"}, body=change.body, headers=change.headers
    )
    show_dry_run(session, answer.object(), Format.TABLE)


def _text_of(session: Session, target: XAppName) -> str:
    answer = session.client.request("GET", f"{target.path}/config", headers={"Accept": YAML})
    return answer.body.decode(errors="replace")


def _text_file(target: XAppName, content: str) -> Path:
    handle, name = tempfile.mkstemp(prefix=f"xapp-{target.name}-", suffix=".yaml")  # 0600: values can be secret
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    return Path(name)


def _change(target: XAppName, files: list[str], settings: list[str], strings: list[str]) -> Change:
    if not files and not settings and not strings:
        raise UsageError("name values as KEY=VALUE, or a file with --values (-f)")
    if files:
        return Change(
            method="PUT",
            path=f"{target.path}/config",
            target=target,
            accepted="is being upgraded",
            done=READY,
            unchanged=UNCHANGED,
            body=values_text(files, settings, strings),
            headers={"Content-Type": YAML},
        )
    return Change(
        method="PATCH",
        path=f"{target.path}/config",
        target=target,
        accepted="is being upgraded",
        done=READY,
        unchanged=UNCHANGED,
        body=parse_settings(settings, strings),
    )
