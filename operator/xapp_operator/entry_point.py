"""The console script `xapp-operator`: `run` starts the operator, `gateway` the REST gateway.

`version` prints the version. A wrong setting stops the start with exit code 2, a missing permission or a missing helm
with exit code 1. Both print one sentence and no stack trace.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from pydantic import ValidationError

from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.telemetry.logs import configure_logs, get_logger

USAGE_ERROR = 2

_log = get_logger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the role that the arguments name, and return the exit code."""
    parser = argparse.ArgumentParser(prog="xapp-operator", description=__doc__.splitlines()[0] if __doc__ else None)
    own_version = f"%(prog)s {version('xapp-operator')}"
    parser.add_argument("--version", action="version", version=own_version)
    roles = parser.add_subparsers(dest="role", required=True, metavar="ROLE")
    for name, (help_text, _) in _ROLES.items():
        roles.add_parser(name, help=help_text, description=help_text)
    help_text = "print the version"
    roles.add_parser("version", help=help_text, description=help_text)
    role = parser.parse_args(argv).role
    if role == "version":
        print(own_version % {"prog": parser.prog})
        return 0
    try:
        settings = Settings()
    except ValidationError as error:
        for line in _validation_messages(error):
            sys.stderr.write(f"xapp-operator: {line}\n")
        return USAGE_ERROR
    configure_logs(level=settings.log_level, log_format=settings.log_format)
    _, start = _ROLES[role]
    try:
        return start(settings)
    except XAppError as error:
        _log.error("process failed", error=error.message)
        return 1
    except OSError as error:  # a directory that cannot be written, an address that is in use or not local
        where = f" ({error.filename})" if error.filename else ""
        _log.error(
            "process failed",
            error=f"{error.strerror or error}{where}: check XAPP_CACHE_DIR, XAPP_WORK_DIR, host and port",
        )
        return 1
    except KeyboardInterrupt:
        return 0


def _run_operator(settings: Settings) -> int:
    from xapp_operator.manager.operator_process import run  # noqa: PLC0415 - a gateway needs no kopf

    return run(settings)


def _run_gateway(settings: Settings) -> int:
    from xapp_operator.gateway.server import run  # noqa: PLC0415 - an operator needs no web framework

    return run(settings)


def _validation_messages(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        where = "XAPP_" + "_".join(str(part) for part in problem["loc"]).upper() if problem["loc"] else "settings"
        lines.append(f"{where}: {problem['msg']}")
    return lines


_ROLES: dict[str, tuple[str, Callable[[Settings], int]]] = {
    "run": ("run the Service Orchestrator: watch XApps and drive helm", _run_operator),
    "gateway": ("run the REST gateway and the dashboard", _run_gateway),
}
