"""The index of a chart repository in memory: one small record for each version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from xapp_operator.charts.chart_request import sha256_digits
from xapp_operator.charts.sources.index_parser import VERSION_FIELDS
from xapp_operator.common.text import format_bytes
from xapp_operator.errors import ChartSourceError

_VERSION_WEIGHT: Final = 120
_CHART_WEIGHT: Final = 200
_TEXT_WEIGHT: Final = 60
"""Bytes of a record, an entry of a dict, and a text without its characters, as CPython holds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartVersion:
    """One version of a chart in an index; `digest` is as written there, `url` may be relative."""

    version: str
    url: str
    digest: str = ""
    app_version: str = ""
    description: str = ""
    icon: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChartIndex:
    """The charts of a repository; `digest` identifies the state, `fetched_at` is when it was last confirmed."""

    digest: str
    fetched_at: datetime
    charts: dict[str, tuple[ChartVersion, ...]] = field(repr=False)
    """By name; each newest first."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """Of the charts that have versions, sorted."""
    weight: int = field(default=0, compare=False)
    """About how many bytes of memory it takes."""

    def versions(self, chart: str) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, newest first; none for an unknown chart."""
        return self.charts.get(chart, ())

    def latest(self, chart: str) -> ChartVersion:
        """Return the newest release of one of `names`, like `helm search repo`, or else its newest pre-release."""
        versions = self.charts[chart]
        return next((entry for entry in versions if "-" not in entry.version.partition("+")[0]), versions[0])

    def search(self, text: str) -> list[str]:
        """Return the `names` that have `search` in name or description, ignoring case; takes some µs for each chart."""
        needle = text.casefold()
        return [
            name
            for name in self.names
            if needle in name.casefold() or needle in self.latest(name).description.casefold()
        ]


class IndexBuilder:
    """Collects the batches of `index_parser.py` into a ChartIndex; equal texts are kept once."""

    def __init__(self, *, max_weight: int) -> None:
        self._charts: dict[str, list[ChartVersion]] = {}
        self._texts: dict[str, str] = {}
        self._max_weight = max_weight
        self._weight = 0

    def add(self, name: str, versions: Iterable[Iterable[str]], *, continues: bool) -> None:
        """Add versions of a chart; unless the batch `continues` the one before, they replace those of that name.

        Raises ChartSourceError (permanent) when the index becomes too large.
        """
        chart = self._charts.setdefault(name, [])
        if not continues:
            chart.clear()
        self._weight += _CHART_WEIGHT
        for fields in versions:
            self._weight += _VERSION_WEIGHT
            chart.append(ChartVersion(**dict(zip(VERSION_FIELDS, map(self._intern, fields), strict=True))))
        if self._weight > self._max_weight:
            raise index_has_too_many_bytes(self._max_weight, parsed=True)

    def build(self, digest: str) -> ChartIndex:
        """Return the index; `digest` is that of its bytes."""
        charts = {name: tuple(versions) for name, versions in self._charts.items()}
        names = tuple(sorted(name for name, versions in charts.items() if versions))
        return ChartIndex(digest, datetime.now(UTC), charts, names, self._weight)

    def _intern(self, text: str) -> str:
        known = self._texts.setdefault(text, text)
        if known is text:
            self._weight += _TEXT_WEIGHT + len(text)
        return known


def archive_digest(entry: ChartVersion) -> str | None:
    """Return the 64 hex digits of the archive's digest, or None when the index has none.

    Raises ChartSourceError (permanent) for another kind of digest, like Helm 4.
    """
    if not entry.digest:
        return None
    digits = sha256_digits(entry.digest)
    if digits is None:
        raise invalid_index(f"the digest of version {entry.version} is not a sha256")
    return digits


def index_too_large(bound: str, *, mend: str = "Use a smaller repository.") -> ChartSourceError:
    """Return the error for an index beyond `bound` (`more than 64 bytes`)."""
    return ChartSourceError(f"the index.yaml of the repository has {bound}. {mend}", permanent=True)


def index_has_too_many_bytes(max_bytes: int, *, parsed: bool = False) -> ChartSourceError:
    """Return the error for an index of more than `max_bytes`, as text or, if `parsed`, in memory."""
    return index_too_large(
        f"more than {format_bytes(max_bytes)}{' when it is parsed' if parsed else ''}",
        mend="Raise XAPP_INDEX_MAX_BYTES or use a smaller repository.",
    )


def invalid_index(reason: str) -> ChartSourceError:
    """Return the error for an index that is refused for `reason`, a clause."""
    return ChartSourceError(
        f"the index.yaml of the repository is refused: {reason}. Check the URL, and generate the index with "
        "'helm repo index'.",
        permanent=True,
    )
