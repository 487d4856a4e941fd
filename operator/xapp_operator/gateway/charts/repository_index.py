"""The ChartArchives of a namespace as the index of a Helm repository (`index.yaml`), in JSON, which is YAML too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from cachetools import LRUCache

from xapp_operator.api.json import Json, JsonObject, encode_json
from xapp_operator.charts.chart_request import sha256_digits
from xapp_operator.charts.versions import parse_version
from xapp_operator.gateway.catalog.archive_store import ARCHIVE_SORTS, ArchiveEntry, ArchiveFilters
from xapp_operator.gateway.catalog.object_store import ObjectStore

ENTRIES_MAX: Final = 5_000
"""Newest ChartArchives of a namespace that its index may have."""
INDEXES_MAX: Final = 32
"""Indexes that are kept in memory, one for each namespace."""
_EMPTY_GENERATED: Final = "1970-01-01T00:00:00Z"


class RepositoryIndexes:
    """The repository index of each namespace, built again only after a ChartArchive has changed."""

    def __init__(self) -> None:
        self._indexes: LRUCache[str, tuple[int, bytes]] = LRUCache(INDEXES_MAX)

    async def get(self, store: ObjectStore[ArchiveEntry], *, namespace: str) -> bytes:
        """Return the index. Of several archives with the same chart and version, it has the newest."""
        known = self._indexes.get(namespace)
        version = store.version
        if known is not None and known[0] == version:
            return known[1]
        view = store.select(ArchiveFilters(namespace=namespace), sort=ARCHIVE_SORTS[0])
        newest = view[max(0, len(view) - ENTRIES_MAX) :]
        index = await asyncio.to_thread(lambda: encode_json(build_index(newest)))
        self._indexes[namespace] = (version, index)
        return index


def chart_file_name(archive: ArchiveEntry) -> str:
    """Return the name that `helm package` gives to the chart."""
    return f"{archive.chart}-{archive.version}.tgz"


def build_index(archives: Iterable[ArchiveEntry]) -> JsonObject:
    """Return the index of `archives`, which are sorted by creation.

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
    return {"apiVersion": "v1", "entries": {**dict(sorted(entries.items()))}, "generated": generated}
