"""Threat: a tenant signs in and out without end, to fill the list of signed-out sessions or to end those of others."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace

import pytest

from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import NotReady
from xapp_operator.gateway.auth.session_cookies import Session
from xapp_operator.gateway.auth.session_revocations import (
    GROUP_REVOCATIONS_MAX,
    REVOCATIONS_MAX,
    USER_REVOCATIONS_MAX,
    Revocation,
    Revocations,
)
from xapp_operator.gateway.auth.sessions import _owner_digest

NOW = 1_800_000_000
MAX_SECONDS = 12 * 3600


def session(user: str, *, issued_at: int = NOW, seconds: int = 600) -> Session:
    return Session(
        key_name=1,
        id=secrets.token_bytes(16),
        user=_owner_digest(user),
        group=_owner_digest(group_of_user(user)),
        issued_at=issued_at,
        expires=issued_at + seconds,
        proof_digest=b"",
        token="t",
    )


def with_ended(known: Revocations, *ended: Session, now: int = NOW) -> Revocations:
    return known.with_new(map(Revocation.of, ended), now=now, session_max_seconds=MAX_SECONDS)


def test_a_signed_out_session_ends_alone() -> None:
    ended, other = session("jane"), session("jane")
    known = Revocations.parse(with_ended(Revocations(), ended).encode())

    assert known.ends(ended)
    assert not known.ends(other)


def test_one_user_takes_a_bounded_number_of_places_and_ends_only_their_own_sessions() -> None:
    known, victim = Revocations(), session("john")
    ended = [session("jane", issued_at=NOW + at) for at in range(500)]
    for at, each in enumerate(ended):
        known = with_ended(known, each, now=NOW + at)
        assert len(known) <= USER_REVOCATIONS_MAX

    assert all(known.ends(each) for each in ended[-100:])
    assert not known.ends(victim)
    assert not known.ends(session("jane", issued_at=NOW + 501))


def test_the_service_accounts_of_a_namespace_share_its_places() -> None:
    known = Revocations()
    bystander = session("system:serviceaccount:other:sa")
    for at in range(2000):
        known = with_ended(known, session(f"system:serviceaccount:evil:sa-{at}"))
        assert len(known) <= GROUP_REVOCATIONS_MAX

    assert not known.ends(bystander)
    assert known.ends(session("system:serviceaccount:evil:sa-0", issued_at=NOW))


def test_a_service_account_alone_cannot_end_sessions_of_its_neighbours() -> None:
    known = Revocations()
    for at in range(1000):
        known = with_ended(known, session("system:serviceaccount:shared:evil", issued_at=NOW + at))

    assert not known.ends(session("system:serviceaccount:shared:good", issued_at=NOW))


def test_a_merged_revocation_lasts_as_long_as_any_session_that_it_ends() -> None:
    ended = [session("jane", issued_at=NOW + 1, seconds=60) for _ in range(USER_REVOCATIONS_MAX)]
    long = session("jane", seconds=MAX_SECONDS)
    known = with_ended(Revocations(), long, *ended)

    assert len(known) == 1
    assert with_ended(known, now=long.expires - 1).ends(long)
    assert len(with_ended(known, now=long.expires + 1)) == 0


def test_expired_revocations_are_forgotten() -> None:
    known = with_ended(Revocations(), *(session(f"user-{at}") for at in range(100)))
    assert len(known) == 100
    assert len(with_ended(known, now=NOW + 600)) == 0


def test_a_full_list_refuses_and_fits_a_secret() -> None:
    full = with_ended(Revocations(), *(session(f"user-{at}", issued_at=2**32 - 601) for at in range(REVOCATIONS_MAX)))

    assert len(base64.b64encode(full.encode())) < 1024 * 1024 * 3 // 4
    with pytest.raises(NotReady, match="4,000"):
        with_ended(full, session("one-more"))
    again = session("user-0")
    assert with_ended(full, *(replace(again, id=bytes([at]) * 16) for at in range(0))).encode() == full.encode()


@pytest.mark.parametrize("damaged", [b"{}x", b"[1]", b"[[1]]", b'[["a","b","c","d","e"]]', b"[[[],[],[],[],[]]]", b"7"])
def test_a_damaged_list_is_an_error(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Revocations.parse(damaged)
