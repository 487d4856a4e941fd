"""`If-Match` of requests that change an object: its uid, the generation of its spec, or both; for its deletion the uid.

The API server itself checks them with the write: uid and generation are those of a resourceVersion, which the write has
as a precondition; a deletion has the uid as one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Self

from starlette.requests import Request

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.common.text import quote_input
from xapp_operator.errors import Conflict, MalformedRequest, PreconditionFailed, ReplacedMeanwhile

WRITE_ATTEMPTS: Final = 10
"""The operator may write the status at the same time."""

_VERSION: Final = re.compile(
    r"(?P<uid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?"
    r"(?:(?(uid)/)(?P<generation>[0-9]{1,18}))?"
)
"""A uid is a UUID. The slash, which no uid has, tells where the generation begins."""

_UID: Final = re.compile(r"[0-9A-Za-z-]{1,128}")
_ANY: Final = "*"


class ObjectTerms(NamedTuple):
    """What messages call a kind of object, its deletion and its creation."""

    noun: str
    deleted: str
    created: str


@dataclass(frozen=True, slots=True)
class ExpectedVersion:
    """The object that a change is meant for; None for any.

    A generation alone does not tell an object from another one of its name: both begin with 1.
    """

    TERMS: ClassVar[ObjectTerms]

    uid: str | None = None
    generation: int | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the header.

        Raises:
            MalformedRequest: when it is neither a generation, nor a uid, nor both.
        """
        rule = f'must be the generation of the {cls.TERMS.noun}, such as "3", its uid, both as in "<uid>/3", or *'
        found = _if_match(request, _VERSION, rule=rule)
        if found is None:
            return cls()
        generation = found["generation"]
        return cls(found["uid"], None if generation is None else int(generation))

    def require(self, current: JsonObject) -> None:
        """Refuse another object of the same name, and one of another generation.

        Raises:
            ReplacedMeanwhile: when it has another uid.
            PreconditionFailed: when it has another generation.
        """
        metadata = obj(current, "metadata")
        name, generation = text(metadata, "name"), integer(metadata, "generation")
        noun, deleted, created = self.TERMS
        if self.uid is not None and text(metadata, "uid") != self.uid.lower():
            raise ReplacedMeanwhile(
                f"the {noun} {name} has another uid than If-Match says: the one that you mean was {deleted}, and this "
                f"one was {created} since. Read it again, and decide whether to send the change for this one"
            )
        if self.generation is not None and generation != self.generation:
            raise PreconditionFailed(
                f"the {noun} {name} has generation {generation}, not {self.generation} as If-Match says: "
                "somebody changed it meanwhile. Read it again, and decide whether to send the change with the new "
                "generation"
            )


@dataclass(frozen=True, slots=True)
class ExpectedUid:
    """The uid that an object must have to be deleted; None for any."""

    TERMS: ClassVar[ObjectTerms]

    value: str | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the header.

        Raises:
            MalformedRequest: when it is not a uid.
        """
        found = _if_match(request, _UID, rule=f"must be the uid of the {cls.TERMS.noun}, or *")
        return cls(None if found is None else found[0])

    def require(self, current: JsonObject) -> None:
        """Refuse another object of the same name.

        Raises:
            ReplacedMeanwhile: says so.
        """
        metadata = obj(current, "metadata")
        if self.value is not None and text(metadata, "uid") != self.value:
            raise self.refusal(text(metadata, "name"))

    def refusal(self, name: str) -> ReplacedMeanwhile:
        """Return the error for another object of that name."""
        return ReplacedMeanwhile(
            f"the {self.TERMS.noun} {name} has another uid than If-Match says: the one that you mean is gone, and this "
            f"one was {self.TERMS.created} since. Read it again before you delete it"
        )


async def replace_spec(
    current: JsonObject,
    *,
    expected: ExpectedVersion,
    write: Callable[[JsonObject], Awaitable[JsonObject]],
    read: Callable[[], Awaitable[JsonObject]],
) -> JsonObject:
    """Replace the spec of an object, even if its status changed since it was read, and return the object as stored.

    Args:
        current: the object as read, which the new spec was made from.
        expected: what it must be.
        write: replaces the spec of the object that it is given, with its resourceVersion as a precondition.
        read: reads it again.

    Raises:
        PreconditionFailed: when it is not the expected object any more.
        Conflict: when another client changed the spec at the same time, or replaced the object by another one.
    """
    version = _version_of(current)
    for _ in range(WRITE_ATTEMPTS):
        try:
            return await write(current)
        except Conflict:
            current = await read()
            expected.require(current)
            if _version_of(current) != version:
                break
    raise Conflict(
        f"the {expected.TERMS.noun} {text(obj(current, 'metadata'), 'name')} was changed at the same time by another "
        "client: check it and send the request again"
    )


def _version_of(current: JsonObject) -> tuple[str, int]:
    """Return what tells whether this is still the same object with the same spec."""
    metadata = obj(current, "metadata")
    return text(metadata, "uid"), integer(metadata, "generation")


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
