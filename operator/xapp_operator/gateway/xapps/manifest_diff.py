"""The unified diff of two manifests, object by object. Pure.

Objects are matched by kind and name, so their order does not matter; hooks are left out. Secrets are masked: within one
diff equal secrets have equal masks, and different secrets have different ones.
"""

from __future__ import annotations

import difflib
import hmac
import secrets as randomness
from collections.abc import Iterable, Iterator
from typing import Final

from xapp_operator.domain.placed_scalars import MaskFactory
from xapp_operator.domain.redaction import MASK
from xapp_operator.helm.manifest_masking import mask_documents, mask_text

LINES_COMPARED_MAX: Final = 2000
"""Lines of one object that are compared; a longer difference is shown as removed and added blocks."""

LINES_COMPARED_IN_ALL: Final = 20_000
"""The same for all texts of one response: comparing many small texts takes as long as one large text."""

CONTEXT_LINES: Final = 3
NO_FILE: Final = "/dev/null"
_LINE_BREAK: Final = "\n"
_BETWEEN_OBJECTS: Final = "\0"
"""YAML cannot contain it."""
_KEY_BYTES: Final = 16
_MASK_DIGEST_DIGITS: Final = 6


def manifest_diff(before: str, after: str, *, secrets: Iterable[str] = ()) -> str:
    """Return the unified diff of two manifests; empty when their objects are equal.

    Args:
        before: the deployed manifest; empty when there is none.
        after: the new manifest.
        secrets: texts to mask everywhere in the diff.
    """
    masking, hidden = new_masking(), tuple(secrets)
    old, new = _masked_objects(before, masking, hidden), _masked_objects(after, masking, hidden)
    differ = TextDiffer()
    lines = (line for name in {**new, **old} for line in differ.diff(name, old.get(name), new.get(name)))
    return mask_text("".join(lines), secrets=hidden)


def new_masking() -> MaskFactory:
    """Return masks of one diff: equal secrets have equal masks, and different secrets have different ones."""
    # A new secret key for each diff, so that masks cannot be compared across responses or used to guess a secret.
    key = randomness.token_bytes(_KEY_BYTES)
    return lambda written: f"{MASK} ({hmac.digest(key, written.encode(), 'sha256').hex()[:_MASK_DIGEST_DIGITS]})"


def _masked_objects(manifest: str, masking: MaskFactory, secrets: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for document in mask_documents(manifest, make_mask=masking):
        if document.name and not document.is_hook:
            # Blanks at the end mean nothing, and `helm template` removes those of the last object.
            found.setdefault(document.name, []).append(f"{document.text.strip(_LINE_BREAK).rstrip()}\n")
    joined = _BETWEEN_OBJECTS.join("".join(texts) for texts in found.values())
    shown = mask_text(joined, secrets=secrets, make_mask=masking).split(_BETWEEN_OBJECTS)
    return dict(zip(found, shown, strict=True)) if found else {}


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
