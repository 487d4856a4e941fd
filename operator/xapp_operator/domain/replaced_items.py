"""Finds items of lists that somebody put in the place of items of the chart, such as a port with another number. Pure.

Server-side apply tells the items of a list apart by keys, such as `port` and `protocol`. An edit of a key makes another
item: the API server takes the chart's item from Helm, and the other one belongs to who edited it. An apply adds the
chart's item again and leaves the other one, because Helm never had it. If the list cannot have both, as two ports of
one name, the API server refuses every apply from then on.

An item that somebody added, such as a sidecar, looks the same. It counts as a replacement only if an item of the chart
is missing in its list, and if the API server refuses both together, or they are equal but for their keys. It must stay
if its manager applies it, and so would apply it again.

Once Helm manages such an item, its next apply removes it: `hand_over` returns the `managedFields` that say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias, cast

import orjson

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.common.text import escape_input
from xapp_operator.domain.managed_fields import HELM_MANAGER, merge_all, merge_fields, parse_keys

ITEMS_MAX: Final = 500
"""Items of lists that are looked at in one object; what is beyond them counts as added."""
PAIRED_MAX: Final = 50
"""Missing items, and others, that are compared in one list; what is beyond them counts as added, too."""
COMPARISONS_MAX: Final = 10_000
"""Values that are compared in one object; what is beyond them counts as different."""
EQUAL_VALUES_MIN: Final = 2
"""Values that must be equal besides the keys: the same text in two items of `env` is no sign of a replacement."""

Path: TypeAlias = tuple[str, ...]
FieldsPath: TypeAlias = tuple[str, ...]
"""Where a field is in `managedFields`: `f:` a field, `k:` an item of a list by its keys."""

_APPLY: Final = "Apply"
_STATUS: Final = "status"


@dataclass(frozen=True, slots=True)
class ReplacedItem:
    """An item of the manifest at `path` that is gone; `fields` is where `managedFields` have the one in its place.

    `managers` manage that one. Because of an `obstacle`, it must stay.
    """

    path: Path
    fields: FieldsPath
    managers: tuple[str, ...]
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class _MissingItem:
    """An item of the manifest that is not in its list."""

    path: Path
    wanted: JsonObject


@dataclass(frozen=True, slots=True)
class _OtherItem:
    """An item that others than Helm manage, and that the manifest does not have; `name` is its key in managedFields."""

    name: str
    live: JsonObject


@dataclass(frozen=True, slots=True)
class _Place:
    """A value of the manifest, the live one, and the fields that others than Helm manage in it, as one tree."""

    wanted: Json
    live: Json
    node: JsonObject
    path: Path = ()
    fields: FieldsPath = ()


@dataclass(frozen=True, slots=True)
class _KeyedList:
    """A list in which others than Helm have items, which `keys` tell apart."""

    place: _Place
    keys: frozenset[str]
    missing: list[_MissingItem]
    others: list[_OtherItem]
    members: list[_Place]
    """The items that both have, and of which others manage fields."""


def find_replaced(
    live: JsonObject, applied: JsonObject, *, desired: JsonObject | None = None, refused: Iterable[str] = ()
) -> tuple[ReplacedItem, ...]:
    """Return the items of the manifest `applied` that somebody replaced in `live`.

    `desired` is what the API server would make of both, or None if it refuses that because of the fields `refused`,
    such as `spec.ports[1].name`.
    """
    entries = _entries(live)
    helm = next(filter(_is_applied_by_helm, entries), None)
    version = text(helm or applied, "apiVersion")
    refusals = [_field_names(each) for each in refused]
    comparison = _Comparison()
    found = []
    for changed in _changed_lists(live, applied, entries):
        names = tuple(token for token in changed.place.path if not token.isdecimal())
        is_refused = any(each[: len(names)] == names for each in refusals)
        for missing, other in _pair_refused(changed) if is_refused else _pair_equal(changed, desired, comparison):
            fields = (*changed.place.fields, other.name)
            owners = [each for each in entries if _node_at(obj(each, "fieldsV1"), fields) is not None]
            managers = tuple(dict.fromkeys(text(each, "manager") for each in owners))
            found.append(ReplacedItem(missing.path, fields, managers, _find_obstacle(owners, version)))
    return tuple(found)


def without_replaced(body: JsonObject, replaced: Iterable[ReplacedItem]) -> JsonObject:
    """Return a state of the object without the items in place of `replaced`."""
    chosen = tuple(replaced)
    body = orjson.loads(orjson.dumps(body)) if chosen else body
    for each in chosen:
        listed, item = _value_at(body, each.fields[:-1]), _value_at(body, each.fields)
        if isinstance(listed, list) and item is not None:
            listed.remove(item)
    return body


def hand_over(live: JsonObject, replaced: Iterable[ReplacedItem], *, api_version: str) -> list[Json]:
    """Return `metadata.managedFields` of `live` with Helm as the only manager of the items in place of `replaced`.

    `api_version` is that of the manifest.
    """
    entries: list[JsonObject] = orjson.loads(orjson.dumps(items(obj(live, "metadata"), "managedFields")))
    helm = next(filter(_is_applied_by_helm, entries), None)
    if helm is None:
        helm = {"manager": HELM_MANAGER, "operation": _APPLY, "apiVersion": api_version, "fieldsType": "FieldsV1"}
        entries.append(helm)
    own = cast("JsonObject", helm.setdefault("fieldsV1", {}))
    for each in replaced:
        parts: list[JsonObject] = [{".": {}}]
        parts += (_take(obj(entry, "fieldsV1"), each.fields) for entry in entries if entry is not helm)
        node = own
        for key in each.fields:
            node = cast("JsonObject", node.setdefault(key, {}))
        for part in parts:
            merge_fields(node, part)
    return [each for each in entries if each.get("fieldsV1")]


def _entries(live: JsonObject) -> list[JsonObject]:
    return [each for each in items(obj(live, "metadata"), "managedFields") if text(each, "subresource") != _STATUS]


def _is_applied_by_helm(entry: JsonObject) -> bool:
    return (text(entry, "manager"), text(entry, "operation")) == (HELM_MANAGER, _APPLY)


def _find_obstacle(owners: Iterable[JsonObject], version: str) -> str:
    for each in owners:
        if text(each, "operation") == _APPLY:
            manager = escape_input(text(each, "manager"))
            return f"the item in its place is applied server-side by {manager}: remove it there"
        if text(each, "apiVersion") != version:
            return "the item in its place was written with another version of the API: remove it"
    return ""


def _changed_lists(live: JsonObject, applied: JsonObject, entries: list[JsonObject]) -> Iterator[_KeyedList]:
    """Yield the lists in which others than Helm manage something."""
    copies: list[JsonObject] = orjson.loads(orjson.dumps(entries))  # the merge changes them
    theirs = merge_all(obj(each, "fieldsV1") for each in copies if text(each, "manager") != HELM_MANAGER)
    helms = merge_all(obj(each, "fieldsV1") for each in copies if text(each, "manager") == HELM_MANAGER)
    left, stack = ITEMS_MAX, [_Place(applied, live, theirs)]
    while stack:
        place = stack.pop()
        if isinstance(place.wanted, dict) and isinstance(place.live, dict):
            for key, member in place.wanted.items():
                if isinstance(below := place.node.get(f"f:{key}"), dict):
                    path, fields = (*place.path, key), (*place.fields, f"f:{key}")
                    stack.append(_Place(member, place.live.get(key), below, path, fields))
        elif isinstance(place.wanted, list) and isinstance(place.live, list):
            left -= len(place.wanted) + len(place.live)
            if left < 0:
                continue
            found = _compare_items(place, place.wanted, place.live, helms)
            stack += found.members
            yield found


def _compare_items(place: _Place, wanted: list[Json], live: list[Json], helms: JsonObject) -> _KeyedList:
    names = {name: parsed for name in place.node if (parsed := parse_keys(name))}
    keys = frozenset(next(iter(names.values()), {}))
    known = {_pack_keys(each, keys): each for each in live if isinstance(each, dict)}
    managed = {_pack_keys(found, keys): name for name, found in names.items()}
    found = _KeyedList(place, keys, [], [], [])
    present = set()
    for index, item in enumerate(wanted):
        if not isinstance(item, dict):
            continue
        path = (*place.path, str(index))
        packed = next((key for key, each in known.items() if _has_same_keys(item, each, keys)), None)
        present.add(packed)
        if packed is None:
            found.missing.append(_MissingItem(path, item))
        elif (name := managed.get(packed)) is not None:
            below = obj(place.node, name)
            found.members.append(_Place(item, known[packed], below, path, (*place.fields, name)))
    for packed, name in managed.items():
        is_helms = _node_at(helms, (*place.fields, name)) is not None
        if packed in known and packed not in present and not is_helms:
            found.others.append(_OtherItem(name, known[packed]))
    return found


def _pack_keys(item: JsonObject, keys: frozenset[str]) -> bytes:
    return orjson.dumps({key: item.get(key) for key in keys}, option=orjson.OPT_SORT_KEYS)


def _has_same_keys(wanted: JsonObject, live: JsonObject, keys: frozenset[str]) -> bool:
    """Return whether a live item is that of the manifest, which need not have keys with a default."""
    given = keys & wanted.keys()
    return bool(given) and all(wanted[key] == live.get(key) for key in given)


def _pair_refused(changed: _KeyedList) -> Iterator[tuple[_MissingItem, _OtherItem]]:
    """Yield which item is in the place of which, in a list that cannot have both: by their equal values.

    Of one missing item and one other, it is clear.
    """
    missing, others = changed.missing[:PAIRED_MAX], changed.others[:PAIRED_MAX]
    scores = [(_count_equal(one.wanted, other.live, changed.keys), one, other) for one in missing for other in others]
    for score, one, other in sorted(scores, key=lambda each: each[0], reverse=True):
        if any(score) and one in missing and other in others:
            missing.remove(one)
            others.remove(other)
            yield one, other
    match missing, others:
        case [one], [other]:
            yield one, other


def _count_equal(wanted: JsonObject, live: JsonObject, keys: frozenset[str]) -> tuple[bool, int]:
    """Return whether the names are equal, and how many fields are, without the keys."""
    equal = [key for key in wanted.keys() - keys if wanted[key] == live.get(key)]
    return "name" in equal, len(equal)


def _pair_equal(
    changed: _KeyedList, desired: JsonObject | None, comparison: _Comparison
) -> Iterator[tuple[_MissingItem, _OtherItem]]:
    """Yield which item has the values of which missing one, with defaults, as `desired` has them."""
    others = changed.others[:PAIRED_MAX]
    listed = _value_at(desired, changed.place.fields)
    added = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    for one in changed.missing[:PAIRED_MAX]:
        stored = next((each for each in added if _has_same_keys(one.wanted, each, changed.keys)), {})
        values = {key: each for key, each in stored.items() if key not in changed.keys}
        if _count_values(values) < EQUAL_VALUES_MIN:
            continue
        other = next((each for each in others if comparison.has_values(each.live, values)), None)
        if other is not None:
            others.remove(other)
            yield one, other


def _count_values(value: Json) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if members is None else sum(map(_count_values, members))


class _Comparison:
    """Compares values of one object with those of the manifest, only so many: each item of a list with all others."""

    def __init__(self) -> None:
        self._left = COMPARISONS_MAX

    def has_values(self, live: Json, wanted: Json) -> bool:
        """Return whether `live` has all values of `wanted`, and perhaps more."""
        self._left -= 1
        if self._left < 0:
            return False
        if isinstance(wanted, dict):
            return isinstance(live, dict) and all(self.has_values(live.get(key), each) for key, each in wanted.items())
        if isinstance(wanted, list):
            if not isinstance(live, list):
                return False
            return all(
                any(self.has_values(one, each) for one in chain(live[index : index + 1], live))  # mostly in order
                for index, each in enumerate(wanted)
            )
        return live == wanted


def _value_at(body: Json, fields: FieldsPath) -> Json:
    for key in fields:
        if isinstance(body, dict):
            body = body.get(key.removeprefix("f:"))
        elif isinstance(body, list):
            keys = parse_keys(key)
            body = next((each for each in items({"": body}, "") if _has_same_keys(keys, each, frozenset(keys))), None)
    return body


def _node_at(fields: JsonObject, path: FieldsPath) -> JsonObject | None:
    node: Json = fields
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else None


def _take(fields: JsonObject, path: FieldsPath) -> JsonObject:
    """Remove the node at `path`, and those above that have nothing else, and return it."""
    parents = [fields]
    for key in path[:-1]:
        child = parents[-1].get(key)
        if not isinstance(child, dict):
            return {}
        parents.append(child)
    taken = parents[-1].pop(path[-1], None)
    if not isinstance(taken, dict):
        return {}
    for parent, key in reversed(list(zip(parents, path[:-1], strict=False))):
        if not parent[key]:
            del parent[key]
    return taken


def _field_names(refused: str) -> Path:
    """Return the names in the path of a field, such as `spec.ports[1].name`, without indexes and keys."""
    first, *rest = refused.split("[")
    return tuple(filter(None, "".join([first, *(each.partition("]")[2] for each in rest)]).split(".")))
