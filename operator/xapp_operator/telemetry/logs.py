"""Logs of both processes: one line per event on standard error, as JSON for machines or text for people.

What kopf, aiohttp and uvicorn log has the same format. Every text is cut to a maximum length, so that no message of
another program can flood the log. Callers must remove secrets (`domain.masking.redaction`), because this layer knows
none.
"""

from __future__ import annotations

import logging
import sys
from typing import Final, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from xapp_operator.common.text import shorten

MAX_TEXT_LENGTH: Final = 4096
"""Characters of one text in a log line. Of a longer traceback the end is logged, because the error is there."""

_TRACEBACK_KEY: Final = "exception"


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module; log events as `logger.info("release installed", xapp=key)`."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def configure_logs(
    *,
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"],
    log_format: Literal["json", "console"],
    stream: TextIO | None = None,
) -> None:
    """Send the logs of this process to `stream` (default: standard error). Call it once, before everything else."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    output = stream or sys.stderr
    handler = logging.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _truncate_texts,
                *_renderers(log_format, colors=output.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)


def _renderers(style: Literal["json", "console"], *, colors: bool) -> list[Processor]:
    if style == "json":
        return [
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(default=str, skipkeys=True),
        ]
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _truncate_texts(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if not isinstance(value, int | float | None):
            text = value if isinstance(value, str) else str(value)
            if len(text) > MAX_TEXT_LENGTH:
                is_traceback = key == _TRACEBACK_KEY
                event[key] = f"…{text[1 - MAX_TEXT_LENGTH :]}" if is_traceback else shorten(text, MAX_TEXT_LENGTH)
    return event
