"""The audit log: one JSON line per request, whatever the format of other logs.

It is written directly, because a logger would cost a tenth of a request to a list. Lines contain who, from where, what
and the outcome; no query, header, body or value of a user. JSON escapes control characters, so no text forges a line.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self, TextIO

import orjson

from xapp_operator.errors import XAppError
from xapp_operator.telemetry.logs import get_logger

LOGGER: Final = "xapp_operator.audit"
OFF: Final = "off"
STDERR: Final = "stderr"
STDOUT: Final = "stdout"

_log = get_logger(__name__)


class AuditLogUnavailable(XAppError):
    title = "Audit log not available"


class AuditLog:
    """Writes lines to standard error or output, to a file, or nowhere."""

    def __init__(self, destination: str) -> None:
        """Open the destination: OFF, STDERR, STDOUT, or the path of a file to append to.

        Raises:
            AuditLogUnavailable: when the file cannot be opened.
        """
        self._destination = destination
        self._file: TextIO | None = None
        self._failed = False
        if destination not in {OFF, STDERR, STDOUT}:
            try:
                self._file = Path(destination).open("a", encoding="utf-8")  # noqa: SIM115 - closed in __exit__
            except OSError as error:
                raise AuditLogUnavailable(
                    f"the audit log {destination} cannot be opened ({error.strerror}): set XAPP_AUDIT_LOG to a file in"
                    " a folder that the gateway can write, such as a mounted volume, or to stderr"
                ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    @property
    def is_on(self) -> bool:
        return self._destination != OFF

    def write(self, **fields: Any) -> None:
        """Write one line; fields must be JSON."""
        if not self.is_on:
            return
        line = {"timestamp": datetime.now(UTC), "level": "info", "logger": LOGGER, "message": "request", **fields}
        try:
            stream = self._stream()
            stream.write(orjson.dumps(line, option=orjson.OPT_UTC_Z).decode() + "\n")
            stream.flush()
        except (OSError, ValueError) as error:  # a full disk must not stop the gateway
            if not self._failed:
                _log.error("the audit log cannot be written", error=type(error).__name__)
            self._failed = True
        else:
            self._failed = False

    def _stream(self) -> TextIO:
        if self._file is not None:
            return self._file
        return sys.stderr if self._destination == STDERR else sys.stdout
