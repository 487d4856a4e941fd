"""Uploaded charts as ChartArchives `<chart>-<version>-<first 12 hex digits of the sha256>`.

They are written with the caller's token, so that the audit log shows who uploaded a chart. The operator manages their
owners and deletes those that nobody owns.
"""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xapp_operator.api.chart_archive import APP_VERSION_MAX, DESCRIPTION_MAX
from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.names import (
    ANNOTATION_APP_VERSION,
    ANNOTATION_CHART_DIGEST,
    ANNOTATION_CHART_SIZE,
    ANNOTATION_DESCRIPTION,
    ANNOTATION_KEEP,
    ANNOTATION_RELEASED_AT,
    API_VERSION,
    ARCHIVE_KIND,
    LABEL_CHART,
    LABEL_CHART_VERSION,
)
from xapp_operator.api.spec_parts import ArchiveSource
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.text import rfc3339
from xapp_operator.domain.control_characters import on_one_line
from xapp_operator.domain.naming import archive_name, label_text
from xapp_operator.errors import AccessDenied, AlreadyExists, Conflict, IdentityConflict, NextRequest, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.referenced_data import StoredArchive, archive_reference, read_archive
from xapp_operator.kube.resources import CHART_ARCHIVES, XAPPS

CREATE_ATTEMPTS: Final = 5
ARCHIVES_IN_MEMORY_MAX: Final = 8
"""Archives that are written or read at a time; each takes up to 8 MiB meanwhile."""


@dataclass(frozen=True, slots=True)
class UploadedChart:
    """A valid chart: its temporary file, its bytes, its content, and its provenance file if one was sent."""

    path: Path
    data: bytes
    info: ChartInfo
    provenance: str | None = None

    @property
    def archive_name(self) -> str:
        return archive_name(self.info.name, self.info.version, self.info.digest)

    @property
    def archive(self) -> JsonObject:
        """Return `spec.archive` of an XApp that uses it."""
        return {"chartArchiveRef": {"name": self.archive_name}, "digest": f"sha256:{self.info.digest}"}


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """The metadata of the ChartArchive with an uploaded chart, and whether this request has created it."""

    metadata: JsonObject
    created: bool


