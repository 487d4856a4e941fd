"""The layers of values, low to high: what each one says, and what the chart gets from all of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.values import helm_values, merge_values
from xapp_operator.domain.chart_values.values_text import dump_values_text, mask_values_text
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.domain.masking.redaction import MASK, redact

CHART_LAYER: Final = "chart"
ADDRESS_LAYER: Final = "address"
USER_LAYER: Final = "yours"
SECRET_LAYER: Final = "Secret/"  # noqa: S105


@dataclass(frozen=True, slots=True)
class ValuesLayer:
    """One layer: `chart`, `address`, `Secret/<name>`, `ConfigMap/<name>` or `yours`.

    `values` is None if they cannot be read. `text` is the file that they come from, if there is one.
    """

    origin: str
    values: JsonObject | None = field(repr=False)
    text: str | None = field(default=None, repr=False)

    @property
    def masked(self) -> JsonObject | None:
        """Return what may be shown: of a Secret only the keys."""
        if self.values is None or deeper_than(self.values, MAX_DEPTH):
            return None
        if self.origin.startswith(SECRET_LAYER):
            return {key: _masked(member) for key, member in self.values.items()}
        return redact(self.values)

    @property
    def shown_text(self) -> str | None:
        """Return the text that may be shown, with its comments if they are known. Takes time: call it in a thread."""
        masked = self.masked
        if masked is None:
            return None
        if self.text is not None and not self.origin.startswith(SECRET_LAYER):
            shown = mask_values_text(self.text)
            if shown is not None:
                return shown
        return dump_values_text(masked)


def effective_values(layers: Sequence[ValuesLayer]) -> JsonObject | None:
    """Return what the chart gets from all layers, masked and with numbers as helm rounds them.

    None if one of the layers cannot be shown.
    """
    shown = [layer.masked for layer in layers]
    known = [values for values in shown if values is not None]
    return redact(helm_values(merge_values(*known))) if len(known) == len(shown) else None


def _masked(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _masked(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value if value is None or isinstance(value, bool) or value == "" else MASK
