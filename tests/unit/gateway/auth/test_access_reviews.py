"""How many access reviews the API server gets; a test server replaces it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.unit.gateway.auth.review_server import caller, review_server
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, ApiOverloaded, ApiUnavailable, Unauthenticated
from xapp_operator.gateway.auth import access_reviews
from xapp_operator.gateway.auth.access_reviews import (
    AccessReviews,
)
from xapp_operator.gateway.auth.actions import Permission
from xapp_operator.gateway.auth.callers import (
    UnsafeBindAddress,
    check_bind_address,
)

RECHECK_MAX_AGE_SECONDS = 1.0

REVIEW_SECONDS = 10.0
REVIEW_CONCURRENCY = 32
DENIED_RECHECK_SECONDS_MAX = 60.0


async def test_concurrent_requests_share_one_review(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.answers.clear()
        who = caller(kube, AccessReviews())
        requests = [asyncio.create_task(who.is_allowed("list", namespace=None)) for _ in range(50)]
        await eventually(lambda: server.reviewed, what="the first review")
        server.answers.set()

        assert await asyncio.gather(*requests) == [True] * 50
        assert server.reviewed == [{"group": "xapp-operator.io", "resource": "xapps", "verb": "list"}]
        assert server.tokens == ["Bearer abc"]


async def test_a_review_counts_only_for_its_token_verb_and_namespace(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        kept = AccessReviews()
        for _ in range(2):
            await caller(kube, kept).is_allowed("list", namespace=None)
            await caller(kube, kept).is_allowed("list", namespace="a")
            await caller(kube, kept).is_allowed("get", namespace="a")
            await caller(kube, kept, token="other").is_allowed("get", namespace="a")

        assert len(server.reviewed) == 4


async def test_an_expired_review_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with review_server(tmp_path) as (server, kube):
        who = caller(kube, AccessReviews())
        await who.require_allowed("list", namespace="a")
        server.allowed = False
        await who.require_allowed("list", namespace="a")
        monkeypatch.setattr(access_reviews, "REVIEW_SECONDS", 0.0)

        with pytest.raises(AccessDenied, match=r"you may not list xapps.xapp-operator.io in the namespace a"):
            await who.require_allowed("list", namespace="a")


async def test_a_cached_review_counts_while_the_api_server_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with review_server(tmp_path) as (server, kube):
        who = caller(kube, AccessReviews())
        await who.require_allowed("list", namespace="a")
        monkeypatch.setattr(access_reviews, "REVIEW_SECONDS", 0.0)
        server.status = 503

        await who.require_allowed("list", namespace="a")
        with pytest.raises(ApiUnavailable):
            await who.require_allowed("list", namespace="b")
        monkeypatch.setattr(access_reviews, "STALE_REVIEW_SECONDS", 0.0)
        with pytest.raises(ApiUnavailable):
            await who.require_allowed("list", namespace="a")


async def test_an_unknown_token_is_refused_each_time(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.status = 401
        who = caller(kube, AccessReviews())
        for _ in range(2):
            with pytest.raises(Unauthenticated):
                await who.authenticate()

        assert len(server.reviewed) == 2


async def test_cancelling_one_waiter_keeps_the_shared_review_running(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.answers.clear()
        who = caller(kube, AccessReviews())
        first, second = (asyncio.create_task(who.is_allowed("list", namespace=None)) for _ in range(2))
        await eventually(lambda: server.reviewed, what="the first review")
        first.cancel()
        server.answers.set()

        assert await second is True
        assert len(server.reviewed) == 1


async def test_the_number_of_cached_reviews_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_reviews, "REVIEW_CACHE_SIZE", 3)
    async with review_server(tmp_path) as (_, kube):
        kept = AccessReviews()
        for at in range(6):
            await caller(kube, kept).is_allowed("list", namespace=f"n{at}")

        assert len(kept._reviews) == 3


async def test_a_review_of_an_impossible_namespace_is_not_cached(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        kept = AccessReviews()
        for namespace in ("a" * 63, "a" * 64):
            for _ in range(2):
                await caller(kube, kept).is_allowed("list", namespace=namespace)
        assert [len(str(reviewed["namespace"])) for reviewed in server.reviewed] == [63, 64, 64]
        assert len(kept._reviews) == 1


class FakeClock:
    """The clock of the reviews, which only a test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(access_reviews, "time", made)
    return made


MANY = frozenset(f"n{at}" for at in range(2000))


