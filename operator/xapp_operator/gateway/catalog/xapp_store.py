"""The store of all xApps and its filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.records import FACETS, XAPP_SORTS, XAppEntry


class XAppFilters(NamedTuple):
    """The filters of the list of xApps; None is no filter. The first fields are FACETS, in their order."""

    namespace: str | None = None
    organization: str | None = None
    team: str | None = None
    owner: str | None = None
    phase: str | None = None
    health: str | None = None
    source: str | None = None
    search: str | None = None

    def predicate(self) -> Callable[[XAppEntry], bool] | None:
        """Return the test of all filters but `namespace`; None if there are none."""
        facets = [(at, value) for at, value in enumerate(self[: len(FACETS)]) if at and value is not None]
        search = (self.search or "").casefold()
        if not facets and not search:
            return None

        def matches(entry: XAppEntry) -> bool:
            for at, value in facets:
                if entry.facets[at] != value:
                    return False
            return search in entry.search_text

        return matches


class XAppRecordStore(ObjectStore[XAppEntry]):
    """The entries of all xApps."""

    def __init__(self) -> None:
        super().__init__(sorts=XAPP_SORTS)

    def count_by(self, facet: str) -> dict[str, int]:
        """Return how many xApps have each value of one of FACETS."""
        at = FACETS.index(facet)
        return dict(Counter(entry.facets[at] for entry in self._by_uid.values()))
