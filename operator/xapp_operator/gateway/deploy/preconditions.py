"""`If-Match` of requests that change an XApp: the generation of its spec, or for its deletion the uid.

The API server itself checks them with the write: the generation is that of a resourceVersion, which the write has as a
precondition, and so is the uid.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from starlette.requests import Request

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.common.text import quote_input
from xapp_operator.errors import Conflict, MalformedRequest, PreconditionFailed
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS

PATCH_ATTEMPTS: Final = 10
"""The operator may write the status at the same time."""

_GENERATION: Final = re.compile(r"[0-9]{1,18}")
_UID: Final = re.compile(r"[0-9A-Za-z-]{1,128}")
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class ExpectedGeneration:
    """The generation that an XApp must have for a change; None for any."""

    value: int | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the header.

        Raises:
            MalformedRequest: when it is not a generation.
        """
        found = _if_match(request, _GENERATION, rule='must be the generation of the xApp, such as "3", or *')
        return cls(None if found is None else int(found))

    def require(self, xapp: JsonObject) -> None:
        """Refuse an XApp of another generation.

        Raises:
            PreconditionFailed: names both generations.
        """
        metadata = obj(xapp, "metadata")
        current = integer(metadata, "generation")
        if self.value is not None and current != self.value:
            raise PreconditionFailed(
                f"the xApp {text(metadata, 'name')} has generation {current}, not {self.value} as If-Match says: "
                "somebody changed it meanwhile. Read it again, and decide whether to send the change with the new "
                "generation"
            )


ANY_GENERATION: Final = ExpectedGeneration()


@dataclass(frozen=True, slots=True)
class ExpectedUid:
    """The uid that an XApp must have to be deleted; None for any."""

    value: str | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the header.

        Raises:
            MalformedRequest: when it is not a uid.
        """
        return cls(_if_match(request, _UID, rule="must be the uid of the xApp, or *"))

    def require(self, xapp: JsonObject) -> None:
        """Refuse another XApp of the same name.

        Raises:
            PreconditionFailed: says so.
        """
        metadata = obj(xapp, "metadata")
        if self.value is not None and text(metadata, "uid") != self.value:
            raise self.refusal(text(metadata, "name"))

    def refusal(self, name: str) -> PreconditionFailed:
        """Return the error for another XApp of that name."""
        return PreconditionFailed(
            f"the xApp {name} has another uid than If-Match says: the one that you mean is gone, and this one was "
            "deployed since. Read it again before you delete it"
        )


def _if_match(request: Request, pattern: re.Pattern[str], *, rule: str) -> str | None:
    given = ", ".join(request.headers.getlist("if-match")).strip()
    if not given or given == _ANY:
        return None
    quoted = given.startswith('"') and given.endswith('"')
    value = given[1:-1] if quoted else given
    if pattern.fullmatch(value) is None:
        raise MalformedRequest.for_field("If-Match", f"{rule}, not {quote_input(given)}")
    return value


async def patch_xapp(
    client: KubeClient,
    *,
    namespace: str,
    name: str,
    expected: ExpectedGeneration,
    change: Callable[[JsonObject], JsonObject],
) -> JsonObject:
    """Apply a merge patch to the version of an XApp that it was made for, and return the XApp as stored.

    Args:
        client: the caller's.
        namespace: of the XApp.
        name: of the XApp.
        expected: its generation.
        change: returns the patch for the current XApp, or raises.

    Raises:
        NotFound: when there is no such XApp.
        PreconditionFailed: when it has another generation.
        Conflict: when other clients change it again and again.
    """
    for _ in range(PATCH_ATTEMPTS):
        current = await client.get(XAPPS, name, namespace=namespace)
        expected.require(current)
        patch = change(current)
        version = text(obj(current, "metadata"), "resourceVersion")
        patch = {**patch, "metadata": {**obj(patch, "metadata"), "resourceVersion": version}}
        try:
            return await client.patch(XAPPS, name, patch, namespace=namespace)
        except Conflict:
            continue
    raise Conflict(f"other clients keep changing the xApp {name}: send the request again")
