"""How layers of values become one, and how values are told apart: the merge of `helm -f a -f b`, and the digest.

Lives in `domain` because both processes merge and compare values. Nothing here changes its arguments; results may share
lists and objects with them, so treat values as frozen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.errors import ValuesInvalid


def merge_values(*layers: JsonObject) -> JsonObject:
    """Return the layers merged, low to high, as helm merges several `-f` files.

    Objects merge, everything else replaces. A null stays: it replaces what a lower layer gave, and makes helm drop the
    key from the chart's defaults.

    Raises ValuesInvalid for a layer of more than MAX_DEPTH levels, which an XApp written with kubectl may have.
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
    """Return `values` after a JSON merge patch (RFC 7396): objects merge, null takes a key away, all else replaces."""
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

    Independent of the order of keys and of how a number is written: 1, 1.0 and 1e0 are one value to helm (float64).
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
    number = float(value)
    return int(number) if number.is_integer() else number


def has_path(values: JsonObject, path: str) -> bool:
    """Tell whether `values` declare the dotted `path` (`global.kubeIp`), be it as null."""
    *parents, last = path.split(".")
    current: Json = values
    for key in parents:
        current = current.get(key) if isinstance(current, dict) else None
    return isinstance(current, dict) and last in current


def with_value_at(values: JsonObject, path: str, value: Json) -> JsonObject:
    """Return `values` with `value` at the dotted `path`; what is no object on the way is replaced by one."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**values, key: value}
    inner = values.get(key)
    return {**values, key: with_value_at(inner if isinstance(inner, dict) else {}, rest, value)}


def advertise_address_layer(chart_values: JsonObject, paths: Iterable[str], address: str) -> JsonObject:
    """Return the layer that carries the cluster's advertise address at each path the chart's own values declare.

    A path at which the chart has an object is left alone: helm would warn and ignore the address.
    """
    layer: JsonObject = {}
    for path in paths:
        if has_path(chart_values, path) and not isinstance(_value_at(chart_values, path), dict):
            layer = with_value_at(layer, path, address)
    return layer


def _value_at(values: Json, path: str) -> Json:
    for key in path.split("."):
        values = values.get(key) if isinstance(values, dict) else None
    return values
