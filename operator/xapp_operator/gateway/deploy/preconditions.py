"""`If-Match` of requests that change an XApp: its uid, the generation of its spec, or both; for its deletion the uid.

The API server itself checks them with the write: uid and generation are those of a resourceVersion, which the write has
as a precondition; a deletion has the uid as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from starlette.requests import Request

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.common.text import quote_input
from xapp_operator.errors import Conflict, MalformedRequest, PreconditionFailed, ReplacedMeanwhile
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS

PATCH_ATTEMPTS: Final = 10
"""The operator may write the status at the same time."""

_VERSION: Final = re.compile(
    r"(?P<uid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?"
    r"(?:(?(uid)/)(?P<generation>[0-9]{1,18}))?"
)
"""A uid is a UUID. The slash, which no uid has, tells where the generation begins."""

_UID: Final = re.compile(r"[0-9A-Za-z-]{1,128}")
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class ExpectedXApp:
    """The XApp that a change is meant for; None for any.

    A generation alone does not tell an XApp from another one of its name: both begin with 1.
    """

    uid: str | None = None
    generation: int | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the header.

        Raises:
            MalformedRequest: when it is neither a generation, nor a uid, nor both.
        """
        rule = 'must be the generation of the xApp, such as "3", its uid, both as in "<uid>/3", or *'
        found = _if_match(request, _VERSION, rule=rule)
        if found is None:
            return cls()
        generation = found["generation"]
        return cls(found["uid"], None if generation is None else int(generation))

    def require(self, xapp: JsonObject) -> None:
        """Refuse another XApp of the same name, and one of another generation.

        Raises:
            ReplacedMeanwhile: when it has another uid.
            PreconditionFailed: when it has another generation.
        """
        metadata = obj(xapp, "metadata")
        name, current = text(metadata, "name"), integer(metadata, "generation")
        if self.uid is not None and text(metadata, "uid") != self.uid.lower():
            raise ReplacedMeanwhile(
                f"the xApp {name} has another uid than If-Match says: the one that you mean was uninstalled, and this "
                "one was deployed since. Read it again, and decide whether to send the change for this one"
            )
        if self.generation is not None and current != self.generation:
            raise PreconditionFailed(
                f"the xApp {name} has generation {current}, not {self.generation} as If-Match says: "
                "somebody changed it meanwhile. Read it again, and decide whether to send the change with the new "
                "generation"
            )


ANY_XAPP: Final = ExpectedXApp()


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
        found = _if_match(request, _UID, rule="must be the uid of the xApp, or *")
        return cls(None if found is None else found[0])

    def require(self, xapp: JsonObject) -> None:
        """Refuse another XApp of the same name.

        Raises:
            ReplacedMeanwhile: says so.
        """
        metadata = obj(xapp, "metadata")
        if self.value is not None and text(metadata, "uid") != self.value:
            raise self.refusal(text(metadata, "name"))

    def refusal(self, name: str) -> ReplacedMeanwhile:
        """Return the error for another XApp of that name."""
        return ReplacedMeanwhile(
            f"the xApp {name} has another uid than If-Match says: the one that you mean is gone, and this one was "
            "deployed since. Read it again before you delete it"
        )


def _if_match(request: Request, pattern: re.Pattern[str], *, rule: str) -> re.Match[str] | None:
    given = ", ".join(request.headers.getlist("if-match")).strip()
    if not given or given == _ANY:
        return None
    quoted = given.startswith('"') and given.endswith('"')
    value = given[1:-1] if quoted else given
    found = pattern.fullmatch(value)
    if found is None or not value:
        raise MalformedRequest.for_field("If-Match", f"{rule}, not {quote_input(given)}")
    return found


async def patch_xapp(
    client: KubeClient,
    *,
    namespace: str,
    name: str,
    expected: ExpectedXApp,
    change: Callable[[JsonObject], JsonObject],
) -> JsonObject:
    """Apply a merge patch to the version of an XApp that it was made for, and return the XApp as stored.

    Args:
        client: the caller's.
        namespace: of the XApp.
        name: of the XApp.
        expected: what it must be.
        change: returns the patch for the current XApp, or raises.

    Raises:
        NotFound: when there is no such XApp.
        PreconditionFailed: when it is not the expected one.
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
