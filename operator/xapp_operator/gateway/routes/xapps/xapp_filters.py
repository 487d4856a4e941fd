"""The query parameters that filter xApps: in the list, in the stream of changes, and in the counts of facets."""

from __future__ import annotations

from typing import Final

from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway.catalog.records import SOURCES
from xapp_operator.gateway.catalog.xapp_filters import BOOLEANS, FACETS, RECORD_FACETS, XAppFilters
from xapp_operator.gateway.http.openapi import document_filter
from xapp_operator.gateway.http.requests.query import StrictQuery

XAPP_FILTERS: Final = (*FACETS, "search")

_CHOICES: Final = {
    "phase": tuple(phase.value for phase in Phase),
    "health": tuple(health.value for health in HealthStatus),
    "source": SOURCES,
    "attention": BOOLEANS,
}
XAPP_FILTER_DOCS: Final = (
    *(
        document_filter(
            facet,
            f"Only xApps of this {facet}.",
            schema={"type": "string"} | ({"enum": list(_CHOICES[facet])} if facet in _CHOICES else {}),
        )
        for facet in RECORD_FACETS
    ),
    document_filter(
        "attention",
        "true: only xApps that need a person, because something failed or the operator stopped. false: only others.",
        schema={"type": "boolean"},
    ),
    document_filter(
        "search",
        "Only xApps with this text in name, xAppName, organization, team, owner, chart name, repository name or "
        "message; case-insensitive.",
    ),
)


def read_xapp_filters(query: StrictQuery) -> XAppFilters:
    """Return the filters of a query.

    Raises:
        MalformedRequest: for a phase, health or source that does not exist.
    """
    values = {
        facet: query.choices(facet, _CHOICES[facet]) if facet in _CHOICES else query.texts(facet) for facet in FACETS
    }
    return XAppFilters(**values, search=query.texts("search"))