class ArchiveStorage:
    """Writes and reads ChartArchives with a caller's client; `own_client` tells which of their owners still exist.

    Each is in memory several times meanwhile, so that only some are written or read at a time.
    """

    def __init__(self, own_client: KubeClient) -> None:
        self._own_client = own_client
        self._slots = FairSlots(ARCHIVES_IN_MEMORY_MAX)

    async def ensure(
        self, client: KubeClient, chart: UploadedChart, *, namespace: str, keep: bool = False
    ) -> StoredUpload:
        """Ensure that `namespace` has a ChartArchive with `chart`.

        An existing one is compared and reused. References to deleted owners are removed from it and its time without
        an owner starts again, so that neither the garbage collector nor the operator deletes it before the XApp owns
        it. With `keep`, it has no owners and is never deleted by either.

        Raises:
            IdentityConflict: when one of that name has another chart.
            KubeError: when the caller may not write it, or the cluster refuses it.
        """
        async with self._slots.slot(namespace):
            body = await asyncio.to_thread(_archive_body, chart, namespace=namespace, keep=keep)
            for _ in range(CREATE_ATTEMPTS):
                try:
                    created = await client.create(CHART_ARCHIVES, body)
                    return StoredUpload(obj(created, "metadata"), created=True)
                except AlreadyExists:
                    with suppress(NotFound, Conflict):
                        return await self._reuse(client, body, keep=keep)
        raise Conflict(f"the ChartArchive {chart.archive_name} keeps changing: send the request again")

    async def read(self, client: KubeReader, archive: ArchiveSource | None, *, namespace: str) -> StoredArchive:
        """Return the archive that `spec.archive` of an XApp refers to.

        Raises:
            AccessDenied: when the caller may not read the object; names it and the missing right.
            FormInvalid, ChartNotFound, KubeError: as `read_archive`.
        """
        try:
            async with self._slots.slot(namespace):
                return await read_archive(client, archive, namespace=namespace)
        except AccessDenied as error:
            reference = archive_reference(archive)
            raise AccessDenied(
                f"the chart is in the {reference.kind} {reference.name}, which you may not read: {error.message}",
                errors=error.errors,
                missing=error.missing,
            ) from None

    async def _reuse(self, client: KubeClient, wanted: JsonObject, *, keep: bool) -> StoredUpload:
        name, namespace = (text(obj(wanted, "metadata"), field) for field in ("name", "namespace"))
        found = await client.get(CHART_ARCHIVES, name, namespace=namespace)
        metadata = obj(found, "metadata")
        if _identity(found) != _identity(wanted):
            raise IdentityConflict(
                f"the ChartArchive {name} in the namespace {namespace} has another chart than its name says: delete it "
                "and send the request again"
            ).with_next(NextRequest("DELETE", f"/api/charts/{namespace}/{name}"))
        if "deletionTimestamp" in metadata:
            raise Conflict(f"the ChartArchive {name} is being deleted: send the request again in a moment")
        change = await self._reuse_change(metadata, keep=keep)
        provenance = text(obj(wanted, "spec"), "provenance")
        new_spec: JsonObject = {}
        if provenance and provenance != text(obj(found, "spec"), "provenance"):
            new_spec["provenance"] = provenance
        if change or new_spec:
            change["resourceVersion"] = text(metadata, "resourceVersion")
            patch: JsonObject = {"metadata": change, **({"spec": new_spec} if new_spec else {})}
            changed = await client.patch(CHART_ARCHIVES, name, patch, namespace=namespace)
            metadata = obj(changed, "metadata")
        return StoredUpload(metadata, created=False)

    async def _reuse_change(self, metadata: JsonObject, *, keep: bool) -> JsonObject:
        """Return what must change in the metadata before an XApp may rely on the ChartArchive; often nothing."""
        owners = items(metadata, "ownerReferences")
        kept = text(obj(metadata, "annotations"), ANNOTATION_KEEP) == "true"
        if keep or kept:
            change: JsonObject = {} if kept else {"annotations": {ANNOTATION_KEEP: "true"}}
            return change | ({"ownerReferences": []} if owners else {})
        namespace = text(metadata, "namespace")
        alive = [owner for owner in owners if await self._owner_exists(owner, namespace=namespace)]
        if alive and len(alive) == len(owners):
            return {}
        change = {"ownerReferences": list[Json](alive)}
        if not alive:
            change["annotations"] = {ANNOTATION_RELEASED_AT: rfc3339(time.time())}
        return change

    async def _owner_exists(self, owner: JsonObject, *, namespace: str) -> bool:
        try:
            xapp = await self._own_client.get(XAPPS, text(owner, "name"), namespace=namespace, metadata_only=True)
        except NotFound:
            return False
        metadata = obj(xapp, "metadata")
        return text(metadata, "uid") == text(owner, "uid") and "deletionTimestamp" not in metadata


def _archive_body(chart: UploadedChart, *, namespace: str, keep: bool) -> JsonObject:
    info = chart.info
    digest = f"sha256:{info.digest}"
    optional = {
        "appVersion": on_one_line(info.app_version)[:APP_VERSION_MAX],
        "description": on_one_line(info.description)[:DESCRIPTION_MAX],
    }
    labels = {LABEL_CHART: label_text(info.name), LABEL_CHART_VERSION: label_text(info.version)}
    annotations = {
        LABEL_CHART: info.name,
        LABEL_CHART_VERSION: info.version,
        ANNOTATION_CHART_DIGEST: digest,
        ANNOTATION_CHART_SIZE: str(info.size),
        ANNOTATION_APP_VERSION: optional["appVersion"],
        ANNOTATION_DESCRIPTION: optional["description"],
        ANNOTATION_KEEP: "true" if keep else "",
    }
    return {
        "apiVersion": API_VERSION,
        "kind": ARCHIVE_KIND,
        "metadata": {
            "name": chart.archive_name,
            "namespace": namespace,
            "labels": {**labels},
            "annotations": {key: value for key, value in annotations.items() if value},
        },
        "spec": {
            "archive": base64.b64encode(chart.data).decode(),
            "digest": digest,
            **({} if chart.provenance is None else {"provenance": chart.provenance}),
            "chart": {
                "name": info.name,
                "version": info.version,
                **{key: value for key, value in optional.items() if value},
            },
        },
    }


def _identity(archive: JsonObject) -> tuple[str, ...]:
    """Return what makes two ChartArchives the same chart. Anyone can declare any digest, so the bytes count."""
    spec = obj(archive, "spec")
    chart = obj(spec, "chart")
    return text(spec, "archive"), text(spec, "digest"), text(chart, "name"), text(chart, "version")
