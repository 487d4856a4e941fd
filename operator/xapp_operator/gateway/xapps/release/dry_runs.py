"""What a change would do to the objects of a release: the answer of every dry run, secrets masked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from xapp_operator.api.json import Json, JsonObject, encode_json
from xapp_operator.api.models import XAppSpec
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.masking.redaction import redact, secret_texts
from xapp_operator.errors import AccessDenied
from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.charts.existing_objects import ExistingObjects
from xapp_operator.gateway.charts.rendering import RenderedChart
from xapp_operator.gateway.xapps.release.manifest_diff import ObjectChange, compare_manifests
from xapp_operator.gateway.xapps.release_records import get_deployed_release, get_release_to_adopt
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes
from xapp_operator.helm.releases.release_storage import ReleaseRecord
from xapp_operator.kube.client import KubeClient

NO_DIFF_WARNING: Final = "There is no diff, because you may not read the deployed release (get secrets)."
NOTHING_TO_ADOPT_WARNING: Final = (
    "There is no Helm release {} in this namespace to adopt: the chart is installed, and takes over those of its "
    "objects that exist already."
)
UNKNOWN_EXISTENCE_WARNING: Final = (
    "It is not known which of {} exist already: you may not read them, they are too many, or the API server did not "
    "answer in time."
)
STORED_WARNING: Final = "A rollback applies what Helm has stored of that revision. Nothing is rendered again."


async def describe_new(rendered: RenderedChart) -> bytes:
    """Return the answer of a dry run of a new deployment as JSON: all objects are created, or taken over."""
    return await asyncio.to_thread(_describe, rendered, secrets=rendered.secrets, before="", with_diff=False)


async def describe_upgrade(
    client: KubeClient, entry: XAppEntry | None, rendered: RenderedChart, *, known: Iterable[JsonObject] = ()
) -> bytes:
    """Return the answer of a dry run of a change as JSON, compared with the deployed release.

    Args:
        client: the caller's client, which reads the release.
        entry: the xApp; None if its record is not there yet.
        rendered: the new objects.
        known: further values whose secrets must not be shown.

    Raises:
        HelmError: for a release that cannot be read.
    """
    try:
        release = None if entry is None else await get_deployed_release(client, entry)
    except AccessDenied:
        return await _compare_with_release(rendered, None, is_readable=False, known=known)
    return await _compare_with_release(rendered, release, known=known)


@dataclass(frozen=True, slots=True)
class ReleaseToAdopt:
    """The release that a new XApp takes over; `record` is None if there is none, or the caller may not read it."""

    name: str
    record: ReleaseRecord | None = field(repr=False)
    is_readable: bool = True

    @classmethod
    async def read(cls, client: KubeClient, spec: XAppSpec, name: str) -> ReleaseToAdopt:
        """Return the release that the XApp `name` would adopt.

        Raises:
            HelmError: for a release that cannot be read.
        """
        release = spec.release_name or name
        try:
            return cls(release, await get_release_to_adopt(client, spec.namespace, release))
        except AccessDenied:
            return cls(release, None, is_readable=False)


async def describe_adoption(rendered: RenderedChart, adopted: ReleaseToAdopt) -> bytes:
    """Return the answer of a dry run of a deployment that adopts a release as JSON, compared with that release."""
    if adopted.record is None and adopted.is_readable:
        warning = NOTHING_TO_ADOPT_WARNING.format(adopted.name)
        return await describe_new(replace(rendered, warnings=(*rendered.warnings, warning)))
    return await _compare_with_release(rendered, adopted.record, is_readable=adopted.is_readable)


async def _compare_with_release(
    rendered: RenderedChart,
    release: ReleaseRecord | None,
    *,
    is_readable: bool = True,
    known: Iterable[JsonObject] = (),
) -> bytes:
    def describe() -> bytes:
        values = [rendered.values, *known, *((release.chart.values, release.config) if release is not None else ())]
        secrets = frozenset[str]().union(*map(secret_texts, values))
        if not is_readable:
            return _describe(rendered, secrets=secrets, before=None, warnings=(NO_DIFF_WARNING,))
        return _describe(rendered, secrets=secrets, before="" if release is None else release.manifest)

    return await asyncio.to_thread(describe)


async def describe_rollback(target: ReleaseRecord, deployed: ReleaseRecord | None) -> bytes:
    """Return the answer of a dry run of a rollback as JSON: the stored objects of a revision."""

    def describe() -> bytes:
        merged = merge_values(target.chart.values, target.config)
        known = [merged, *((deployed.chart.values, deployed.config) if deployed is not None else ())]
        secrets = frozenset[str]().union(*map(secret_texts, known))
        changes = compare_manifests("" if deployed is None else deployed.manifest, target.manifest, secrets=secrets)
        return encode_json(
            {
                "manifest": mask_manifest(target.manifest, secrets=secrets),
                "notes": mask_notes(target.notes, secrets=secrets),
                "values": redact(merged),
                "warnings": [STORED_WARNING],
                "diff": changes.diff,
                "objects": _objects_json(changes.objects),
                "rendered": "offline",
            }
        )

    return await asyncio.to_thread(describe)


def _describe(
    rendered: RenderedChart,
    *,
    secrets: frozenset[str],
    before: str | None,
    with_diff: bool = True,
    warnings: tuple[str, ...] = (),
) -> bytes:
    """Return the answer; `before` is None if what runs is not known."""
    changes = compare_manifests(before or "", rendered.manifest, secrets=secrets)
    objects = () if rendered.stopped else _with_existing(changes.objects, rendered.existing)
    unknown = sum(change is None for _, change in objects) if before is not None else 0
    if unknown:
        warnings = (*warnings, UNKNOWN_EXISTENCE_WARNING.format(f"{unknown} objects" if unknown > 1 else "1 object"))
    return encode_json(
        {
            "manifest": mask_manifest(rendered.manifest, secrets=secrets),
            "notes": mask_notes(rendered.notes, secrets=secrets),
            "values": rendered.masked_values,
            "warnings": [*(mask_notes(each, secrets=secrets) for each in rendered.warnings), *warnings],
            "diff": changes.diff if with_diff and before is not None and not rendered.stopped else None,
            "objects": _objects_json((each, change if before is not None else None) for each, change in objects),
            "rendered": "server" if rendered.on_server else "offline",
        }
    )


def _with_existing(
    objects: Iterable[tuple[ObjectRef, ObjectChange]], existing: ExistingObjects
) -> list[tuple[ObjectRef, ObjectChange | None]]:
    """Return what becomes of each object if those outside of the release are taken over."""
    taken: dict[bool | None, ObjectChange | None] = {
        True: ObjectChange.CHANGE,
        False: ObjectChange.CREATE,
        None: None,
    }
    return [
        (each, taken[existing.get(replace(each, expires=False), False)] if change is ObjectChange.CREATE else change)
        for each, change in objects
    ]


def _objects_json(objects: Iterable[tuple[ObjectRef, ObjectChange | None]]) -> list[Json]:
    return [
        {
            "apiVersion": each.api_version or None,
            "kind": each.kind,
            "namespace": each.namespace or None,
            "name": each.name,
            "change": None if change is None else str(change),
        }
        for each, change in objects
    ]
