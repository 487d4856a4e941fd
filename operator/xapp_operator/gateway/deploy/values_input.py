"""Values that were sent as YAML: checked, with masks replaced, and with the text that is kept beside them.

`spec.values` is an object, so it has neither comments nor the order of keys. The annotation `values-text` of the XApp
has the text with its secrets masked. It counts only as long as it says what `spec.values` says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import ANNOTATION_VALUES_TEXT
from xapp_operator.common.text import format_bytes
from xapp_operator.domain.chart_values.values_places import ValuesPlaces
from xapp_operator.domain.chart_values.values_text import (
    KEPT_TEXT_MAX_BYTES,
    dump_values_text,
    is_empty_text,
    is_text_of,
    text_to_keep,
)
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than, load_stated_values
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.domain.masking.redaction import redact, unmask
from xapp_operator.errors import ValuesInvalid, XAppError

NOT_KEPT_WARNING: Final = (
    "comments and order of the values are not kept: this needs a text of at most "
    f"{format_bytes(KEPT_TEXT_MAX_BYTES)} in which every secret can be masked"
)


@dataclass(frozen=True, slots=True)
class SentValues:
    """Values, the text that they were sent as, and what is kept of it; None if they were not sent as text."""

    values: JsonObject = field(repr=False)
    text: str | None = field(default=None, repr=False)
    kept_text: str | None = field(default=None, repr=False)


def read_values(data: bytes, *, source: str, max_bytes: int, current: JsonObject | None) -> SentValues:
    """Return the values in a YAML text; takes a second for a large one.

    A text that says nothing does not remove the current values: curl sends an empty one if it cannot read a file.

    Args:
        data: the text.
        source: what the text is called in errors.
        max_bytes: its maximum size.
        current: the values of the XApp, None for a new one; a mask in the text keeps the value there.

    Raises:
        ValuesInvalid: with line and column of each error; for a text that would remove the values and does not say so.
    """
    stated = load_stated_values(data, source=source, max_bytes=max_bytes, exact_integers=True)
    written = data.decode("utf-8-sig")
    if stated is None and current is not None and (current or not written.strip()):
        raise ValuesInvalid.for_field(source, "are a text without values: send {} to remove all values")
    values = stated or {}
    try:
        require_plain_values(values)
        values = unmask(values, current or {})
    except ValuesInvalid as error:
        raise locate(error, written) from None
    return SentValues(values, written, text_to_keep(written, values))


def locate(error: XAppError, written: str | None) -> XAppError:
    """Return an error about values with the lines of its fields, if the values were sent as text."""
    return error if written is None or not error.errors else ValuesPlaces(written).locate(error)


def text_warnings(sent: str | None, kept: str | None) -> tuple[str, ...]:
    """Return a warning if comments and order of values that were sent as text are lost."""
    return (NOT_KEPT_WARNING,) if sent is not None and not is_empty_text(sent) and kept is None else ()


def values_text_of(xapp: JsonObject) -> str:
    """Return the values of an XApp as text, secrets masked: as they were written, if that is known."""
    values = obj(obj(xapp, "spec"), "values")
    kept = kept_text_of(xapp)
    if kept is not None and is_text_of(kept, values):
        return kept
    return "" if deeper_than(values, MAX_DEPTH) else dump_values_text(redact(values))


def kept_text_of(xapp: JsonObject) -> str | None:
    """Return the annotation with the text, whether or not it still says what the values say."""
    return text(obj(obj(xapp, "metadata"), "annotations"), ANNOTATION_VALUES_TEXT) or None
