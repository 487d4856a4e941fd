"""The objects of a rendered manifest. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.errors import HelmError
from xapp_operator.helm.manifest import load_documents

OBJECTS_MAX: Final = 10_000
LIST_ITEMS_MAX: Final = 100_000  # aliases can multiply even empty lists


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


def manifest_inventory(manifest: str) -> tuple[ObjectRef, ...]:
    """Return the objects of `manifest`, and those in its lists, in order and each once; a manifest has no hooks.

    Raises:
        HelmError: when a document cannot be read, or there are more than 10,000 objects.
    """
    found: dict[ObjectRef, None] = {}
    for number, one in enumerate(manifest_objects(manifest)):
        if number >= OBJECTS_MAX:
            raise HelmError(f"the release's manifest has more than {OBJECTS_MAX} objects: make the chart smaller")
        reference = _reference(one)
        if reference is not None:
            found.setdefault(reference)
    return tuple(found)


def manifest_objects(manifest: str) -> Iterator[JsonObject]:
    """Yield the objects of `manifest`, and those in its lists.

    Raises:
        HelmError: when a document cannot be read, or its lists have more than LIST_ITEMS_MAX items.
    """
    remaining = LIST_ITEMS_MAX
    for document in load_documents(manifest):
        stack = [iter((document,))]
        while stack:
            one = next(stack[-1], None)
            if one is None:
                stack.pop()
            elif not _is_list(one):
                yield one
            else:
                list_items = items(one, "items")
                remaining -= 1 + len(list_items)
                if remaining < 0:
                    raise HelmError(
                        f"the release's manifest has more than {LIST_ITEMS_MAX} objects in lists: make the "
                        "chart smaller"
                    )
                stack.append(iter(list_items))


def _is_list(document: JsonObject) -> bool:
    # To helm, every kind that ends in List and has items is a list (cli-runtime, `meta.IsListType`).
    return text(document, "kind").endswith("List") and isinstance(document.get("items"), list)


def _reference(document: JsonObject) -> ObjectRef | None:
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
