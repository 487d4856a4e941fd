"""The unified diff of two manifests, object by object. Pure.

Objects are matched by kind and name, so their order does not matter; hooks are left out, and so are the labels and
annotations that the operator adds to every object. Comments and indentation do not count: helm writes each object anew
if a post-renderer is used, as the operator does, and a person does not. Secrets are masked: within one
diff equal secrets have equal masks, and different secrets have different ones.
"""

from __future__ import annotations

import difflib
import hmac
import secrets as randomness
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import yaml

from xapp_operator.domain.chart_values.placed_scalars import MaskFactory
from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.helm.labelling.manifest_labels import remove_metadata
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.helm.manifest_masking import MaskedDocument, mask_documents, mask_text

LINES_COMPARED_MAX: Final = 2000
"""Lines of one object that are compared; a longer difference is shown as removed and added blocks."""

LINES_COMPARED_IN_ALL: Final = 20_000
"""The same for all texts of one response: comparing many small texts takes as long as one large text."""

CONTEXT_LINES: Final = 3
LINE_WIDTH: Final = 1_000_000
"""Nothing is wrapped."""
NO_FILE: Final = "/dev/null"
_LINE_BREAK: Final = "\n"
_BETWEEN_OBJECTS: Final = "\0"
"""YAML cannot contain it."""
_KEY_BYTES: Final = 16
_MASK_DIGEST_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class _MaskedObject:
    text: str
    reference: ObjectRef
    is_kept: bool


class ObjectChange(StrEnum):
    """What becomes of an object."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class ManifestChanges:
    """The unified diff of two manifests, and what becomes of each object; an object is named once."""

    diff: str
    objects: tuple[tuple[ObjectRef, ObjectChange], ...]


def manifest_diff(before: str, after: str, *, secrets: Iterable[str] = ()) -> str:
    """Return the unified diff of two manifests; empty when their objects are equal. See `compare_manifests`."""
    return compare_manifests(before, after, secrets=secrets).diff


def compare_manifests(before: str, after: str, *, secrets: Iterable[str] = ()) -> ManifestChanges:
    """Return what changes from one manifest to another.

    Args:
        before: the deployed manifest; empty when there is none.
        after: the new manifest.
        secrets: texts to mask everywhere in the diff.
    """
    masking, hidden = new_masking(), tuple(secrets)
    old, new = _masked_objects(before, masking, hidden), _masked_objects(after, masking, hidden)
    for name in old.keys() & new.keys():
        if old[name].text != new[name].text:
            old[name], new[name] = _in_one_style(old[name]), _in_one_style(new[name])
    lines: list[str] = []
    objects: list[tuple[ObjectRef, ObjectChange]] = []
    for name, either in {**old, **new}.items():
        was, is_now = old.get(name), new.get(name)
        objects.append((either.reference, _object_change(was, is_now)))
    differ = TextDiffer()
    for name in {**new, **old}:
        lines += differ.diff(name, _text_of(old.get(name)), _text_of(new.get(name)))
    return ManifestChanges(mask_text("".join(lines), secrets=hidden), tuple(objects))


def _in_one_style(found: _MaskedObject) -> _MaskedObject:
    """Return the object with its YAML written anew."""
    try:
        events = yaml.parse(found.text, Loader=yaml.CSafeLoader)
        text: str = yaml.emit(events, Dumper=yaml.CSafeDumper, width=LINE_WIDTH, allow_unicode=True)
    except yaml.YAMLError:
        return found
    return replace(found, text=text)


def _text_of(found: _MaskedObject | None) -> str | None:
    return None if found is None else found.text


def _object_change(was: _MaskedObject | None, is_now: _MaskedObject | None) -> ObjectChange:
    if was is None:
        return ObjectChange.CREATE
    if is_now is None:
        return ObjectChange.UNCHANGED if was.is_kept else ObjectChange.REMOVE
    return ObjectChange.UNCHANGED if was.text == is_now.text else ObjectChange.CHANGE


def new_masking() -> MaskFactory:
    """Return masks of one diff: equal secrets have equal masks, and different secrets have different ones."""
    # A new secret key for each diff, so that masks cannot be compared across responses or used to guess a secret.
    key = randomness.token_bytes(_KEY_BYTES)
    return lambda written: f"{MASK} ({hmac.digest(key, written.encode(), 'sha256').hex()[:_MASK_DIGEST_DIGITS]})"


def _masked_objects(manifest: str, masking: MaskFactory, secrets: tuple[str, ...]) -> dict[str, _MaskedObject]:
    texts: dict[str, list[str]] = {}
    documents: dict[str, MaskedDocument] = {}
    for document in mask_documents(manifest, make_mask=masking):
        if document.reference is not None and document.name and not document.is_hook:
            # Blanks at the end mean nothing, and `helm template` removes those of the last object.
            written = remove_metadata(document.text)
            texts.setdefault(document.name, []).append(f"{written.strip(_LINE_BREAK).rstrip()}\n")
            documents[document.name] = document
    joined = _BETWEEN_OBJECTS.join("".join(each) for each in texts.values())
    shown = mask_text(joined, secrets=secrets, make_mask=masking).split(_BETWEEN_OBJECTS)
    return {
        name: _MaskedObject(text, document.reference, document.is_kept)
        for (name, document), text in zip(documents.items(), shown, strict=bool(documents))
        if document.reference is not None
    }


class TextDiffer:
    """Unified diffs of the texts of one response; together they compare at most LINES_COMPARED_IN_ALL."""

    def __init__(self) -> None:
        self._lines_left = LINES_COMPARED_IN_ALL

    def diff(self, name: str, old: str | None, new: str | None) -> Iterator[str]:
        """Yield the lines of the diff of one text; None if it is not there, and nothing for equal texts."""
        if old == new:
            return
        before, after = (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True)
        names = (f"a/{name}" if old is not None else NO_FILE), (f"b/{name}" if new is not None else NO_FILE)
        start, end = _common_ends(before, after)
        changed = max(len(before), len(after)) - start - end
        if changed <= min(LINES_COMPARED_MAX, self._lines_left):
            self._lines_left -= changed
            yield from difflib.unified_diff(before, after, *names, n=CONTEXT_LINES)
            return
        start, end = max(start - CONTEXT_LINES, 0), max(end - CONTEXT_LINES, 0)
        yield f"--- {names[0]}\n+++ {names[1]}\n"
        removed, added = before[start : len(before) - end], after[start : len(after) - end]
        yield f"@@ -{start + 1},{len(removed)} +{start + 1},{len(added)} @@\n"
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)


def _common_ends(before: list[str], after: list[str]) -> tuple[int, int]:
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    end = next((at for at in range(shorter - start) if before[-1 - at] != after[-1 - at]), shorter - start)
    return start, end
