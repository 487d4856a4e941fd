"""Rendered manifests for people: the data of Secrets, and what looks like a secret elsewhere, are masked. Pure.

The text stays as the chart rendered it, comments included; only the masked scalars are replaced. A document that cannot
be read reliably is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from yaml import YAMLError
from yaml.events import ScalarEvent

from xapp_operator.api.json import Json, obj, text
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.domain.redaction import MASK, redact, scrub
from xapp_operator.domain.text_secrets import mask_secrets
from xapp_operator.domain.yaml_events import Tree, TreeBuilder, YamlRefused
from xapp_operator.helm.manifest import split_documents

DEPTH_MAX: Final = 100
NODES_MAX: Final = 200_000
SCRUBBED_SECRETS_MAX: Final = 256
SCRUBBED_CHARACTERS_MIN: Final = 6
"""Shorter secrets are too often common words."""

WITHHELD: Final = "\n# withheld: this document cannot be read as YAML, so its secrets cannot be found\n"

MaskFactory: TypeAlias = Callable[[str], str]
"""Returns what replaces a secret."""

_PLAIN_SCALARS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SECRET_PARTS: Final = (
    ("data",),
    ("stringData",),
    ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"),
)


@dataclass(frozen=True, slots=True)
class _Scalar:
    """The value of a scalar, and its position in the text."""

    value: Json
    start: int
    end: int
    is_block: bool


class _ScalarBuilder(TreeBuilder[_Scalar]):
    def scalar(self, event: ScalarEvent) -> _Scalar:
        return _Scalar(
            value=_PLAIN_SCALARS.get(event.value, event.value) if event.implicit[0] else event.value,
            start=event.start_mark.index if event.start_mark else 0,
            end=event.end_mark.index if event.end_mark else 0,
            is_block=event.style in {"|", ">"},
        )


@dataclass(frozen=True, slots=True)
class MaskedDocument:
    """One masked document; `name` identifies it, as in `apps/v1 Deployment default/web`."""

    text: str
    name: str = ""
    is_hook: bool = False


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
    roots = [root for _, root in _ScalarBuilder(source, depth_max=DEPTH_MAX, nodes_max=NODES_MAX).roots()]
    if not roots:  # comments only
        return MaskedDocument(source)
    root = roots[0]
    if not isinstance(root, dict) or len(roots) > 1:  # Helm would not apply it
        return MaskedDocument(WITHHELD)
    values = {key: _values_of(member) for key, member in root.items()}
    metadata = obj(values, "metadata")
    place = "/".join(filter(None, (text(metadata, "namespace"), text(metadata, "name"))))
    secret = dict.fromkeys(_secret_data(root), MASK)
    if text(values, "kind") != "CustomResourceDefinition":  # its properties have names, and no values
        secret = {**dict(_redacted_scalars(root, redact(values))), **secret}
    return MaskedDocument(
        name=" ".join(filter(None, (text(values, "apiVersion"), text(values, "kind"), place))),
        text=_replace(source, secret, make_mask),
        is_hook=HELM_HOOK in obj(metadata, "annotations"),
    )


def _values_of(tree: Tree[_Scalar]) -> Json:
    if isinstance(tree, dict):
        return {key: _values_of(member) for key, member in tree.items()}
    return [_values_of(item) for item in tree] if isinstance(tree, list) else tree.value


def _redacted_scalars(tree: Tree[_Scalar], redacted: Json) -> Iterator[tuple[_Scalar, str]]:
    """Yield each scalar that is masked, with what is shown of it."""
    if isinstance(tree, _Scalar):
        if isinstance(redacted, str) and redacted != tree.value:
            yield tree, redacted
    elif isinstance(tree, dict) and isinstance(redacted, dict):
        for key, member in tree.items():
            yield from _redacted_scalars(member, redacted[key])
    elif isinstance(tree, list) and isinstance(redacted, list):
        for item, shown in zip(tree, redacted, strict=True):
            yield from _redacted_scalars(item, shown)


def _secret_data(tree: Tree[_Scalar]) -> Iterator[_Scalar]:
    """Yield the scalars in the data of every Secret in `tree`, such as one in a List."""
    if isinstance(tree, _Scalar):
        return
    if isinstance(tree, dict):
        kind = tree.get("kind")
        if isinstance(kind, _Scalar) and kind.value == "Secret":
            for path in _SECRET_PARTS:
                yield from _scalars_at(tree, *path)
    for member in tree.values() if isinstance(tree, dict) else tree:
        yield from _secret_data(member)


def _scalars_at(tree: Tree[_Scalar], *path: str) -> Iterator[_Scalar]:
    if path:
        if isinstance(tree, dict) and path[0] in tree:
            yield from _scalars_at(tree[path[0]], *path[1:])
    elif isinstance(tree, _Scalar):
        yield tree
    else:
        for member in tree.values() if isinstance(tree, dict) else tree:
            yield from _scalars_at(member)


def _replace(source: str, shown: dict[_Scalar, str], make_mask: MaskFactory) -> str:
    pieces: list[str] = []
    at = 0
    for scalar in sorted(shown, key=lambda each: each.start):
        written = source[scalar.start : scalar.end]
        if not written:
            continue
        # A block scalar owns the line breaks after it.
        after = written[len(written.rstrip()) :] if scalar.is_block else ""
        if shown[scalar] == MASK or not isinstance(scalar.value, str):
            masked = f'"{make_mask(written)}"'
        else:
            masked = _partly_masked(written, mask_secrets(scalar.value, make_mask))
        pieces += [source[at : scalar.start], masked, after]
        at = scalar.end
    return "".join((*pieces, source[at:]))


def _partly_masked(written: str, masked: str) -> str:
    """Return `masked` in the notation of `written` if that is a literal block, else in quotes."""
    header, _, body = written.partition("\n")
    lines = [line for line in body.split("\n") if line.strip()]
    if not header.startswith("|") or not lines or "\r" in written:
        return json.dumps(masked, ensure_ascii=False)
    first = next(line for line in masked.split("\n") if line.strip())
    indent = len(lines[0]) - len(lines[0].lstrip(" ")) - (len(first) - len(first.lstrip(" ")))
    shown = (" " * indent + line if line else "" for line in masked.rstrip("\n").split("\n"))
    return "\n".join((header, *shown))
