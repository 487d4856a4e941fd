"""By which keys the API server tells the items of a list apart (`x-kubernetes-list-map-keys`)."""

from __future__ import annotations

import json
from typing import Any

_KEYS = (("containerPort", "protocol"), ("port", "protocol"), ("name",))
_DEFAULTS = {"protocol": "TCP"}


def element(item: Any) -> str:
    """Return the item as `managedFields` name it, or nothing if it has no keys."""
    if not isinstance(item, dict):
        return ""
    keys = next((keys for keys in _KEYS if keys[0] in item), ())
    named = {key: item.get(key, _DEFAULTS.get(key)) for key in keys}
    return f"k:{json.dumps(named, separators=(',', ':'), sort_keys=True)}" if named else ""


def has_keys(value: Any) -> bool:
    """Return whether a value is a list of items with keys."""
    return isinstance(value, list) and all(map(element, value))


def repeated_name(items: list[Any], path: str) -> str:
    """Return the field of the first item that has the name of an earlier one, or nothing."""
    names = [each.get("name") for each in items]
    return next((f"{path}[{at}].name" for at, name in enumerate(names) if name and name in names[:at]), "")


def with_defaults(body: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the keys that its items may leave out."""
    ports = body.get("spec", {}).get("ports")
    if body["kind"] != "Service" or not ports:
        return body
    return {**body, "spec": {**body["spec"], "ports": [{**_DEFAULTS, **each} for each in ports]}}
