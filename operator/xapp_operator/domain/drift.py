"""Drift: how objects of a release differ from its manifest, and which differences do not count. Pure.

An object is compared with what the API server would make of it if its manifest were applied again. So defaults and
normalisation are on both sides, and only fields that the manifest sets can differ. Paths are JSON pointers (RFC 6901);
values are in no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import orjson

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.names import ANNOTATION_IGNORE_DRIFT
from xapp_operator.common.text import QUOTED_INPUT_MAX, escape_input, shorten
from xapp_operator.domain.managed_fields import OWN_KEYS, managers_of

OBJECTS_NAMED_MAX: Final = 10
PATHS_NAMED_MAX: Final = 5
MANAGERS_NAMED_MAX: Final = 3
DIFFERENCES_MAX: Final = 20
"""Differences that are looked for in one object."""
POINTERS_MAX: Final = 100
ANNOTATION_MAX: Final = 10_000
IGNORE_ALL: Final = "all"

Path: TypeAlias = tuple[str, ...]
REPLICAS: Final[Path] = ("spec", "replicas")
EVERYTHING: Final[Path] = ()

_ItemsByName: TypeAlias = dict[int, dict[str, Json]]
"""Items of lists of the live object, by the identity of the list, which stays the same meanwhile."""

_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)+")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")  # RFC 6901, and no number that is too long for int
_COMPARED_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")
_OWN_LABELS: Final[tuple[Path, ...]] = tuple(
    ("metadata", part, key) for part in ("labels", "annotations") for key in sorted(OWN_KEYS)
)
_KINDS_WITH_CA_BUNDLE: Final = frozenset(
    {
        "APIService",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that differs: its path in the manifest, and in the live object, where list items may be elsewhere."""

    path: Path
    live_path: Path

    def below(self, token: str, live_token: str) -> Difference:
        """Return the same of a member or an item."""
        return Difference((*self.path, token), (*self.live_path, live_token))


@dataclass(frozen=True, slots=True)
class DriftedObject:
    """An object that differs from the manifest, or is missing.

    `kept` are paths whose live values stay when it is corrected. With a `refusal` it cannot be corrected: the reason.
    `replaced` tells that somebody put items of lists in the place of the chart's: see `domain.replaced_items`.
    """

    kind: str
    namespace: str
    name: str
    group: str = ""
    paths: tuple[str, ...] = ()
    missing: bool = False
    managers: tuple[str, ...] = ()
    kept: tuple[Path, ...] = ()
    refusal: str = ""
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class IgnoredDrift:
    """What the annotation ignore-drift of an object says; `error` is what is wrong with it."""

    all: bool = False
    paths: tuple[Path, ...] = ()
    error: str = ""


def parse_ignored(*annotated: JsonObject) -> IgnoredDrift:
    """Return what the annotations of the objects say together: those of the live object, and of the manifest."""
    paths: list[Path] = []
    for one in annotated:
        value = text(obj(obj(one, "metadata"), "annotations"), ANNOTATION_IGNORE_DRIFT).strip()
        if value == IGNORE_ALL:
            return IgnoredDrift(all=True)
        pointers = [each.strip() for each in value.split(",")] if value else []
        if len(value) > ANNOTATION_MAX or len(pointers) > POINTERS_MAX:
            return IgnoredDrift(error=f"has more than {POINTERS_MAX} pointers or {ANNOTATION_MAX:,} characters")
        for number, pointer in enumerate(pointers, start=1):
            if not _POINTER.fullmatch(pointer):  # not quoted: it may come from a secret value of the chart
                return IgnoredDrift(
                    error=f'is neither "{IGNORE_ALL}" nor JSON pointers such as /spec/replicas, separated by commas: '
                    f"pointer {number} is not valid"
                )
            paths.append(_parse_pointer(pointer))
    return IgnoredDrift(paths=tuple(dict.fromkeys(paths)))


def _parse_pointer(pointer: str) -> Path:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def format_pointer(path: Path) -> str:
    return "".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in path)


def find_differences(live: JsonObject, desired: JsonObject, *, ignored: Iterable[Path] = ()) -> list[Difference]:
    """Return up to DIFFERENCES_MAX differences of two states of one object, as the API server returns them."""
    skipped = frozenset((*_OWN_LABELS, *_controlled_paths(desired), *ignored))
    found = _compare(_compared_part(live), _compared_part(desired), Difference((), ()), skipped)
    return list(islice(found, DIFFERENCES_MAX))


def _compared_part(body: JsonObject) -> JsonObject:
    metadata = obj(body, "metadata")
    part: JsonObject = {key: value for key, value in body.items() if key != "status"}
    part["metadata"] = {key: metadata[key] for key in _COMPARED_METADATA if metadata.get(key)}
    return part


def _compare(live: Json, desired: Json, at: Difference, skipped: frozenset[Path]) -> Iterator[Difference]:
    if at.path in skipped or live == desired:
        return
    if isinstance(live, dict) and isinstance(desired, dict):
        for key in sorted(live.keys() | desired.keys()):
            yield from _compare(live.get(key), desired.get(key), at.below(key, key), skipped)
    elif isinstance(live, list) and isinstance(desired, list) and _are_objects(live) and _are_objects(desired):
        for index, wanted_index in _pair_items(live, desired):
            item = live[index] if index is not None else None
            wanted = desired[wanted_index] if wanted_index is not None else None
            token = str(wanted_index if wanted_index is not None else index)
            yield from _compare(item, wanted, at.below(token, str(index) if index is not None else token), skipped)
    else:
        yield at


