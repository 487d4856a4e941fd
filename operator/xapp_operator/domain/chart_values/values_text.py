"""Values as text: written as YAML that helm reads as the same values, and masked without losing comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, cast

import yaml
from yaml import YAMLError
from yaml.events import AliasEvent, Event, ScalarEvent, StreamEndEvent

from xapp_operator.api.json import JsonObject
from xapp_operator.domain.chart_values import yaml_scalars
from xapp_operator.domain.chart_values.placed_scalars import (
    MaskFactory,
    PlacedScalar,
    ScalarTreeBuilder,
    masked_span,
    place_of,
    redacted_scalars,
    replace_spans,
)
from xapp_operator.domain.chart_values.placed_scalars import values_of as values_in
from xapp_operator.domain.chart_values.values import equal_values
from xapp_operator.domain.chart_values.yaml_events import YamlRefused
from xapp_operator.domain.chart_values.yaml_scalars import ScalarRefused
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, MAX_NODES, deeper_than, dump_values, load_values
from xapp_operator.domain.control_characters import is_plain_text
from xapp_operator.domain.masking.redaction import MASK, redact, scrub, secret_texts
from xapp_operator.domain.masking.text_secrets import mask_secrets
from xapp_operator.errors import ValuesInvalid

SCRUBBED_SECRETS_MAX: Final = 256
SCRUBBED_CHARACTERS_MIN: Final = 6
"""Of comments: shorter secrets are too often common words."""

MASKED_CHARACTERS_MAX: Final = 1024 * 1024
"""Characters of a text that is masked, aliases expanded."""

KEPT_TEXT_MAX_BYTES: Final = 64 * 1024
"""Bytes of a text that is kept. Kubernetes allows 256 KiB for all annotations of an object together."""

_LINE_WIDTH: Final = 2**31 - 1
_COMMENT: Final = re.compile(r"(?<!\S)#([^\r\n]*)")
_BETWEEN_COMMENTS: Final = "\0"
"""YAML cannot contain it."""


def dump_values_text(values: JsonObject) -> str:
    """Return `values` as YAML for people, keys in their order; an empty text for no values.

    What YAML cannot say for people is written as JSON, which is YAML too.
    """
    if not values:
        return ""
    try:
        written = str(yaml.dump(values, Dumper=_ValuesDumper, sort_keys=False, allow_unicode=True, width=_LINE_WIDTH))
        same = load_values(written, source="values", max_bytes=len(written) * 4) == values
    except (YAMLError, ValuesInvalid):
        same = False
    return written if same else f"{dump_values(values).decode()}\n"


def mask_values_text(text: str, *, make_mask: MaskFactory = lambda _: MASK) -> str | None:
    """Return a values file with its secrets masked where they stand, also in comments; all else stays.

    `make_mask` returns what replaces a secret that is a whole scalar. None if it is not certain where all secrets are,
    such as with a key that is given twice.
    """
    try:
        builder = _PlacedValues(text, depth_max=MAX_DEPTH, nodes_max=MAX_NODES, characters_max=MASKED_CHARACTERS_MAX)
        root, *others = [root for _, root in builder.roots()] or [{}]
        if others or not isinstance(root, dict):
            return None
        values = cast("JsonObject", values_in(root))
        shown = dict(redacted_scalars(root, redact(values)))
        comments = tuple(_mask_comments(text, values))
    except (YAMLError, YamlRefused, ScalarRefused):
        return None
    return replace_spans(text, (*comments, *(masked_span(text, each, new, make_mask) for each, new in shown.items())))


def text_to_keep(text: str, values: JsonObject) -> str | None:
    """Return what is kept beside `values` of the text that they were written as: the text with its secrets masked.

    None if it says nothing more than the values, is too long, or does not say the same once it is masked.
    """
    is_short = len(text.encode()) <= KEPT_TEXT_MAX_BYTES
    masked = mask_values_text(text) if is_short and not is_empty_text(text) else None
    return masked if masked is not None and is_text_of(masked, values) else None


def is_empty_text(text: str) -> bool:
    """Return whether a text has neither values nor comments."""
    return text.strip() in ("", "{}")


def is_text_of(masked: str, values: JsonObject) -> bool:
    """Return whether a kept text still says what the values say. Anybody may have changed one of them."""
    if len(masked.encode("utf-8", "replace")) > 2 * KEPT_TEXT_MAX_BYTES or not is_plain_text(masked):
        return False
    if deeper_than(values, MAX_DEPTH):
        return False
    try:
        found = load_values(masked, source="values", max_bytes=MASKED_CHARACTERS_MAX)
    except ValuesInvalid:
        return False
    return equal_values(found, redact(values))


class _ValuesDumper(yaml.CSafeDumper):
    """Writes texts plain only where helm reads them as texts; PyYAML alone takes `1e3` for one."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    if "\n" in value and _is_block_text(value):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if _is_plain(value) else '"')


def _is_block_text(value: str) -> bool:
    return not value[0].isspace() and all(line == line.rstrip() for line in value.split("\n"))


def _is_plain(value: str) -> bool:
    try:
        return yaml_scalars.parse_scalar(tag=None, text=value, plain=True) == value and value != "<<"
    except ScalarRefused:
        return False


_ValuesDumper.add_representer(str, _represent_text)


class _PlacedValues(ScalarTreeBuilder):
    """Scalars and keys as `load_values` reads them, with their places."""

    def scalar(self, event: ScalarEvent) -> PlacedScalar:
        value = yaml_scalars.parse_scalar(tag=event.tag, text=event.value, plain=event.implicit[0])
        return PlacedScalar(value, *place_of(event), is_block=event.style in {"|", ">"})

    def key(self, event: Event) -> str:
        if isinstance(event, ScalarEvent):
            self.anchor_key(event)
            return yaml_scalars.parse_key(tag=event.tag, text=event.value, plain=event.implicit[0])
        found = self.alias(event, 1) if isinstance(event, AliasEvent) else None
        if not isinstance(found, PlacedScalar):
            raise YamlRefused(event, "a key that is a list or an object. Use a string.")
        return yaml_scalars.scalar_to_key(cast("yaml_scalars.Scalar", found.value))


def _mask_comments(text: str, values: JsonObject) -> Iterator[tuple[int, int, str]]:
    """Yield where a comment shows secrets, and what is shown instead."""
    found = list(_comments(text))
    written = [text[start:end] for start, end in found]
    longest = sorted((each for each in secret_texts(values) if len(each) >= SCRUBBED_CHARACTERS_MIN), key=len)
    scrubbed = scrub(_BETWEEN_COMMENTS.join(written), longest[-SCRUBBED_SECRETS_MAX:])
    for (start, end), old, new in zip(found, written, scrubbed.split(_BETWEEN_COMMENTS), strict=False):
        masked = mask_secrets(new, lambda _: MASK)
        if masked != old:
            yield start, end, masked


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of comments, which are between scalars, without their #."""
    at = 0
    loader = yaml.CSafeLoader(text)
    while not isinstance(event := loader.get_event(), StreamEndEvent):
        if isinstance(event, ScalarEvent):
            start, end = place_of(event)
            if event.style in {"|", ">"}:  # a comment may follow its header
                header = text.find("\n", start, end)
                start = end if header < 0 else header
            yield from (match.span(1) for match in _COMMENT.finditer(text, at, start))
            at = end
    yield from (match.span(1) for match in _COMMENT.finditer(text, at))
