"""What the API server does to objects: merge patches, server-side apply, selectors."""

from __future__ import annotations

from typing import Any

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


def apply(live: Json, body: Json, *, before: Json) -> Json:
    """Return `live` after an apply of `body` by the manager that applied `before`: what it no longer has is removed."""
    applied: Json = _overlay(_remove(live, before, body), body)
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


def _overlay(live: Any, body: Any) -> Any:
    if not (isinstance(live, dict) and isinstance(body, dict)):
        return body
    return {**live, **{key: _overlay(live.get(key), value) for key, value in body.items()}}


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
