"""The sessions that were signed out before they expired. Pure.

Every user can sign in and out as often as they like, and who may create service accounts has as many users as they
like. So the list is bounded for each user and for each group of users. Beyond a bound, entries become one: it ends all
sessions of that user, or of that group, that are not newer than the newest of the entries. Nobody can end a session of
somebody outside their group, or use up the places of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Self

import orjson

from xapp_operator.errors import NotReady
from xapp_operator.gateway.auth.session_cookies import Session

USER_REVOCATIONS_MAX: Final = 16
GROUP_REVOCATIONS_MAX: Final = 64
REVOCATIONS_MAX: Final = 4000
"""Of at most 110 bytes each: a Secret holds 1 MiB."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """One signed-out session, or, with an empty `session`, all of a user; with an empty `user` too, all of a group.

    `issued_at` is that of the newest session that it ends. It can be forgotten after `until`. Ids and digests are
    hexadecimal, times are seconds since 1970.
    """

    session: str
    user: str
    group: str
    issued_at: int
    until: int

    @classmethod
    def of(cls, session: Session) -> Self:
        return cls(session.id.hex(), session.user.hex(), session.group.hex(), session.issued_at, session.expires)


class Revocations:
    """The revocations that all replicas know."""

    def __init__(self, entries: Iterable[Revocation] = ()) -> None:
        self._entries = tuple(entries)
        self._sessions = {each.session for each in self._entries if each.session}
        self._issued_before = {each.user or each.group: each.issued_at for each in self._entries if not each.session}

    def __len__(self) -> int:
        return len(self._entries)

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Return the list that `encode` has written.

        Raises:
            ValueError: for anything else.
        """
        rows = orjson.loads(text) if text else []
        if not isinstance(rows, list):
            raise ValueError("not a list of revocations")  # noqa: TRY004 - of the content, not of the argument
        try:
            return cls(
                Revocation(str(session), str(user), str(group), int(issued_at), int(until))
                for session, user, group, issued_at, until in rows
            )
        except TypeError as error:
            raise ValueError("not a list of revocations") from error

    def encode(self) -> bytes:
        return orjson.dumps(
            [[each.session, each.user, each.group, each.issued_at, each.until] for each in self._entries]
        )

    def ends(self, session: Session) -> bool:
        """Return whether a session was signed out."""
        if session.id.hex() in self._sessions:
            return True
        return any(
            session.issued_at <= self._issued_before.get(owner.hex(), -1) for owner in (session.user, session.group)
        )

    def with_new(self, new: Iterable[Revocation], *, now: int, session_max_seconds: int) -> Self:
        """Return the list with further revocations and without those that nothing needs any more.

        Raises:
            NotReady: when there are REVOCATIONS_MAX of so many users that none can be merged.
        """
        known = {each.session or each.user or each.group: each for each in (*self._entries, *new) if each.until > now}

        def merged(entries: Iterable[Revocation], *, is_group: bool) -> Revocation:
            newest = max(entries, key=lambda each: each.issued_at)
            # A session as old as the newest may outlast it: its token may have had more time left.
            until = newest.issued_at + session_max_seconds
            return Revocation("", "" if is_group else newest.user, newest.group, newest.issued_at, until)

        entries = _merge(
            tuple(known.values()),
            owner=lambda each: each.user,
            limit=USER_REVOCATIONS_MAX,
            merge=lambda group: merged(group, is_group=False),
        )
        entries = _merge(
            entries,
            owner=lambda each: each.group,
            limit=GROUP_REVOCATIONS_MAX,
            merge=lambda group: merged(group, is_group=True),
        )
        if len(entries) > REVOCATIONS_MAX:
            raise NotReady(
                f"{REVOCATIONS_MAX:,} sessions are signed out and not yet expired, which is the limit: try again later"
            )
        return type(self)(entries)


def _merge(
    entries: tuple[Revocation, ...],
    *,
    owner: Callable[[Revocation], str],
    limit: int,
    merge: Callable[[tuple[Revocation, ...]], Revocation],
) -> tuple[Revocation, ...]:
    counts = Counter(owner(each) for each in entries)
    too_many = {name for name, count in counts.items() if name and count > limit}
    kept = tuple(each for each in entries if owner(each) not in too_many)
    return (*kept, *(merge(tuple(each for each in entries if owner(each) == name)) for name in too_many))
