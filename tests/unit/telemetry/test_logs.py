"""Logs: one bounded format for all events, also those of libraries."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from xapp_operator.telemetry.logs import MAX_TEXT_LENGTH, configure_logs, get_logger


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level, configuration = root.handlers[:], root.level, structlog.get_config()
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.configure(**configuration)
    structlog.contextvars.clear_contextvars()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_its_context(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    get_logger("xapp_operator.test").info("release installed", xapp="ns/hello", revision=1)
    [line] = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "message": "release installed",
        "level": "info",
        "logger": "xapp_operator.test",
        "xapp": "ns/hello",
        "revision": 1,
    }


def test_a_logger_taken_before_the_configuration_follows_it(stream: io.StringIO) -> None:
    logger = get_logger("early")
    configure_logs(level="INFO", log_format="json", stream=stream)
    logger.warning("late")
    assert [line["message"] for line in lines(stream)] == ["late"]


def test_events_of_other_libraries_have_the_same_format(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    logging.getLogger("kopf").warning("handler %s failed", "x")
    [line] = lines(stream)
    assert (line["message"], line["logger"], line["level"]) == ("handler x failed", "kopf", "warning")


def test_events_below_the_level_are_left_out(stream: io.StringIO) -> None:
    configure_logs(level="WARNING", log_format="json", stream=stream)
    get_logger("a").info("quiet")
    logging.getLogger("b").info("quiet too")
    assert stream.getvalue() == ""


def test_a_multi_line_text_is_logged_on_one_line(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    get_logger("a").info("first\nsecond", detail="x\ny")
    assert [(line["message"], line["detail"]) for line in lines(stream)] == [("first\nsecond", "x\ny")]


def test_long_texts_are_truncated(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    get_logger("a").info("m" * 10_000, detail=["d" * 10_000])
    [line] = lines(stream)
    assert len(line["message"]) == len(line["detail"]) == MAX_TEXT_LENGTH
    assert line["message"].endswith("…")


def unknown() -> None:
    """Refuse every argument."""


def test_a_long_traceback_keeps_its_end(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    try:
        unknown(**{"x" * 10_000: 1})
    except TypeError:
        get_logger("a").exception("failed")
    [line] = lines(stream)
    assert len(line["exception"]) == MAX_TEXT_LENGTH
    assert line["exception"].endswith("xxx'")


def test_context_variables_are_in_every_event(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    with structlog.contextvars.bound_contextvars(xapp="ns/a"):
        get_logger("a").info("ours")
        logging.getLogger("b").info("foreign")
    assert [line["xapp"] for line in lines(stream)] == ["ns/a", "ns/a"]


def test_values_unknown_to_json_are_logged_as_text(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    get_logger("a").info("odd", big=2**70, error=ValueError("no"), pair=(1, object))
    [line] = lines(stream)
    assert line["error"] == "no"


def test_warnings_are_logged(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    assert [line["logger"] for line in lines(stream)] == ["py.warnings"]


def test_console_lines_are_readable(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="console", stream=stream)
    get_logger("a").info("release installed", xapp="ns/hello")
    text = stream.getvalue()
    assert "release installed" in text
    assert "xapp=ns/hello" in text
    assert "\x1b[" not in text, "no colours where there is no terminal"


def test_configuring_twice_does_not_double_the_lines(stream: io.StringIO) -> None:
    configure_logs(level="INFO", log_format="json", stream=stream)
    configure_logs(level="INFO", log_format="json", stream=stream)
    get_logger("a").info("once")
    assert len(lines(stream)) == 1
