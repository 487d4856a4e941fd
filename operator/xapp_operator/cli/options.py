"""Options that several commands share, and how shells complete names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import JsonObject, items, text
from xapp_operator.cli.connection.resolution import Resolution
from xapp_operator.cli.http.client import GatewayClient
from xapp_operator.cli.output.console import Format
from xapp_operator.cli.output.visible_text import is_harmless
from xapp_operator.config.command_line import CommandLineSettings

COMPLETION_SECONDS: Final = 2.0
COMPLETIONS_MAX: Final = 100
WEEK_SECONDS: Final = 604_800


def complete_nothing() -> list[str]:
    """Complete no value."""
    return []


def complete_xapps(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete names of xApps in the chosen namespace, or else NAMESPACE/NAME."""

    def find(client: GatewayClient, namespace: str | None) -> list[str]:
        before, slash, name = incomplete.rpartition("/")
        namespace = before or namespace
        params: dict[str, str | int] = {"sort": "name", "per_page": COMPLETIONS_MAX}
        params |= {"search": name} if name else {}
        params |= {"namespace": namespace} if namespace else {}
        records = _items(client, "/api/xapps", params)
        in_path = bool(slash) or namespace is None
        return [
            f"{text(each, 'namespace')}/{text(each, 'name')}" if in_path else text(each, "name") for each in records
        ]

    return _complete(ctx, incomplete, find)


def complete_namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete names of namespaces that the caller may see."""

    def find(client: GatewayClient, _: str | None) -> list[str]:
        params: dict[str, str | int] = {"per_page": COMPLETIONS_MAX}
        params |= {"search": incomplete} if incomplete else {}
        found = _items(client, "/api/namespaces", params)
        return [text(each, "name") for each in found if each.get("exists") is not False]

    return _complete(ctx, incomplete, find)


def complete_repositories(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete names of saved repositories."""

    def find(client: GatewayClient, namespace: str | None) -> list[str]:
        params: dict[str, str | int] = {"sort": "name", "per_page": COMPLETIONS_MAX}
        params |= {"namespace": namespace} if namespace else {}
        return [text(each, "name") for each in _items(client, "/api/repositories", params)]

    return _complete(ctx, incomplete, find)


def _items(client: GatewayClient, path: str, params: dict[str, str | int]) -> list[JsonObject]:
    answer = client.request("GET", path, params=params, timeout_seconds=COMPLETION_SECONDS)
    return items(answer.object(), "content")


def _complete(ctx: typer.Context, incomplete: str, find: Callable[[GatewayClient, str | None], list[str]]) -> list[str]:
    """Return what `find` finds. A shell that completes shows no errors, so any error means nothing."""
    try:
        given = ctx.params
        resolution = Resolution(
            gateway=given.get("gateway"),
            token=given.get("token"),
            ca=given.get("ca") and Path(given["ca"]),
            settings=CommandLineSettings.from_environment(),
            home=Path.home(),
            quick=True,
        )
        where = resolution.where
        token = resolution.who.token
        with GatewayClient(url=where.url, found_by=where.found_by, token=token, ca=where.ca) as client:
            found = find(client, given.get("namespace") or resolution.namespace)
    except Exception:
        return []
    return sorted({name for name in found if name.startswith(incomplete) and is_harmless(name)})


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="NAME or NAMESPACE/NAME of the xApp.", autocompletion=complete_xapps)
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Namespace. Default: that of `xapp login` or of the kubeconfig's context.",
        autocompletion=complete_namespaces,
    ),
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces that you may list.")]
OutputOption = Annotated[Format, typer.Option("--output", "-o", help="How records are printed.")]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Print the first N only.")]
SearchOption = Annotated[
    str | None, typer.Option("--search", metavar="TEXT", help="Only what has this text; ignores case.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until the change has taken effect.")]
TimeoutOption = Annotated[
    float,
    typer.Option("--timeout", min=1, max=WEEK_SECONDS, metavar="SECONDS", help="How long to wait at the most."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Change nothing, and print what would change.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

DEFAULT_TIMEOUT: Final = 300.0
