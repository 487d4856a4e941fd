"""Keeps kopf from storing the spec of an XApp in an annotation.

kopf's own annotation holds the whole spec and breaks at 256 KiB of annotations. The operator is level-triggered and
needs no differences, so the stored essence is a constant. kopf then sees neither creations nor updates to handle and
writes no annotation; events and deletions still come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import kopf


class ConstantDiffBaseStorage(kopf.DiffBaseStorage):
    """A storage in which every object looks unchanged since it was last handled."""

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:
        """Return the constant essence."""
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """Return the constant essence."""
        return kopf.BodyEssence()

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Store nothing."""
