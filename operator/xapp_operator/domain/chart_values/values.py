"""Merging of values as `helm -f a -f b` does it, and their digest. Pure.

Nothing here changes its arguments. Results may share lists and objects with them, so treat values as frozen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.errors import ValuesInvalid


def merge_values(*layers: JsonObject) -> JsonObject:
    """Return the layers merged, low to high, as helm merges several `-f` files.

    Objects merge; any other value replaces the lower one. A null stays, so that helm drops the key from the chart's
    defaults.

    Raises ValuesInvalid for a layer with more than MAX_DEPTH levels, which an XApp written with kubectl may have.
    """
    result: JsonObject = {}
    for layer in layers:
        if deeper_than(layer, MAX_DEPTH):
            raise ValuesInvalid(f"values are nested more than {MAX_DEPTH} levels deep. Flatten them.")
        result = _merge_objects(result, layer)
    return result


def _merge_objects(below: JsonObject, above: JsonObject) -> JsonObject:
    result = dict(below)
    for key, value in above.items():
        lower = result.get(key)
        result[key] = _merge_objects(lower, value) if isinstance(lower, dict) and isinstance(value, dict) else value
    return result


def apply_merge_patch(values: JsonObject, patch: JsonObject) -> JsonObject:
    """Return `values` after a JSON merge patch (RFC 7396)."""
    result = dict(values)
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, dict):
            below = result.get(key)
            result[key] = apply_merge_patch(below if isinstance(below, dict) else {}, change)
        else:
            result[key] = change
    return result


def values_digest(values: JsonObject) -> str:
    """Return the sha256, 64 hex digits, of the values as helm sees them.

    The order of keys and the notation of numbers do not matter: 1, 1.0 and 1e0 are the same float64 to helm.
    """
    text = json.dumps(
        _canonical_value(values), sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical_value(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _canonical_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_canonical_value(member) for member in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return helm_number(value)


def helm_number(number: float) -> int | float:
    """Return a number as helm hands it to a chart: helm reads each one as a float64; a whole one is an `int` here."""
    read = float(number)
    return int(read) if read.is_integer() else read


def helm_values(values: JsonObject) -> JsonObject:
    """Return values with the whole numbers that helm rounds as the chart gets them."""
    return {key: _helm_value(member) for key, member in values.items()}


def _helm_value(value: Json) -> Json:
    if isinstance(value, dict):
        return helm_values(value)
    if isinstance(value, list):
        return [_helm_value(member) for member in value]
    # A float is one already, and 1e300 is not written with 300 digits.
    return helm_number(value) if isinstance(value, int) and not isinstance(value, bool) else value


def equal_values(one: Json, other: Json) -> bool:
    """Return whether two values are the same to Kubernetes: 1 and 1.0 are, true and 1 are not; order is nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal_values(member, other[key]) for key, member in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal_values, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def with_value_at(values: JsonObject, path: str, value: Json) -> JsonObject:
    """Return `values` with `value` at the dotted `path`; anything but an object on the way is replaced by one."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**values, key: value}
    inner = values.get(key)
    return {**values, key: with_value_at(inner if isinstance(inner, dict) else {}, rest, value)}


def advertise_address_layer(chart_values: JsonObject, paths: Iterable[str], address: str) -> JsonObject:
    """Return the layer with the cluster's advertise address at each dotted path that the chart's values declare.

    A path at which the chart has an object is left out: helm would warn and ignore the address.
    """
    layer: JsonObject = {}
    for path in paths:
        *parents, last = path.split(".")
        parent: Json = chart_values
        for key in parents:
            parent = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(parent, dict) and last in parent and not isinstance(parent[last], dict):
            layer = with_value_at(layer, path, address)
    return layer
