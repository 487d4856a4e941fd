"""What `If-Match` of requests that change a ChartRepository expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from xapp_operator.gateway.http.requests.preconditions import ExpectedUid, ExpectedVersion, ObjectTerms

_TERMS: Final = ObjectTerms("repository", deleted="removed", created="saved")


@dataclass(frozen=True, slots=True)
class ExpectedRepository(ExpectedVersion):
    """The ChartRepository that a change is meant for."""

    TERMS: ClassVar[ObjectTerms] = _TERMS


@dataclass(frozen=True, slots=True)
class ExpectedRepositoryUid(ExpectedUid):
    """The uid that a ChartRepository must have to be deleted."""

    TERMS: ClassVar[ObjectTerms] = _TERMS
