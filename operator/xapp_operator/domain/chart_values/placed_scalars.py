"""YAML whose scalars know where they stand in the text, so that secrets are masked there and all else stays. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from yaml.events import ScalarEvent

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.yaml_events import Tree, TreeBuilder
from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.domain.masking.text_secrets import mask_secrets

if TYPE_CHECKING:
    from yaml import Mark

MaskFactory: TypeAlias = Callable[[str], str]
"""Returns what replaces a secret."""

_PLAIN_SCALARS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class PlacedScalar:
    """The value of a scalar, and its position in the text."""

    value: Json
    start: int
    end: int
    is_block: bool


class ScalarTreeBuilder(TreeBuilder[PlacedScalar]):
    def scalar(self, event: ScalarEvent) -> PlacedScalar:
        return PlacedScalar(
            _PLAIN_SCALARS.get(event.value, event.value) if event.implicit[0] else event.value,
            *place_of(event),
            is_block=event.style in {"|", ">"},
        )


def place_of(event: ScalarEvent) -> tuple[int, int]:
    """Return where a scalar starts and ends in the text."""
    return cast("Mark", event.start_mark).index, cast("Mark", event.end_mark).index


def values_of(tree: Tree[PlacedScalar]) -> Json:
    if isinstance(tree, dict):
        return {key: values_of(member) for key, member in tree.items()}
    return [values_of(item) for item in tree] if isinstance(tree, list) else tree.value


def redacted_scalars(tree: Tree[PlacedScalar], redacted: Json) -> Iterator[tuple[PlacedScalar, str]]:
    """Yield each scalar that is masked, with what is shown of it."""
    if isinstance(tree, PlacedScalar):
        if isinstance(redacted, str) and redacted != tree.value:
            yield tree, redacted
    elif isinstance(tree, dict):
        below = cast("JsonObject", redacted)  # what is masked keeps its shape
        for key, member in tree.items():
            yield from redacted_scalars(member, below[key])
    else:
        for index, item in enumerate(tree):
            yield from redacted_scalars(item, cast("list[Json]", redacted)[index])


def replace_scalars(source: str, shown: dict[PlacedScalar, str], make_mask: MaskFactory) -> str:
    """Return `source` with the scalars in `shown` masked."""
    return replace_spans(source, (masked_span(source, scalar, text, make_mask) for scalar, text in shown.items()))


def replace_spans(source: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return `source` with a new text for each (start, end); a span inside an earlier one does not count."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(spans):
        if at <= start < end:
            pieces += [source[at:start], new]
            at = end
    return "".join((*pieces, source[at:]))


def masked_span(source: str, scalar: PlacedScalar, shown: str, make_mask: MaskFactory) -> tuple[int, int, str]:
    """Return where a scalar is, and what stands there once it is masked; `shown` is what `redact` returns for it."""
    written = source[scalar.start : scalar.end]
    # A block scalar owns the line breaks after it.
    after = written[len(written.rstrip()) :] if scalar.is_block else ""
    if shown == MASK or not isinstance(scalar.value, str):
        # Without the line breaks, of which the last document of a manifest has fewer: equal secrets get equal masks.
        masked = f'"{make_mask(written.rstrip())}"'
    else:
        masked = _partly_masked(written, mask_secrets(scalar.value, make_mask))
    return scalar.start, scalar.end, masked + after


def _partly_masked(written: str, masked: str) -> str:
    """Return `masked` in the notation of `written` if that is a literal block, else in quotes."""
    header, _, body = written.partition("\n")
    lines = [line for line in body.split("\n") if line.strip()]
    if not header.startswith("|") or not lines or "\r" in written:
        return json.dumps(masked, ensure_ascii=False)
    first = next(line for line in masked.split("\n") if line.strip())
    indent = len(lines[0]) - len(lines[0].lstrip(" ")) - (len(first) - len(first.lstrip(" ")))
    shown = (" " * indent + line if line else "" for line in masked.rstrip("\n").split("\n"))
    return "\n".join((header.partition("#")[0].rstrip(), *shown))  # a comment there may show a secret
