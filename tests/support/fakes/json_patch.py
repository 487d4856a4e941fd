"""What the API server does to objects: merge patches, server-side apply, selectors."""

from __future__ import annotations

from typing import Any

from tests.support.fakes.list_keys import element, has_keys

Json = dict[str, Any]


def merge(target: Any, patch: Any) -> Any:
    """Return `target` after a JSON merge patch (RFC 7386); neither is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def apply(live: Json, body: Json, *, before: Json, own: Json, others: list[Json]) -> Json:
    """Return `live` after an apply of `body` by the manager that applied `before`: what it no longer has is removed.

    Of lists, those items are removed that only this manager has: in its fields `own`, and not in those of `others`.
    """
    applied: Json = _overlay(_remove(live, before, body), body, own, others)
    return applied


def _remove(live: Any, before: Any, body: Any) -> Any:
    if not (isinstance(live, dict) and isinstance(before, dict)):
        return live
    wanted = body if isinstance(body, dict) else {}
    kept = {}
    for key, value in live.items():
        if key in before and key not in wanted:
            left = _remove(value, before[key], {})
            if isinstance(left, dict) and left:
                kept[key] = left
        else:
            kept[key] = _remove(value, before.get(key), wanted.get(key))
    return kept


def _overlay(live: Any, body: Any, own: Json, others: list[Json]) -> Any:
    if isinstance(live, dict) and isinstance(body, dict):
        merged = {key: _overlay(live.get(key), value, *_below(own, others, f"f:{key}")) for key, value in body.items()}
        return {**live, **merged}
    if live and isinstance(live, list) and has_keys(live) and has_keys(body):
        return _merge_items(live, {element(each): each for each in body}, own, others)
    return body


def _merge_items(live: list[Any], wanted: Json, own: Json, others: list[Json]) -> list[Any]:
    """Return the items of both; those that only the live list has keep their places before those that follow them."""
    known = {element(each): each for each in live}
    left, merged = list(known), []
    for key in wanted:
        while left and left[0] not in wanted:
            merged.append(left.pop(0))
        if left and left[0] == key:
            left.pop(0)
        merged.append(key)
    merged += [key for key in left if key not in wanted]
    gone = {key for key in merged if key in own and key not in wanted and not any(key in each for each in others)}
    return [
        _overlay(known.get(key), wanted[key], *_below(own, others, key)) if key in wanted else known[key]
        for key in merged
        if key not in gone
    ]


def _below(own: Json, others: list[Json], key: str) -> tuple[Json, list[Json]]:
    return own.get(key, {}), [each.get(key, {}) for each in others]


def selects(selector: str, labels: Json) -> bool:
    """Return whether a label selector of equalities and existences picks an object with `labels`."""
    for part in filter(None, selector.split(",")):
        key, equal, value = part.partition("=")
        if key not in labels or (equal and labels[key] != value):
            return False
    return True


def selects_fields(selector: str, body: Json) -> bool:
    """Return whether a field selector of equalities picks an object."""
    for part in filter(None, selector.split(",")):
        path, _, wanted = part.partition("=")
        found: Any = body
        for key in path.split("."):
            found = found.get(key, "") if isinstance(found, dict) else ""
        if found != wanted:
            return False
    return True
