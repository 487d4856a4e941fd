"""Registers commands: the options that every command has, its examples, and what its errors exit with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer

from xapp_operator.cli.connection.resolution import Resolution
from xapp_operator.cli.errors import INTERRUPTED, CliError
from xapp_operator.cli.options import complete_nothing
from xapp_operator.cli.output.console import Output
from xapp_operator.cli.session import Session
from xapp_operator.cli.usage import GroupOfCommands, SingleCommand
from xapp_operator.config.command_line import CommandLineSettings

P = ParamSpec("P")
Command = Callable[Concatenate[Session, P], None]

GatewayOption = Annotated[
    str | None,
    typer.Option(
        "--gateway",
        metavar="URL",
        help="Address of the gateway. Default: XAPP_GATEWAY, `xapp login`, the kubeconfig's cluster, this machine.",
        autocompletion=complete_nothing,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="Bearer token. Other users can see it in the list of processes: better use XAPP_TOKEN or `xapp login`.",
        autocompletion=complete_nothing,
    ),
]
CaOption = Annotated[
    Path | None, typer.Option("--ca", metavar="FILE", help="PEM certificates to trust for an https gateway.")
]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="Print no colors. So does the variable NO_COLOR.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]

_COMMON: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("gateway", GatewayOption, None),
    ("token", TokenOption, None),
    ("ca", CaOption, None),
    ("no_color", NoColorOption, False),
    ("quiet", QuietOption, False),
)


def command(app: typer.Typer, name: str, *, example: str) -> Callable[[Command[P]], Command[P]]:
    """Register a function as a command. Its first parameter is the session, the others are arguments and options.

    Args:
        app: the group.
        name: the name of the command.
        example: one command line a line, which its help shows.
    """

    def register(function: Command[P]) -> Command[P]:
        def run(**given: Any) -> None:
            common = {key: given.pop(key) for key, _, _ in _COMMON}
            run_command(function, given, **common)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        parameters += [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for key, annotation, default in _COMMON
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        app.command(name, cls=SingleCommand, help=inspect.getdoc(function), epilog=examples_text(example))(run)
        return function

    return register


def run_command(
    function: Callable[..., None],
    arguments: dict[str, Any],
    *,
    gateway: str | None,
    token: str | None,
    ca: Path | None,
    no_color: bool,
    quiet: bool,
) -> None:
    """Run a command, and turn its error into a message and an exit code.

    Raises typer.Exit for an error.
    """
    settings = CommandLineSettings.from_environment()
    output = Output(color=not (no_color or settings.no_color), quiet=quiet)
    resolution = Resolution(gateway=gateway, token=token, ca=ca, settings=settings, home=Path.home())
    session = Session(resolution=resolution, output=output)
    try:
        function(session, **arguments)
    except CliError as error:
        output.error(error)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        output.note("interrupted: a change that was accepted goes on")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        session.close()


def command_group(summary: str, *, example: str) -> typer.Typer:
    """Return a group of commands. Its help shows the examples, one command line a line."""
    return typer.Typer(cls=GroupOfCommands, help=summary, epilog=examples_text(example), no_args_is_help=True)


def examples_text(lines: str) -> str:
    """Return the end of a help text: example command lines, which keep their line breaks."""
    shown = "\n".join(f"  {line}" for line in lines.strip().splitlines())
    return f"\b\nExamples:\n{shown}"
