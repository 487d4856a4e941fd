"""The store of ChartArchives: their entries, filters and watch. It holds their metadata only, never a chart.

What an entry shows comes from labels and annotations, which anyone who may change the ChartArchive can write, so its
texts are cut. The chart itself is checked when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from xapp_operator.api.chart_archive import APP_VERSION_MAX, CHART_NAME_MAX, CHART_VERSION_MAX, DESCRIPTION_MAX
from xapp_operator.api.json import JsonObject, obj, pack_json, text
from xapp_operator.api.names import (
    ANNOTATION_APP_VERSION,
    ANNOTATION_CHART_DIGEST,
    ANNOTATION_CHART_SIZE,
    ANNOTATION_DESCRIPTION,
    ANNOTATION_KEEP,
    LABEL_CHART,
    LABEL_CHART_VERSION,
)
from xapp_operator.api.spec_parts import DIGEST_MAX
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.object_store import FilterValues, WatchedStore
from xapp_operator.gateway.catalog.store_history import SortKey
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_ARCHIVES

ARCHIVE_SORTS: Final = ("created", "name")
"""What the list sorts by, in the order of `ArchiveEntry.sort_keys`; the first is the default."""
_SIZE_DIGITS_MAX: Final = 9


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One ChartArchive as the gateway keeps it; `record_json` is its record in the list.

    Texts that the ChartArchive does not say are empty.
    """

    namespace: str
    name: str
    uid: str
    chart: str
    version: str
    app_version: str
    description: str
    digest: str
    created_at: str
    record_json: bytes
    sort_keys: tuple[SortKey, ...]
    search_text: str

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory its texts take."""
        return len(self.record_json) + len(self.search_text)


def build_archive_entry(raw: JsonObject) -> ArchiveEntry:
    metadata = obj(raw, "metadata")
    labels, annotations = obj(metadata, "labels"), obj(metadata, "annotations")
    name, namespace, uid = (text(metadata, field) for field in ("name", "namespace", "uid"))
    chart = (text(annotations, LABEL_CHART) or text(labels, LABEL_CHART))[:CHART_NAME_MAX]
    version = (text(annotations, LABEL_CHART_VERSION) or text(labels, LABEL_CHART_VERSION))[:CHART_VERSION_MAX]
    app_version = text(annotations, ANNOTATION_APP_VERSION)[:APP_VERSION_MAX]
    description = text(annotations, ANNOTATION_DESCRIPTION)[:DESCRIPTION_MAX]
    digest, size = text(annotations, ANNOTATION_CHART_DIGEST)[:DIGEST_MAX], text(annotations, ANNOTATION_CHART_SIZE)
    created_at = text(metadata, "creationTimestamp")
    record: JsonObject = {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "chart": {
            "name": chart or None,
            "version": version or None,
            "appVersion": app_version or None,
            "description": description or None,
        },
        "digest": digest or None,
        "size": int(size) if size.isascii() and size.isdigit() and len(size) <= _SIZE_DIGITS_MAX else None,
        "keep": text(annotations, ANNOTATION_KEEP) == "true",
        "createdAt": created_at or None,
    }
    return ArchiveEntry(
        namespace=namespace,
        name=name,
        uid=uid,
        chart=chart,
        version=version,
        app_version=app_version,
        description=description,
        digest=digest,
        created_at=created_at,
        record_json=pack_json(record),
        sort_keys=((created_at, uid), (name, uid)),
        search_text=f"{name}\n{chart}\n{version}".casefold(),
    )


class ArchiveFilters(NamedTuple):
    """The filters of the list of ChartArchives."""

    namespace: FilterValues = ()
    chart: FilterValues = ()
    version: FilterValues = ()
    search: FilterValues = ()

    def predicate(self) -> Callable[[ArchiveEntry], bool] | None:
        if not any(self[1:]):
            return None
        charts, versions, searches = self.chart, self.version, tuple(each.casefold() for each in self.search)
        return lambda entry: (
            (not searches or any(each in entry.search_text for each in searches))
            and (not charts or entry.chart in charts)
            and (not versions or entry.version in versions)
        )


WatchedArchives: TypeAlias = WatchedStore[ArchiveEntry]


def watch_archives(kube: KubeClient, settings: Settings) -> WatchedArchives:
    return WatchedStore(
        kube,
        settings,
        CHART_ARCHIVES,
        sorts=ARCHIVE_SORTS,
        build_entry=build_archive_entry,
        plural_name="chart archives",
        metadata_only=True,
    )