def _are_objects(values: list[Json]) -> bool:
    return all(isinstance(each, dict) for each in values)


def _pair_items(live: list[Json], desired: list[Json]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the indexes of items that are not equal, paired by their names, the rest in order; order does not count."""
    left, right = _unequal(live, desired), _unequal(desired, live)
    by_name: dict[Json, int] = {_name(live[index]): index for index in left if _name(live[index])}
    named = {index: by_name.get(_name(desired[index])) for index in right if _name(desired[index])}
    taken = {at for at in named.values() if at is not None}
    unnamed = iter([index for index in left if not _name(live[index])])
    for index in right:
        paired = named[index] if index in named else next(unnamed, None)
        yield paired, index
    remaining = {*unnamed}
    yield from ((index, None) for index in left if index not in taken and (_name(live[index]) or index in remaining))


def _unequal(values: list[Json], others: list[Json]) -> list[int]:
    packed = {orjson.dumps(each, option=orjson.OPT_SORT_KEYS) for each in others}
    return [index for index, each in enumerate(values) if orjson.dumps(each, option=orjson.OPT_SORT_KEYS) not in packed]


def _name(item: Json) -> str:
    return text(item, "name")


def with_live_values(applied: JsonObject, live: JsonObject, kept: Iterable[Path]) -> JsonObject:
    """Return `applied` with the live values at the paths in `kept`, and without those that the live object lacks.

    To leave a field out would remove it, if only Helm manages it.
    """
    body: JsonObject = orjson.loads(orjson.dumps(applied))
    items_by_name: _ItemsByName = {}
    for path in (*kept, *_OWN_LABELS, *_controlled_paths(body)):
        _keep_live(body, live, path, items_by_name)
    return body


def _controlled_paths(body: JsonObject) -> tuple[Path, ...]:
    """Return what controllers of Kubernetes and of certificates fill in, whatever the chart says."""
    if text(body, "kind") == "ClusterRole" and "aggregationRule" in body:
        return (("rules",),)
    if text(body, "kind") not in _KINDS_WITH_CA_BUNDLE:
        return ()
    indexes = range(len(items(body, "webhooks")))
    return (
        ("spec", "caBundle"),
        ("spec", "conversion", "webhook", "clientConfig", "caBundle"),
        *(("webhooks", str(index), "clientConfig", "caBundle") for index in indexes),
    )


def _keep_live(target: Json, live: Json, path: Path, items_by_name: _ItemsByName) -> None:
    for token in path[:-1]:
        target, live = _child(target, live, token, items_by_name)
        if target is None:
            return
    last = path[-1]
    _, value = _child(target, live, last, items_by_name)
    if isinstance(target, dict) and last in target:
        if value is None:
            del target[last]
        else:
            target[last] = value
    elif isinstance(target, list) and value is not None:  # so there is such an item
        target[int(last)] = value


def _child(target: Json, live: Json, token: str, items_by_name: _ItemsByName) -> tuple[Json, Json]:
    if isinstance(target, dict):
        return target.get(token), live.get(token) if isinstance(live, dict) else None
    if isinstance(target, list) and _INDEX.fullmatch(token) and int(token) < len(target):
        index = int(token)
        if not isinstance(live, list):
            return target[index], None
        name = _name(target[index])
        if not name:
            return target[index], live[index] if index < len(live) else None
        if id(live) not in items_by_name:  # the first one of a name counts
            items_by_name[id(live)] = {_name(each): each for each in reversed(live)}
        return target[index], items_by_name[id(live)].get(name)
    return None, None


def paths_to_keep(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths for a DriftedObject: of each, as much as is ever shown, because they may be long."""
    return tuple(shorten(each, QUOTED_INPUT_MAX) for each in islice(paths, DIFFERENCES_MAX))


def find_managers(live: JsonObject, differences: Iterable[Difference]) -> tuple[str, ...]:
    """Return the names of up to MANAGERS_NAMED_MAX managers that changed the differing fields."""
    found = dict.fromkeys(managers_of(live, (each.live_path for each in differences)))
    return tuple(found)[:MANAGERS_NAMED_MAX]


def describe_drift(objects: tuple[DriftedObject, ...]) -> str:
    """Return which objects differ, at most OBJECTS_NAMED_MAX of them with their paths, as a phrase."""
    named = "; ".join(map(_describe, objects[:OBJECTS_NAMED_MAX]))
    more = len(objects) - OBJECTS_NAMED_MAX
    return f"{named}; and {more} more" if more > 0 else named


def _describe(one: DriftedObject) -> str:
    name = f"{one.kind} {one.name}"
    if one.missing:
        return f"{name} is missing" + (f" ({one.refusal})" if one.refusal else "")
    paths = ", ".join(shorten(escape_input(path), 120) for path in one.paths[:PATHS_NAMED_MAX])
    more = len(one.paths) - PATHS_NAMED_MAX
    where = f"{paths} and {more} more" if more > 0 else paths
    by = f", changed by {', '.join(map(escape_input, one.managers))}" if one.managers else ""
    why = f"; cannot be corrected: {one.refusal}" if one.refusal else ""
    return f"{name} ({where}{by}{why})"
