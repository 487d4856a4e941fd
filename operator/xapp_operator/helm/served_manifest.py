"""Makes a stored manifest readable for helm again when the cluster no longer serves kinds in it. Pure.

An object whose kind is served in another version of its group is still there, under that version, so it gets the
version: without it, helm would leave the object behind. Objects of a kind that is gone are gone too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.common.text import escape_input
from xapp_operator.domain.chart_values.yaml_values import ValuesBudget, dump_values
from xapp_operator.errors import ValuesInvalid
from xapp_operator.helm.applied_objects import load_document, manifest_budget
from xapp_operator.helm.manifest import is_list, manifest_objects, split_documents

ServedVersions: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""The values of `apiVersion` of each (group, kind) that the cluster serves, the preferred one first."""


@dataclass(frozen=True, slots=True)
class ServedManifest:
    """A manifest that helm can read; `changes` says in words what happened to which object, with its name escaped."""

    manifest: str
    changes: tuple[str, ...]


def with_served_kinds(
    manifest: str, served: ServedVersions, *, unknown_groups: Collection[str] = ()
) -> ServedManifest | None:
    """Return the manifest with only kinds and versions that are `served`; None if nothing has to be changed.

    Of `unknown_groups` it is not known what is served: a document with an object of one stays as it is. A document that
    has to be changed, but has more values than are read or cannot be written again, is removed; so is one after many
    that have to be changed, if all together have more values than are read.

    Raises:
        HelmError: when a document cannot be read.
    """
    documents: list[str] = []
    changes: list[str] = []
    budget = manifest_budget()
    for document in split_documents(manifest):
        objects = list(manifest_objects(document))
        if any(_group_of(one) in unknown_groups for one in objects) or all(
            text(one, "apiVersion") in _versions_of(one, served) for one in objects
        ):
            documents.append(document)
            continue
        readable = _load_served(document, served, budget)
        changes += _describe_changes(objects, served if readable is not None else {})
        if readable is not None:
            documents.append(f"\n{readable}\n")
    if not changes:
        return None
    return ServedManifest("".join(f"---{document}" for document in documents), tuple(changes))


def _group_of(one: JsonObject) -> str:
    return text(one, "apiVersion").rpartition("/")[0]


def _versions_of(one: JsonObject, served: ServedVersions) -> tuple[str, ...]:
    return served.get((_group_of(one), text(one, "kind")), ())


def _load_served(document: str, served: ServedVersions, budget: ValuesBudget) -> str | None:
    try:
        found = _with_served_versions(load_document(document, budget), served)
        return None if found is None else dump_values(found).decode()
    except ValuesInvalid:
        return None


def _with_served_versions(document: JsonObject, served: ServedVersions) -> JsonObject | None:
    """Return an object, or a list of objects, with served versions; None if nothing of it is served."""
    if is_list(document):
        found = [_with_served_versions(each, served) for each in items(document, "items")]
        kept = [each for each in found if each is not None]
        return {**document, "items": [*kept]} if kept else None
    versions = _versions_of(document, served)
    if not versions or text(document, "apiVersion") in versions:
        return document if versions else None
    return {**document, "apiVersion": versions[0]}


def _describe_changes(objects: list[JsonObject], served: ServedVersions) -> Iterator[str]:
    for one in objects:
        versions = _versions_of(one, served)
        if text(one, "apiVersion") in versions:
            continue
        name = escape_input(f"{text(one, 'kind')} {text(obj(one, 'metadata'), 'name')}")
        yield f"{name} is of {versions[0]} now" if versions else f"{name} was removed"
