"""The ChartArchives of a namespace as the index of a Helm repository (`index.yaml`), in JSON, which is YAML too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Final
from urllib.parse import quote

from cachetools import LRUCache

from xapp_operator.api.json import Json, JsonObject, encode_json
from xapp_operator.charts.chart_request import sha256_digits
from xapp_operator.charts.versions import parse_version
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.gateway.catalog.archive_store import ARCHIVE_SORTS, ArchiveEntry, ArchiveFilters
from xapp_operator.gateway.catalog.object_store import ObjectStore

ENTRIES_MAX: Final = 5_000
"""Newest ChartArchives of a namespace that its index may have."""
INDEXES_MAX: Final = 32
"""Indexes that are kept in memory, one for each namespace."""
BUILDS_MAX: Final = 2
"""Indexes that are built at a time. Each build of a full index takes about 0.1 s of CPU."""
ANNOTATION_LEFT_OUT: Final = "xapp-operator.io/left-out"
"""Annotation of an index: how many ChartArchives it lacks because of ENTRIES_MAX."""
_EMPTY_GENERATED: Final = "1970-01-01T00:00:00Z"


class RepositoryIndexes:
    """The repository index of each namespace, built again only after a ChartArchive of that namespace has changed.

    Requests at the same time share one build. Only some indexes are built at a time, and apart from the event loop.
    """

    def __init__(self) -> None:
        self._indexes: LRUCache[str, tuple[int, bytes]] = LRUCache(INDEXES_MAX)
        self._builds: SingleFlight[str, tuple[int, bytes]] = SingleFlight()
        self._slots = FairSlots(BUILDS_MAX)

    async def get(self, store: ObjectStore[ArchiveEntry], *, namespace: str) -> bytes:
        """Return an index with every change before this call. Of one chart and version, it has the newest archive."""
        wanted = store.namespace_version(namespace)
        known = self._indexes.get(namespace)
        while known is None or known[0] < wanted:
            known = await self._builds.run(namespace, partial(self._build, store, namespace))
        return known[1]

    async def _build(self, store: ObjectStore[ArchiveEntry], namespace: str) -> tuple[int, bytes]:
        async with self._slots.slot(namespace):
            version = store.namespace_version(namespace)
            view = store.select(ArchiveFilters(namespace=(namespace,)), sort=ARCHIVE_SORTS[0])
            total = len(view)
            newest = view[max(0, total - ENTRIES_MAX) :]
            index = await asyncio.to_thread(lambda: encode_json(build_index(newest, left_out=total - len(newest))))
        self._indexes[namespace] = version, index
        return version, index


def chart_file_name(archive: ArchiveEntry) -> str:
    """Return the name that `helm package` gives to the chart."""
    return f"{archive.chart}-{archive.version}.tgz"


def build_index(archives: Iterable[ArchiveEntry], *, left_out: int = 0) -> JsonObject:
    """Return the index of `archives`, which are sorted by creation; an annotation tells how many older ones it lacks.

    An archive that does not say its chart, its digest or a SemVer version is left out. The URL of a chart is relative
    to that of the index. It ends in the file name of the chart, because provenance files name that file.
    """
    newest: dict[tuple[str, str], ArchiveEntry] = {}
    generated = _EMPTY_GENERATED
    for each in archives:
        generated = max(generated, each.created_at)
        if each.chart and parse_version(each.version) is not None and sha256_digits(each.digest) is not None:
            newest[each.chart, each.version] = each
    entries: dict[str, list[Json]] = {}
    for chart, version in sorted(newest, key=lambda key: (key[0], parse_version(key[1]), key[1]), reverse=True):
        archive = newest[chart, version]
        entry: JsonObject = {
            "apiVersion": "v2",
            "name": chart,
            "version": version,
            "appVersion": archive.app_version,
            "description": archive.description,
            "digest": sha256_digits(archive.digest),
            "created": archive.created_at,
            "urls": [f"{archive.name}/{quote(chart_file_name(archive), safe='+')}"],
        }
        entries.setdefault(chart, []).append({key: value for key, value in entry.items() if value})
    index: JsonObject = {"apiVersion": "v1", "entries": {**dict(sorted(entries.items()))}, "generated": generated}
    if left_out:
        index["annotations"] = {ANNOTATION_LEFT_OUT: str(left_out)}
    return index
