"""The exact bounds of the list of signed-out sessions; `tests/security/test_session_revocations.py` attacks it."""

from __future__ import annotations

from itertools import count

import pytest

from xapp_operator.errors import NotReady
from xapp_operator.gateway.auth.session_cookies import Session
from xapp_operator.gateway.auth.session_revocations import (
    Revocation,
    Revocations,
)

USER_REVOCATIONS_MAX = 16
GROUP_REVOCATIONS_MAX = 64
REVOCATIONS_MAX = 4000

NOW = 1_800_000_000
MAX_SECONDS = 3600
_numbers = count()


def session(user: str = "jane", group: str = "", *, issued_at: int = NOW, expires: int = NOW + 60) -> Session:
    return Session(
        key_name=1,
        id=next(_numbers).to_bytes(16),
        user=user.encode().ljust(12),
        group=(group or user).encode().ljust(12),
        issued_at=issued_at,
        expires=expires,
        proof_digest=b"",
        token="t",
    )


def with_ended(known: Revocations, *ended: Session, now: int = NOW) -> Revocations:
    return known.with_new(map(Revocation.of, ended), now=now, session_max_seconds=MAX_SECONDS)


def test_an_entry_is_kept_until_its_session_has_expired() -> None:
    ended, other = session(), session()
    known = Revocations.parse(with_ended(Revocations(), ended).encode())

    assert known.ends(ended)
    assert not known.ends(other)
    assert len(with_ended(known, now=ended.expires - 1)) == 1
    assert len(with_ended(known, now=ended.expires)) == 0
    assert len(with_ended(known, ended)) == 1


def test_the_entries_of_a_user_are_merged_beyond_their_bound() -> None:
    ended = [session("jane", "team", issued_at=NOW + at) for at in range(USER_REVOCATIONS_MAX + 1)]
    known = with_ended(Revocations(), *ended[:-1])
    assert len(known) == USER_REVOCATIONS_MAX
    known = with_ended(known, ended[-1])
    newest = ended[-1].issued_at

    assert len(known) == 1
    for read in (known, Revocations.parse(known.encode())):
        assert all(read.ends(each) for each in ended)
        assert read.ends(session("jane", "team", issued_at=newest))
        assert not read.ends(session("jane", "team", issued_at=newest + 1))
        assert not read.ends(session("john", "team"))
    assert len(with_ended(known, now=newest + MAX_SECONDS - 1)) == 1
    assert len(with_ended(known, now=newest + MAX_SECONDS)) == 0


def test_the_merged_entries_of_two_users_of_a_group_stay_apart() -> None:
    known = Revocations()
    for user in ("jane", "john"):
        known = with_ended(known, *(session(user, "team") for _ in range(USER_REVOCATIONS_MAX + 1)))
    known = with_ended(known, session("joe", "team"))
    assert len(known) == 3
    assert all(known.ends(session(user, "team")) for user in ("jane", "john"))
    assert not known.ends(session("joe", "team"))


def test_the_entries_of_a_group_are_merged_beyond_their_bound() -> None:
    ended = [session(f"user-{at}", "group") for at in range(GROUP_REVOCATIONS_MAX + 1)]
    stranger = session("stranger")
    known = with_ended(Revocations(), stranger, *ended[:-1])
    assert len(known) == GROUP_REVOCATIONS_MAX + 1
    assert not known.ends(session("user-0", "group"))
    known = with_ended(known, ended[-1])

    assert len(known) == 2
    assert known.ends(stranger)
    assert all(known.ends(each) for each in ended)
    assert known.ends(session("anyone", "group"))
    assert not known.ends(session("anyone", "group", issued_at=NOW + 1))
    assert not known.ends(session("stranger"))


def test_the_merged_entries_of_two_groups_stay_apart() -> None:
    known = Revocations()
    for group in ("one", "two"):
        ended = [session(f"{group}-{at}", group) for at in range(GROUP_REVOCATIONS_MAX + 1)]
        known = with_ended(known, *ended)
    known = with_ended(known, session("joe", "three"))
    assert len(known) == 3
    assert all(known.ends(session("anyone", group)) for group in ("one", "two"))


def test_a_list_with_a_free_place_takes_one_more_and_a_full_one_refuses() -> None:
    full = with_ended(Revocations(), *(session(f"user-{at}") for at in range(REVOCATIONS_MAX)))
    assert len(full) == REVOCATIONS_MAX
    with pytest.raises(NotReady, match=f"{REVOCATIONS_MAX:,} sessions are signed out"):
        with_ended(full, session("one-more"))


def test_an_empty_list_ends_nothing_and_a_damaged_one_is_refused() -> None:
    empty = Revocations.parse(b"")
    assert len(empty) == 0
    assert not empty.ends(session(issued_at=0))
    for damaged in (b"{}", b"7", b"[1]", b'[["a"]]'):
        with pytest.raises(ValueError, match=r"."):
            Revocations.parse(damaged)
