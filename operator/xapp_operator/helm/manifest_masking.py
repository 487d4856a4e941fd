"""Rendered manifests for people: the data of Secrets, and what looks like a secret elsewhere, are masked. Pure.

The text stays as the chart rendered it, comments included; only the masked scalars are replaced. A document that cannot
be read reliably is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from yaml import YAMLError

from xapp_operator.api.json import obj, text
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.domain.chart_values.placed_scalars import (
    MaskFactory,
    PlacedScalar,
    ScalarTreeBuilder,
    redacted_scalars,
    replace_scalars,
    values_of,
)
from xapp_operator.domain.chart_values.yaml_events import Tree, YamlRefused
from xapp_operator.domain.masking.redaction import MASK, redact, scrub
from xapp_operator.domain.masking.text_secrets import mask_secrets
from xapp_operator.helm.manifest import ObjectRef, is_kept, split_documents

DEPTH_MAX: Final = 100
NODES_MAX: Final = 200_000
SCRUBBED_SECRETS_MAX: Final = 256
SCRUBBED_CHARACTERS_MIN: Final = 6
"""Shorter secrets are too often common words."""

WITHHELD: Final = "\n# withheld: this document cannot be read as YAML, so its secrets cannot be found\n"

_SECRET_PARTS: Final = (
    ("data",),
    ("stringData",),
    ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"),
)


@dataclass(frozen=True, slots=True)
class MaskedDocument:
    """One masked document; `name` identifies it, as in `apps/v1 Deployment default/web`.

    Helm leaves an object that `is_kept` in the cluster (`helm.sh/resource-policy: keep`).
    """

    text: str
    name: str = ""
    is_hook: bool = False
    is_kept: bool = False
    reference: ObjectRef | None = None


def mask_manifest(manifest: str, *, secrets: Iterable[str] = ()) -> str:
    """Return `manifest` masked; `secrets` are texts that must not be anywhere in it."""
    return mask_text("".join(f"---{each.text}" for each in mask_documents(manifest)), secrets=secrets)


def mask_notes(notes: str, *, secrets: Iterable[str]) -> str:
    """Return the notes of a chart without `secrets`, and without what looks like a secret in them."""
    return mask_secrets(mask_text(notes, secrets=secrets), lambda _: MASK)


def mask_text(shown: str, *, secrets: Iterable[str], make_mask: MaskFactory = lambda _: MASK) -> str:
    """Return a text, such as NOTES that repeat a password, without the longest of `secrets`."""
    longest = sorted((each for each in secrets if len(each) >= SCRUBBED_CHARACTERS_MIN), key=len, reverse=True)
    return scrub(shown, longest[:SCRUBBED_SECRETS_MAX], make_mask=make_mask)


def mask_documents(manifest: str, *, make_mask: MaskFactory = lambda _: MASK) -> Iterator[MaskedDocument]:
    """Yield the documents of `manifest`, each ending in a line break, with secrets replaced by `make_mask`."""
    for source in split_documents(manifest):
        ended = source if source.endswith("\n") else f"{source}\n"
        try:
            yield _mask_document(ended, make_mask)
        except (YAMLError, YamlRefused):
            yield MaskedDocument(WITHHELD)


def _mask_document(source: str, make_mask: MaskFactory) -> MaskedDocument:
    roots = [root for _, root in ScalarTreeBuilder(source, depth_max=DEPTH_MAX, nodes_max=NODES_MAX).roots()]
    if not roots:  # comments only
        return MaskedDocument(source)
    root = roots[0]
    if not isinstance(root, dict) or len(roots) > 1:  # Helm would not apply it
        return MaskedDocument(WITHHELD)
    values = {key: values_of(member) for key, member in root.items()}
    metadata = obj(values, "metadata")
    reference = ObjectRef(
        api_version=text(values, "apiVersion"),
        kind=text(values, "kind"),
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
    )
    place = "/".join(filter(None, (reference.namespace, reference.name)))
    annotations = obj(metadata, "annotations")
    secret = dict.fromkeys(_secret_data(root), MASK)
    if text(values, "kind") != "CustomResourceDefinition":  # its properties have names, and no values
        secret = {**dict(redacted_scalars(root, redact(values))), **secret}
    return MaskedDocument(
        name=" ".join(filter(None, (reference.api_version, reference.kind, place))),
        text=replace_scalars(source, secret, make_mask),
        is_hook=HELM_HOOK in annotations,
        is_kept=is_kept(annotations),
        reference=reference,
    )


def _secret_data(tree: Tree[PlacedScalar]) -> Iterator[PlacedScalar]:
    """Yield the scalars in the data of every Secret in `tree`, such as one in a List."""
    if isinstance(tree, PlacedScalar):
        return
    if isinstance(tree, dict):
        kind = tree.get("kind")
        if isinstance(kind, PlacedScalar) and kind.value == "Secret":
            for path in _SECRET_PARTS:
                yield from _scalars_at(tree, *path)
    for member in tree.values() if isinstance(tree, dict) else tree:
        yield from _secret_data(member)


def _scalars_at(tree: Tree[PlacedScalar], *path: str) -> Iterator[PlacedScalar]:
    if path:
        if isinstance(tree, dict) and path[0] in tree:
            yield from _scalars_at(tree[path[0]], *path[1:])
    elif isinstance(tree, PlacedScalar):
        yield tree
    else:
        for member in tree.values() if isinstance(tree, dict) else tree:
            yield from _scalars_at(member)
