"""The programs of the user that the command line starts: an editor, and the credential plugin of a kubeconfig.

Both are named by the user's own environment or kubeconfig, get arguments without a shell, and run as the user.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.config.command_line import inherited_environment

PLUGIN_SECONDS: Final = 120.0
"""A credential plugin may open a browser and wait for a sign-in."""
QUIET_PLUGIN_SECONDS: Final = 2.0


def edit_file(editor: str, path: Path) -> None:
    """Open `path` in the editor, and return when it has closed.

    Args:
        editor: a command line, as in the variable EDITOR.

    Raises:
        UsageError: the editor cannot be started.
        CliError: it fails.
    """
    try:
        command = shlex.split(editor)
        done = subprocess.run([*command, str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot start the editor {editor!r}: set EDITOR to a program on PATH") from error
    if done.returncode != 0:
        raise CliError(f"the editor ended with exit code {done.returncode}: nothing was changed")


def run_credential_plugin(command: Sequence[str], environment: Mapping[str, str], *, interactive: bool) -> bytes:
    """Run the plugin of a kubeconfig (client.authentication.k8s.io) and return what it prints.

    Args:
        command: the program and its arguments.
        environment: is added to the inherited one.
        interactive: its questions and its stderr go to the terminal. Otherwise it has QUIET_PLUGIN_SECONDS.

    Raises CliError if it cannot be started, fails or takes too long. The message never has its output.
    """
    try:
        done = subprocess.run(
            list(command),
            env={**inherited_environment(), **environment},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.DEVNULL,
            check=False,
            timeout=PLUGIN_SECONDS if interactive else QUIET_PLUGIN_SECONDS,
        )
    except (OSError, ValueError) as error:
        raise CliError(
            f"cannot start {command[0]}, the credential plugin of your kubeconfig: install it, or use --token"
        ) from error
    except subprocess.TimeoutExpired:
        raise CliError(f"{command[0]}, the credential plugin of your kubeconfig, took too long") from None
    if done.returncode != 0:
        raise CliError(f"{command[0]}, the credential plugin of your kubeconfig, ended with code {done.returncode}")
    return done.stdout
