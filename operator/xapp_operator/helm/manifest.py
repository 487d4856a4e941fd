"""Reads the documents and objects of a rendered manifest: scalars as text, and only the levels that are used. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from yaml import YAMLError
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, Event, ScalarEvent

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.names import HELM_RESOURCE_POLICY
from xapp_operator.domain.chart_values.yaml_events import Anchored, Tree, TreeBuilder, YamlRefused
from xapp_operator.errors import HelmError

DEPTH_MAX: Final = 1000  # Kubernetes itself allows ten times as much
NODES_MAX: Final = 1_000_000  # about 3 s of work
LOADED_DEPTH_MAX: Final = 16  # annotations of an object in a list in a list are at level 8
OBJECTS_MAX: Final = 10_000
LIST_ITEMS_MAX: Final = 100_000  # aliases can multiply even empty lists

_SEPARATOR: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object of a release.

    `namespace` is empty if the manifest names none: then it is that of the release, or the kind is cluster-scoped.
    `expires` means that Kubernetes deletes the object when it has finished (`ttlSecondsAfterFinished` of a Job).
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    expires: bool = False


def split_documents(manifest: str) -> list[str]:
    """Return the YAML documents of `manifest` as texts, without empty ones."""
    return [document for document in _SEPARATOR.split(manifest) if document.strip()]


def load_documents(manifest: str) -> Iterator[JsonObject]:
    """Yield the documents of `manifest` that are objects, down to 16 levels.

    Raises:
        HelmError: when a document is not YAML or is nested more than DEPTH_MAX levels deep, or when the manifest has
            more than NODES_MAX keys, scalars, lists and objects.
    """
    nodes = 0
    for number, source in enumerate(split_documents(manifest), start=1):
        builder = _TextBuilder(source, depth_max=DEPTH_MAX, nodes_max=NODES_MAX, repeated_keys=True)
        builder.nodes = nodes
        try:
            for _, root in builder.roots():
                if isinstance(root, dict):
                    yield cast("JsonObject", root)
        except YAMLError as error:
            raise HelmError(f"document {number} of the release's manifest cannot be read: it is not YAML") from error
        except YamlRefused as error:
            raise HelmError(f"document {number} of the release's manifest cannot be read: {error}") from error
        nodes = builder.nodes


def manifest_inventory(manifest: str, *, with_kept: bool = True) -> tuple[ObjectRef, ...]:
    """Return the objects of `manifest`, and those in its lists, in order and each once; a manifest has no hooks.

    Without those that `helm uninstall` keeps, unless `with_kept`.

    Raises:
        HelmError: when a document cannot be read, or there are more than 10,000 objects.
    """
    found: dict[ObjectRef, None] = {}
    for number, (one, kept) in enumerate(uninstalled_objects(manifest)):
        if number >= OBJECTS_MAX:
            raise HelmError(f"the release's manifest has more than {OBJECTS_MAX} objects: make the chart smaller")
        reference = object_reference(one) if with_kept or not kept else None
        if reference is not None:
            found.setdefault(reference)
    return tuple(found)


def manifest_objects(manifest: str) -> Iterator[JsonObject]:
    """Yield the objects of `manifest`, and those in its lists.

    Raises:
        HelmError: when a document cannot be read, or its lists have more than LIST_ITEMS_MAX items.
    """
    for _, one in _objects_with_documents(manifest):
        yield one


def uninstalled_objects(manifest: str) -> Iterator[tuple[JsonObject, bool]]:
    """Yield the objects of `manifest`, and whether `helm uninstall` keeps them.

    helm looks at the annotation of a document, so that of a list counts for all of its items (resource_policy.go).

    Raises:
        HelmError: as `manifest_objects`.
    """
    for document, one in _objects_with_documents(manifest):
        yield one, is_kept(obj(obj(document, "metadata"), "annotations"))


def is_kept(annotations: JsonObject) -> bool:
    """Return whether `helm uninstall` keeps an object with these annotations (resource_policy.go)."""
    return text(annotations, HELM_RESOURCE_POLICY).strip().lower() == "keep"


def _objects_with_documents(manifest: str) -> Iterator[tuple[JsonObject, JsonObject]]:
    remaining = LIST_ITEMS_MAX
    for document in load_documents(manifest):
        stack = [iter((document,))]
        while stack:
            one = next(stack[-1], None)
            if one is None:
                stack.pop()
            elif not is_list(one):
                yield document, one
            else:
                list_items = items(one, "items")
                remaining -= 1 + len(list_items)
                if remaining < 0:
                    raise HelmError(
                        f"the release's manifest has more than {LIST_ITEMS_MAX} objects in lists: make the "
                        "chart smaller"
                    )
                stack.append(_with_kinds(list_items, document=one))


def _with_kinds(list_items: list[JsonObject], *, document: JsonObject) -> Iterator[JsonObject]:
    """Yield the items of a list; in a list of one kind, they need not name it (apimachinery, `decodeToList`)."""
    kind = text(document, "kind").removesuffix("List")
    for item in list_items:
        if not kind or text(item, "kind"):
            yield item
        else:
            yield {**item, "kind": kind, "apiVersion": text(document, "apiVersion")}


def is_list(document: JsonObject) -> bool:
    """Return whether a document is a list of objects."""
    # To helm, every kind that ends in List and has items is a list (cli-runtime, `meta.IsListType`).
    return text(document, "kind").endswith("List") and isinstance(document.get("items"), list)


def object_reference(document: JsonObject) -> ObjectRef | None:
    """Return the reference to an object of a manifest, or None without kind and name."""
    metadata = obj(document, "metadata")
    kind, name = text(document, "kind"), text(metadata, "name")
    if not kind or not name:
        return None
    return ObjectRef(
        api_version=text(document, "apiVersion"),
        kind=kind,
        namespace=text(metadata, "namespace"),
        name=name,
        expires="ttlSecondsAfterFinished" in obj(document, "spec"),
    )


class _TextBuilder(TreeBuilder[str | None]):
    """Reads every scalar as text; lists and objects below LOADED_DEPTH_MAX become None.

    Aliases share their value and do not count, so a caller that walks through a document must limit the walk.
    """

    def scalar(self, event: ScalarEvent) -> str | None:
        return event.value

    def value(self, event: Event, depth: int) -> Tree[str | None]:
        if depth <= LOADED_DEPTH_MAX or not isinstance(event, CollectionStartEvent):
            return super().value(event, depth)
        self._pass_over(event, depth)
        return None

    def key(self, event: Event) -> str:
        if isinstance(event, ScalarEvent):
            return super().key(event)
        self._pass_over(event, 1)
        return ""

    def alias(self, event: AliasEvent, depth: int) -> Tree[str | None]:
        anchored = self.anchors.get(event.anchor or "")
        return anchored.value if anchored else None

    def _pass_over(self, first: Event, depth: int) -> None:
        """Read on to the end of the value that `first` begins at `depth`; the bounds hold in it too."""
        event, level = first, depth - 1
        while True:
            self.count(event)
            if isinstance(event, CollectionStartEvent):
                level += 1
                self.check_depth(event, level)
            elif isinstance(event, CollectionEndEvent):
                level -= 1
            if isinstance(event, ScalarEvent | CollectionStartEvent) and event.anchor:
                self.anchors[event.anchor] = Anchored(None, characters=0)
            if level < depth:
                return
            event = self.next_event()
