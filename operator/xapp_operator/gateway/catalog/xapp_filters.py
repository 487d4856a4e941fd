"""What a list of xApps is filtered by, and the filters. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import HealthStatus, Phase
from xapp_operator.gateway.catalog.object_store import FilterValues

RECORD_FACETS: Final = ("namespace", "organization", "team", "owner", "phase", "health", "source")
"""Facets that are fields of a record."""
FACETS: Final = (*RECORD_FACETS, "attention")
"""What a list filters by equality, in the order of `FilterFields.facets`."""

SEARCH_FIELDS: Final = ("name", "xAppName", "organization", "team", "owner", "message")
"""Fields of a record in which `search` looks; and in the names of its chart and of its repository."""
_SEARCH_SEPARATOR: Final = "\x00"

_TRUE, _FALSE = "true", "false"
BOOLEANS: Final = (_TRUE, _FALSE)

_FAILED_PHASES: Final = frozenset({Phase.FAILED.value, Phase.DEGRADED.value})
_UNINSTALL_REASONS: Final = frozenset({Reason.UNINSTALL_FAILED, Reason.ACCESS_DENIED})
FAILURE_REASONS: Final = _UNINSTALL_REASONS | {
    Reason.INSTALL_FAILED,
    Reason.UPGRADE_FAILED,
    Reason.ROLLBACK_FAILED,
    Reason.HEALTH_CHECK_FAILED,
    Reason.CHART_PULL_FAILED,
    Reason.CHART_INVALID,
    Reason.VALUES_INVALID,
}
"""Reasons of a condition Ready that name a failure, also one after which the operator tries again."""


@dataclass(frozen=True, slots=True)
class FilterFields:
    """What filters look at: the value of each of FACETS, and the text that `search` looks in, casefolded."""

    facets: tuple[str, ...]
    search_text: str

    @classmethod
    def from_record(cls, record: JsonObject, *, facets: Callable[[str], str]) -> FilterFields:
        """Return the fields of a record; `facets` makes one string of equal values."""
        chart = obj(record, "chart")
        searched = [text(record, field) for field in SEARCH_FIELDS] + [text(chart, "name"), text(chart, "repoName")]
        return cls(
            facets=(
                *(facets(text(record, facet)) for facet in RECORD_FACETS),
                _TRUE if needs_attention(record) else _FALSE,
            ),
            search_text=_SEARCH_SEPARATOR.join(searched).casefold(),
        )


def needs_attention(record: JsonObject) -> bool:
    """Return whether an xApp needs a person: something of it failed, or the operator does not go on by itself.

    That is: `stalled`, or phase Failed or Degraded, or health Degraded, or a reason that names a failure. While it is
    uninstalled, its objects end and its old state does not count: then only a failed or forbidden uninstall does.
    """
    reason, phase = text(record, "reason"), text(record, "phase")
    if phase == Phase.UNINSTALLING:
        return reason in _UNINSTALL_REASONS
    return (
        record.get("stalled") is True
        or phase in _FAILED_PHASES
        or text(record, "health") == HealthStatus.DEGRADED
        or reason in FAILURE_REASONS
    )


class HasFilterFields(Protocol):
    @property
    def filter_fields(self) -> FilterFields: ...


class XAppFilters(NamedTuple):
    """The filters of the list of xApps. The first fields are FACETS, in their order."""

    namespace: FilterValues = ()
    organization: FilterValues = ()
    team: FilterValues = ()
    owner: FilterValues = ()
    phase: FilterValues = ()
    health: FilterValues = ()
    source: FilterValues = ()
    attention: FilterValues = ()
    search: FilterValues = ()

    def matcher(self) -> Callable[[FilterFields], bool] | None:
        """Return the test of all filters but `namespace`; None if there are none."""
        facets = [(at, values) for at, values in enumerate(self[: len(FACETS)]) if at and values]
        searches = tuple(each.casefold() for each in self.search)
        if not facets and not searches:
            return None

        def matches(fields: FilterFields) -> bool:
            for at, values in facets:
                if fields.facets[at] not in values:
                    return False
            return not searches or any(each in fields.search_text for each in searches)

        return matches

    def predicate(self) -> Callable[[HasFilterFields], bool] | None:
        """Return the test of all filters but `namespace` for an entry; None if there are none."""
        matches = self.matcher()
        return None if matches is None else lambda entry: matches(entry.filter_fields)