async def test_a_caller_who_may_list_everywhere_takes_one_review(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        assert await caller(kube, AccessReviews()).allowed_namespaces("list", among=MANY) is None
        assert len(server.reviewed) == 1


async def test_a_list_of_all_namespaces_has_only_the_allowed_ones(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed, server.only = False, {"a", "c"}
        who = caller(kube, AccessReviews())
        found = await who.allowed_namespaces("list", among=frozenset("abc"))

        assert found == frozenset({"a", "c"})
        assert await who.allowed_namespaces("list", among=frozenset("abc")) is found
        assert len(server.reviewed) == 4
        assert await who.allowed_namespaces("list", among=frozenset("cd")) == frozenset({"a", "c"})
        assert len(server.reviewed) == 5
        assert await who.allowed_namespaces("list", among=frozenset("ab")) == frozenset({"a", "c"})
        assert len(server.reviewed) == 5


async def test_concurrent_requests_share_bounded_reviews_of_thousands_of_namespaces(
    tmp_path: Path,
) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed, server.only = False, {"n7"}
        who = caller(kube, AccessReviews())
        await who.authenticate()
        server.answers.clear()
        requests = [asyncio.create_task(who.allowed_namespaces("list", among=MANY)) for _ in range(50)]
        await eventually(lambda: server.at_once == REVIEW_CONCURRENCY, what="as many reviews as may run at a time")
        server.answers.set()
        answers = await asyncio.gather(*requests)

        assert answers == [frozenset({"n7"})] * 50
        assert len(server.reviewed) == 1 + len(MANY)
        assert server.most_at_once == REVIEW_CONCURRENCY


async def test_a_revoked_permission_ends_within_seconds_and_denied_namespaces_are_reviewed_slowly(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed, server.only = False, {"n7", "n8"}
        who = caller(kube, AccessReviews())
        await who.allowed_namespaces("list", among=MANY)
        clock.now += REVIEW_SECONDS
        await who.allowed_namespaces("list", among=MANY)
        server.reviewed.clear()
        server.only = {"n8", "n9"}
        clock.now += REVIEW_SECONDS

        assert await who.allowed_namespaces("list", among=MANY) == frozenset({"n8"})
        assert [each.get("namespace") for each in server.reviewed[:1]] == [None]
        assert {each.get("namespace") for each in server.reviewed[1:]} == {"n7", "n8"}
        clock.now += DENIED_RECHECK_SECONDS_MAX
        assert await who.allowed_namespaces("list", among=MANY) == frozenset({"n8", "n9"})


@pytest.mark.parametrize(("waits", "reviews"), [((20.0,), [401]), ((19.5, 10.0), [1, 401])])
async def test_twenty_denied_namespaces_are_reviewed_again_in_a_second(
    tmp_path: Path, clock: FakeClock, waits: tuple[float, ...], reviews: list[int]
) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed = False
        who, denied = caller(kube, AccessReviews()), frozenset(f"n{at}" for at in range(400))
        await who.allowed_namespaces("list", among=denied)
        clock.now += REVIEW_SECONDS
        await who.allowed_namespaces("list", among=denied)
        found = []
        for wait in waits:
            clock.now += wait
            server.reviewed.clear()
            await who.allowed_namespaces("list", among=denied)
            found.append(len(server.reviewed))
        assert found == reviews


async def test_a_new_namespace_is_reviewed_again_soon(tmp_path: Path, clock: FakeClock) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed = False
        who = caller(kube, AccessReviews())
        for _ in range(2):
            await who.allowed_namespaces("list", among=MANY)
            clock.now += REVIEW_SECONDS
        assert await who.allowed_namespaces("list", among=MANY | {"new"}) == frozenset()
        server.only = {"new"}
        clock.now += REVIEW_SECONDS

        assert await who.allowed_namespaces("list", among=MANY | {"new"}) == frozenset({"new"})
        assert len(server.reviewed) < 2 * len(MANY) + 20


async def test_a_frequent_caller_does_not_wait_for_new_reviews(tmp_path: Path, clock: FakeClock) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed, server.only = False, {"a", "b"}
        who = caller(kube, AccessReviews())
        found = await who.allowed_namespaces("list", among=frozenset("ab"))
        clock.now += REVIEW_SECONDS / 2
        server.only = {"a"}
        server.answers.clear()

        assert await who.allowed_namespaces("list", among=frozenset("ab")) is found
        await eventually(lambda: server.at_once == 2, what="the reviews in the background")
        server.answers.set()
        clock.now += REVIEW_SECONDS / 2 - 1
        await eventually(lambda: len(server.reviewed) == 5, what="the review in the background")
        assert await who.allowed_namespaces("list", among=frozenset("abc")) == frozenset({"a"})


async def test_cached_namespaces_count_while_the_api_server_is_unavailable(tmp_path: Path, clock: FakeClock) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed, server.only = False, {"a"}
        who = caller(kube, AccessReviews())
        await who.allowed_namespaces("list", among=frozenset("ab"))
        server.status = 503
        clock.now += REVIEW_SECONDS * 2

        assert await who.allowed_namespaces("list", among=frozenset("ab")) == frozenset({"a"})
        with pytest.raises(ApiUnavailable):
            await who.allowed_namespaces("get", among=frozenset("ab"))
        server.status = 201
        clock.now += 200.0
        assert not await who.is_allowed("list", namespace=None)
        server.status = 503
        clock.now += 100.0 - 2 * REVIEW_SECONDS
        with pytest.raises(ApiUnavailable):
            await who.allowed_namespaces("list", among=frozenset("ab"))


async def test_a_review_of_the_last_minutes_counts_and_no_older_one(tmp_path: Path, clock: FakeClock) -> None:
    async with review_server(tmp_path) as (server, kube):
        who = caller(kube, AccessReviews())
        assert await who.is_allowed("list", namespace="a")
        server.allowed = False
        assert not await who.is_allowed("list", namespace=None)
        server.status = 503
        with pytest.raises(ApiUnavailable):
            await who.allowed_namespaces("list", among=frozenset("ab"))
        clock.now += 299.0
        assert await who.is_allowed("list", namespace="a")
        clock.now += 1.0
        with pytest.raises(ApiUnavailable):
            await who.is_allowed("list", namespace="a")


async def test_namespaces_of_an_unknown_token_are_refused(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.status = 401
        with pytest.raises(Unauthenticated):
            await caller(kube, AccessReviews()).allowed_namespaces("list", among=frozenset("ab"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_without_authentication_loopback_may_be_served(host: str) -> None:
    check_bind_address(Settings(auth="none", host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com", ""])
def test_without_authentication_nothing_else_may_be_served(host: str) -> None:
    with pytest.raises(UnsafeBindAddress, match="XAPP_HOST"):
        check_bind_address(Settings(auth="none", host=host))


def test_with_authentication_any_address_may_be_served() -> None:
    check_bind_address(Settings(auth="kubernetes", host="0.0.0.0"))


@pytest.mark.parametrize("status", [429, 504])
async def test_an_overloaded_api_server_does_not_keep_a_permission_alive(
    tmp_path: Path, clock: FakeClock, status: int
) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.only = {"a"}
        who = caller(kube, AccessReviews())
        await who.require_allowed("list", namespace="a")
        server.allowed = False
        assert await who.allowed_namespaces("get", among=frozenset("ab")) == frozenset({"a"})
        server.status = status
        clock.now += REVIEW_SECONDS - 1
        await who.require_allowed("list", namespace="a")
        clock.now += 1

        for permission in (Permission("list", "a"), Permission("get", None)):
            with pytest.raises(ApiOverloaded):
                await who.require_allowed(permission.verb, namespace=permission.namespace)
        server.status = 201
        assert not await who.is_allowed("get", namespace=None)
        server.status = status
        with pytest.raises(ApiOverloaded):
            await who.allowed_namespaces("get", among=frozenset("ab"))


async def test_a_recheck_asks_again_and_shares_the_answer(tmp_path: Path, clock: FakeClock) -> None:
    async with review_server(tmp_path) as (server, kube):
        who = caller(kube, AccessReviews())
        permission = Permission("get", "a")
        for _ in range(2):
            await who.recheck(permission)
        assert len(server.reviewed) == 1
        clock.now += RECHECK_MAX_AGE_SECONDS
        await asyncio.gather(*(who.recheck(permission) for _ in range(50)))
        assert len(server.reviewed) == 2
        clock.now += RECHECK_MAX_AGE_SECONDS
        server.allowed = False
        with pytest.raises(AccessDenied):
            await who.recheck(permission)
        with pytest.raises(AccessDenied):
            await who.require_allowed("get", namespace="a")  # and nobody uses the older answer
        server.status = 429
        clock.now += RECHECK_MAX_AGE_SECONDS
        with pytest.raises(ApiOverloaded):
            await who.recheck(permission)
