"""Sets of labels by which xApps register themselves, and how the setting `XAPP_LABEL_SETS` describes them. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Final

MAX_LABEL_SETS: Final = 8  # each costs a watch for every kind
LABEL_KEY: Final = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.A
)
LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?", re.A)

_EXAMPLE: Final = '[{"selector": "drax/role=xapp", "name": "drax/xapp-name", "component": "…"}]'
_FIELDS: Final = frozenset({"selector", "name", "component"})


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Labels by which the charts of some RIC mark what belongs to an xApp.

    `selector` is an equality selector of Kubernetes (`key` or `key=value`, comma-separated) that picks the objects.
    `name` and `component` are the keys of the labels that name the xApp and its part; empty when the set has none.
    """

    selector: str
    name: str = ""
    component: str = ""

    def __str__(self) -> str:
        """Return it as JSON, as the setting has it."""
        return json.dumps({name: value for name, value in asdict(self).items() if value})

    @property
    def required_labels(self) -> tuple[tuple[str, str | None], ...]:
        """Return the labels that the selector requires; None means any value."""
        pairs = (term.partition("=") for term in self.selector.split(","))
        return tuple((key, value if equals else None) for key, equals, value in pairs)


DRAX_LABEL_SET: Final = LabelSet(selector="drax/role=xapp", name="drax/xapp-name", component="drax/xapp-component-name")


def parse_label_sets(text: str) -> tuple[LabelSet, ...]:
    """Return the sets that a JSON text describes.

    Raises:
        ValueError: with the rule that the text breaks, and in which set.
    """
    try:
        listed = json.loads(text) if text.strip() else []
    except ValueError:
        raise ValueError(f"it is not JSON. Write a list such as {_EXAMPLE}") from None
    if not isinstance(listed, list) or len(listed) > MAX_LABEL_SETS:
        raise ValueError(f"it must be a list of at most {MAX_LABEL_SETS} sets, such as {_EXAMPLE}")
    return tuple(_parse_label_set(each, number=number) for number, each in enumerate(listed, 1))


def _parse_label_set(value: object, *, number: int) -> LabelSet:
    if not isinstance(value, dict) or not value.get("selector") or value.keys() - _FIELDS:
        raise ValueError(f"set {number} must have a selector, and may have name and component, as in {_EXAMPLE}")
    if not all(isinstance(each, str) for each in value.values()):
        raise ValueError(f"set {number}: selector, name and component must be strings, as in {_EXAMPLE}")
    label_set = LabelSet(**value)
    for key, required in label_set.required_labels:
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(required or ""):
            raise ValueError(
                f"set {number}: its selector must be a comma-separated list of key=value or key, without spaces, such "
                "as drax/role=xapp"
            )
    for field in ("name", "component"):
        key = getattr(label_set, field)
        if key and not LABEL_KEY.fullmatch(key):
            raise ValueError(f"set {number}: its {field} must be the key of a label, such as drax/xapp-name")
    return label_set
