"""One revision of a release, and the diff of two, with masked secrets. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.placed_scalars import MaskFactory
from xapp_operator.domain.chart_values.values_text import dump_values_text, mask_values_text
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.domain.masking.redaction import redact
from xapp_operator.domain.masking.text_secrets import mask_secrets
from xapp_operator.gateway.xapps.release.manifest_diff import TextDiffer, manifest_diff, new_masking
from xapp_operator.gateway.xapps.release_records import secret_values
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes, mask_text
from xapp_operator.helm.releases.release_storage import ReleaseRecord

VALUES: Final = "values"
MANIFEST: Final = "manifest"
NOTES: Final = "notes"
DIFF_PARTS: Final = (VALUES, MANIFEST, NOTES)

COMPARED_CHARACTERS_MAX: Final = 4 * 1024 * 1024
"""Characters of one part of a revision; a longer one is not compared."""
DIFF_CHARACTERS_MAX: Final = 1024 * 1024
"""Characters of the diff of one part; a longer one is cut at the end of a line."""

WITHHELD: Final = "# withheld: it is not certain where all secrets of these values are\n"


def revision_json(release: ReleaseRecord) -> JsonObject:
    """Return a revision in the shape of the API: what it is, and its values, manifest and notes."""
    secrets = secret_values(release)
    readable = not deeper_than(release.config, MAX_DEPTH)
    values = redact(release.config) if readable else None
    return {
        "revision": release.revision,
        "status": release.status or None,
        "chart": release.chart.name or None,
        "chartVersion": release.chart.version or None,
        "appVersion": release.chart.app_version or None,
        "deployedAt": release.last_deployed or None,
        "description": mask_notes(release.description, secrets=secrets) or None,
        "values": values,
        "valuesText": None if values is None else dump_values_text(values),
        "manifest": mask_manifest(release.manifest, secrets=secrets),
        "notes": mask_notes(release.notes, secrets=secrets),
    }


def revisions_diff(before: ReleaseRecord, after: ReleaseRecord, parts: Collection[str]) -> JsonObject:
    """Return the unified diffs of `parts` in the shape of the API; null for others, and for what is too long."""
    secrets = secret_values(before) | secret_values(after)
    found: JsonObject = {"from": before.revision, "to": after.revision}
    truncated: list[Json] = []
    for part in DIFF_PARTS:
        found[part] = diff = _part_diff(part, before, after, secrets) if part in parts else None
        if part in parts and diff is None:
            truncated.append(part)
        elif diff is not None and len(diff) > DIFF_CHARACTERS_MAX:
            found[part] = diff[: diff.rfind("\n", 0, DIFF_CHARACTERS_MAX) + 1]
            truncated.append(part)
    return {**found, "truncated": truncated}


def _part_diff(part: str, before: ReleaseRecord, after: ReleaseRecord, secrets: Collection[str]) -> str | None:
    old, new = _text_of(part, before), _text_of(part, after)
    if old == new:
        return ""
    if max(len(old), len(new)) > COMPARED_CHARACTERS_MAX:
        return None
    if part == MANIFEST:
        return manifest_diff(old, new, secrets=secrets)
    masking = new_masking()
    mask = _mask_values if part == VALUES else _mask_notes
    return "".join(TextDiffer().diff(part, mask(old, secrets, masking), mask(new, secrets, masking)))


def _text_of(part: str, release: ReleaseRecord) -> str:
    if part == VALUES:
        return dump_values_text(release.config) if not deeper_than(release.config, MAX_DEPTH) else WITHHELD
    return release.manifest if part == MANIFEST else f"{release.notes.rstrip()}\n"


def _mask_values(text: str, secrets: Collection[str], masking: MaskFactory) -> str:
    masked = mask_values_text(text, make_mask=masking)
    # The mask of all of it shows at least whether two of them are equal.
    return f"{WITHHELD}# {masking(text)}\n" if masked is None else mask_text(masked, secrets=secrets, make_mask=masking)


def _mask_notes(text: str, secrets: Collection[str], masking: MaskFactory) -> str:
    return mask_secrets(mask_text(text, secrets=secrets, make_mask=masking), masking)
