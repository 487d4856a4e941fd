"""Which objects a rendered manifest is made of. Pure.

Read with every scalar as text: only names are wanted, and no odd date or number in a chart can make reading fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import yaml

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.errors import HelmError

RESOURCE_POLICY: Final = "helm.sh/resource-policy"

_SEPARATOR: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)

_LOADER: Final[type[yaml.CBaseLoader] | type[yaml.BaseLoader]] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object of a release.

    `namespace` is empty where the manifest names none: then it is the release's own, or the kind is cluster-scoped.
    `kept` tells that an uninstall leaves it (`helm.sh/resource-policy: keep`).
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    kept: bool = False


def inventory(manifest: str) -> tuple[ObjectRef, ...]:
    """Return the objects of `manifest` in its order, lists taken apart, each once; hooks are not in a manifest.

    Raises:
        HelmError: when a document is not YAML.
    """
    found: dict[ObjectRef, None] = {}
    for document in documents(manifest):
        for one in _flattened(document):
            reference = _reference(one)
            if reference is not None:
                found.setdefault(reference)
    return tuple(found)


def documents(manifest: str) -> Iterator[JsonObject]:
    """Yield the documents of `manifest` that are objects, with every scalar as text.

    Raises:
        HelmError: when a document is not YAML.
    """
    for number, source in enumerate(split(manifest), start=1):
        try:
            document = yaml.load(source, Loader=_LOADER)  # noqa: S506 - a base loader makes nothing but texts
        except (yaml.YAMLError, RecursionError) as error:
            raise HelmError(f"document {number} of the release's manifest is not YAML") from error
        if isinstance(document, dict):
            yield cast("JsonObject", document)


def split(manifest: str) -> list[str]:
    """Return the YAML documents of `manifest` as texts, without empty ones."""
    return [document for document in _SEPARATOR.split(manifest) if document.strip()]


def _flattened(document: JsonObject) -> Iterator[JsonObject]:
    # Helm takes any kind that ends in List and has items for a list of objects (cli-runtime, `meta.IsListType`).
    if text(document, "kind").endswith("List") and isinstance(document.get("items"), list):
        for item in items(document, "items"):
            yield from _flattened(item)
    else:
        yield document


def _reference(document: JsonObject) -> ObjectRef | None:
    metadata = obj(document, "metadata")
    kind, name = text(document, "kind"), text(metadata, "name")
    if not kind or not name:
        return None
    policy = text(obj(metadata, "annotations"), RESOURCE_POLICY)
    return ObjectRef(
        api_version=text(document, "apiVersion"),
        kind=kind,
        namespace=text(metadata, "namespace"),
        name=name,
        kept=policy.strip().lower() == "keep",
    )
