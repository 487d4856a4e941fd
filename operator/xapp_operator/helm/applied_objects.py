"""The objects of a stored manifest as Helm applied them: with the label and the annotations that Helm adds. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj
from xapp_operator.api.names import HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE
from xapp_operator.config.settings import MIB
from xapp_operator.domain.chart_values.yaml_values import ValuesBudget, load_values
from xapp_operator.errors import ValuesInvalid
from xapp_operator.helm.manifest import (
    LIST_ITEMS_MAX,
    ObjectRef,
    is_list,
    manifest_objects,
    object_reference,
    split_documents,
)

DOCUMENT_BYTES_MAX: Final = 4 * MIB
VALUES_MAX: Final = 200_000
"""Values of one manifest that are read, aliases expanded. Measured: they take up to 35 MiB."""
CHARACTERS_MAX: Final = 16 * MIB
"""Characters of one manifest, aliases expanded, beyond which documents with aliases are not read."""
MANAGED_BY: Final = "app.kubernetes.io/managed-by"


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """One object of a manifest; `body` is None if it has unusual values, or with those before it more than are read."""

    reference: ObjectRef
    body: JsonObject | None = field(repr=False)


def manifest_budget() -> ValuesBudget:
    """Return the bounds of what is read of one manifest, whose documents can be small and have many aliases."""
    return ValuesBudget(nodes_max=VALUES_MAX, characters_max=CHARACTERS_MAX)


def load_document(document: str, budget: ValuesBudget) -> JsonObject:
    """Return one document of a manifest as helm reads it.

    Raises:
        ValuesInvalid: when it has unusual values, or with those before it more than are read.
    """
    return load_values(document, source="manifest", max_bytes=DOCUMENT_BYTES_MAX, repeated_keys=True, budget=budget)


def applied_objects(manifest: str, *, release: str, namespace: str) -> dict[ObjectRef, AppliedObject]:
    """Return the objects of a manifest by their references; the last one counts, as helm applies them in order.

    Raises:
        HelmError: when a document cannot be read.
    """
    found: dict[ObjectRef, AppliedObject] = {}
    budget = manifest_budget()
    for document in split_documents(manifest):
        try:
            root = load_document(document, budget)
        except ValuesInvalid:
            for one in manifest_objects(document):
                reference = object_reference(one)
                if reference is not None:
                    found[reference] = AppliedObject(reference, None)
            continue
        for body in _flatten(root):
            reference = object_reference(body)
            if reference is not None:
                _add_helm_metadata(body, release=release, namespace=namespace)
                found[reference] = AppliedObject(reference, body)
    return found


def _flatten(root: JsonObject) -> Iterator[JsonObject]:
    remaining, stack = LIST_ITEMS_MAX, [root]
    while stack and remaining > 0:
        one = stack.pop()
        remaining -= 1
        if is_list(one):
            stack.extend(reversed(items(one, "items")))
        else:
            yield one


def _add_helm_metadata(body: JsonObject, *, release: str, namespace: str) -> None:
    metadata = obj(body, "metadata")
    metadata["labels"] = {**obj(metadata, "labels"), MANAGED_BY: "Helm"}
    metadata["annotations"] = {
        **obj(metadata, "annotations"),
        HELM_RELEASE_NAME: release,
        HELM_RELEASE_NAMESPACE: namespace,
    }
