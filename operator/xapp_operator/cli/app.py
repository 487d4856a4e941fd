"""The tree of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer._completion_classes import completion_init
from typer.main import get_command

from xapp_operator.cli.commands import (
    charts,
    deployments,
    events,
    health,
    lifecycle,
    logs,
    other,
    own_api,
    releases,
    removal,
    repositories,
    sign_in,
    values,
    xapps,
)
from xapp_operator.cli.errors import DONE, CliError, UsageError
from xapp_operator.cli.output.console import Output
from xapp_operator.cli.output.streams import give_up_stdout, prepare_streams
from xapp_operator.cli.usage import GroupOfCommands
from xapp_operator.cli.usage_errors import usage_error
from xapp_operator.config.command_line import CommandLineSettings

HELP: Final = """Deploy, watch and configure xApps on a Kubernetes cluster, through the gateway of xapp-operator.

\b
Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 no permission or not signed in, 5 refused input,
6 not ready in time, 130 interrupted.
"""


def build_app() -> typer.Typer:
    """Return the application with all commands."""
    app = typer.Typer(
        help=HELP,
        cls=GroupOfCommands,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )
    for module in (
        deployments,
        xapps,
        health,
        logs,
        events,
        releases,
        lifecycle,
        removal,
        own_api,
        sign_in,
        other,
    ):
        app.add_typer(module.app)
    for name, group in (("config", values), ("repo", repositories), ("chart", charts)):
        app.add_typer(group.app, name=name)
    return app


def run(argv: Sequence[str], *, program: str) -> int:
    """Run one command line and return the exit code."""
    prepare_streams()
    completion_init()  # typer does it for its own completion options only
    root = get_command(build_app())
    try:
        _require_utf_8(argv)
        ended = root.main(
            args=list(argv), prog_name=program, complete_var=other.COMPLETE_VARIABLE, standalone_mode=False
        )
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except NoArgsIsHelpError as help_text:
        help_text.show()
        return UsageError.exit_code
    except ClickException as refused:
        return _report(usage_error(refused, root, argv, program=program))
    except CliError as error:
        return _report(error)
    except OSError as error:  # commands explain those of files and connections, so this is stdout
        give_up_stdout()
        return _report(CliError(f"cannot write the output: {error.strerror}"))
    return ended if isinstance(ended, int) else DONE


def _require_utf_8(argv: Sequence[str]) -> None:
    for number, word in enumerate(argv, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"word {number} of the command line is not UTF-8: names and texts must be") from None


def _report(error: CliError) -> int:
    Output(color=not CommandLineSettings.from_environment().no_color, quiet=False).error(error)
    return error.exit_code
