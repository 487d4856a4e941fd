"""Who a token belongs to, and how often the API server is asked; a test server replaces it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.unit.gateway.auth.review_server import FakeReviewServer, review_server
from tests.unit.kube.fake_cluster import FakeCluster
from xapp_operator.errors import ApiUnavailable, TooManyUnknownTokens, Unauthenticated
from xapp_operator.gateway.auth import identities
from xapp_operator.gateway.auth.identities import Identities, Identity, token_digest
from xapp_operator.kube import transport
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest

CHECKS_MAX = 8
IDENTITY_SECONDS = 300.0

LIMIT = 2


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(identities, "time", made)
    monkeypatch.setattr(transport, "RETRY_FIRST_SECONDS", 0.001)
    return made


class Users:
    """Identifies tokens with a gateway that allows LIMIT unknown tokens of an address."""

    def __init__(self, server: FakeReviewServer, kube: KubeClient) -> None:
        self.server = server
        self.identities = Identities(unknown_per_address=LIMIT)
        self._kube = kube

    async def identify(self, token: str, *, address: str = "here") -> Identity:
        return await self.identities.identify(self._kube.with_token(token), token, address=address)

    async def send_unknown(self, number: int, *, address: str = "here") -> None:
        """Send so many tokens that nobody has sent before."""
        for _ in range(number):
            with pytest.raises(Unauthenticated, match="the cluster does not accept this token"):
                await self.identify(f"made-up-{len(self.server.identified)}", address=address)


@pytest.fixture
async def users(tmp_path: Path) -> AsyncIterator[Users]:
    async with review_server(tmp_path) as (server, kube):
        yield Users(server, kube)


async def test_an_accepted_token_is_identified_again_only_after_minutes(users: Users, clock: FakeClock) -> None:
    users.server.groups = ["developers", 7, "testers"]
    jane = Identity("system:serviceaccount:a:jane", ("developers", "testers"))
    assert users.identities.user_of("a") == ""
    assert await users.identify("a") == jane
    clock.now += IDENTITY_SECONDS - 1
    assert await users.identify("a") == jane
    assert users.server.identified == ["a"]

    clock.now += 1
    users.server.groups = None
    assert await users.identify("a") == Identity("system:serviceaccount:a:jane")
    assert users.server.identified == ["a", "a"]
    assert users.identities.user_of("a") == "system:serviceaccount:a:jane"


async def test_simultaneous_requests_of_a_token_share_one_check(users: Users) -> None:
    users.server.identifies.clear()
    waiting = [asyncio.create_task(users.identify("a", address=str(at))) for at in range(5)]
    await eventually(lambda: users.server.identified, what="the check")
    users.server.identifies.set()

    assert {each.user for each in await asyncio.gather(*waiting)} == {"system:serviceaccount:a:jane"}
    assert users.server.identified == ["a"]


async def test_an_unknown_token_is_refused_without_another_check(users: Users) -> None:
    for _ in range(3):
        with pytest.raises(Unauthenticated, match="the cluster does not accept this token: sign in again"):
            await users.identify("made-up")
    assert users.server.identified == ["made-up"]


async def test_a_token_that_ends_is_refused_at_its_next_check(users: Users, clock: FakeClock) -> None:
    await users.identify("a")
    clock.now += IDENTITY_SECONDS
    users.server.identity_status = 401
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await users.identify("a")
    assert users.server.identified == ["a", "a"]
    assert users.identities.user_of("a") == ""


async def test_a_token_that_a_review_refused_is_forgotten_at_once(users: Users) -> None:
    await users.identify("a")
    users.identities.forget("a")
    users.identities.forget("never-seen")

    assert users.identities.user_of("a") == ""
    for token in ("a", "never-seen"):
        with pytest.raises(Unauthenticated):
            await users.identify(token)
    assert users.server.identified == ["a"]


async def test_known_users_stay_known_while_the_api_server_is_unavailable(users: Users, clock: FakeClock) -> None:
    known = await users.identify("a")
    clock.now += IDENTITY_SECONDS
    users.server.identity_status = 503

    assert await users.identify("a") == known
    with pytest.raises(ApiUnavailable):
        await users.identify("b")


async def test_a_user_who_may_not_ask_who_they_are_is_named_by_their_token(users: Users) -> None:
    users.server.identity_status = 403
    assert await users.identify("a") == Identity(f"token:{token_digest('a').hex()[:16]}")


async def test_accepted_tokens_and_outages_do_not_count_as_unknown(users: Users, clock: FakeClock) -> None:
    for number in range(2 * LIMIT):
        await users.identify(f"good-{number}")
    users.server.identity_status = 503
    for number in range(2 * LIMIT):
        with pytest.raises(ApiUnavailable):
            await users.identify(f"early-{number}")
    await users.send_unknown(LIMIT)


async def test_an_address_that_sent_too_many_unknown_tokens_waits_and_others_do_not(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_WAIT_SECONDS_MAX", 0.0)
    known = await users.identify("a")
    await users.send_unknown(LIMIT)
    checked = list(users.server.identified)

    refusal = rf"more than {LIMIT} tokens from your address were unknown to the cluster in 10 seconds"
    with pytest.raises(
        TooManyUnknownTokens,
        match=refusal,
    ):
        await users.identify("b")
    assert users.server.identified == checked
    assert await users.identify("a") == known
    await users.identify("b", address="there")


async def test_a_token_over_the_limit_is_checked_after_its_wait(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 0.0)
    await users.send_unknown(3 * LIMIT)
    assert (await users.identify("a")).user == "system:serviceaccount:a:jane"

    checked = len(users.server.identified)
    twice = [asyncio.create_task(users.identify("made-up-twice")) for _ in range(4)]
    answers = await asyncio.gather(*twice, return_exceptions=True)
    assert [type(each) for each in answers] == [Unauthenticated] * 4
    assert len(users.server.identified) == checked + 1


async def test_nothing_is_kept_of_an_address_whose_tokens_no_longer_wait(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 0.0)
    await users.send_unknown(2 * LIMIT)
    assert users.identities._late == {}


async def test_checks_that_run_count_as_unknown_until_they_end(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_WAIT_SECONDS_MAX", 0.0)
    users.server.identifies.clear()
    running = [asyncio.create_task(users.identify(f"good-{number}")) for number in range(LIMIT)]
    await eventually(lambda: users.server.identifying == LIMIT, what="the checks")
    with pytest.raises(TooManyUnknownTokens):
        await users.identify("b")
    users.server.identifies.set()
    await asyncio.gather(*running)

    await users.identify("b")


async def test_only_some_tokens_of_an_address_wait(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "LATE_CHECKS_WAITING_MAX", 2)
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 600.0)
    await users.send_unknown(LIMIT)
    async with asyncio.timeout(5):
        waiting = [asyncio.create_task(users.identify(f"late-{number}")) for number in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyUnknownTokens):
            await users.identify("late-2")
        waiting.pop().cancel()
        await asyncio.sleep(0)
        waiting.append(asyncio.create_task(users.identify("late-3")))
        await asyncio.sleep(0)
        with pytest.raises(TooManyUnknownTokens):
            await users.identify("late-4")
        assert not any(each.done() for each in waiting)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def late_tokens(number: int) -> tuple[list[float], list[float]]:
    """Return when late tokens of one address were checked, and when others were refused, in simulated seconds."""
    cluster, found = FakeCluster(), Identities(unknown_per_address=0)
    checked: list[float] = []
    refused: list[float] = []

    def deny(_: ApiRequest) -> None:
        checked.append(cluster.clock.monotonic())
        raise Unauthenticated("no")

    async def identify(token: str) -> None:
        try:
            await found.identify(cluster.kube, token, address="here")
        except TooManyUnknownTokens:
            refused.append(cluster.clock.monotonic())
        except Unauthenticated:
            pass

    async def main() -> None:
        cluster.transport.before = deny
        await asyncio.gather(*(identify(f"made-up-{each}") for each in range(number)))

    cluster.run(main())
    return checked, refused


def test_late_tokens_are_checked_ten_in_a_second_and_few_wait() -> None:
    checked, refused = late_tokens(130)
    assert checked == pytest.approx([0.1 * each for each in range(1, 129)])
    assert refused == [0.0, 0.0]


def test_a_late_token_is_refused_after_twenty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 15.0)
    checked, refused = late_tokens(3)
    assert checked == pytest.approx([15.0])
    assert refused == pytest.approx([20.0, 20.0])


async def test_few_unknown_tokens_are_checked_at_a_time(users: Users) -> None:
    users.server.identifies.clear()
    running = [
        asyncio.create_task(users.identify(f"good-{number}", address=str(number))) for number in range(2 * CHECKS_MAX)
    ]
    await eventually(lambda: users.server.identifying == CHECKS_MAX, what="as many checks as may run at a time")
    users.server.identifies.set()
    await asyncio.gather(*running)
    assert users.server.most_identifying == CHECKS_MAX
