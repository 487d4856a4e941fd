"""Sessions on several replicas that share a Secret: keys, rotation, signing out, outages."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.support.eventually import eventually
from tests.unit.gateway.auth.secret_server import FakeClock, make_key, secret_server
from xapp_operator.config.settings import Settings
from xapp_operator.errors import (
    ApiOverloaded,
    ApiUnavailable,
    KubeError,
    SessionEnded,
    SessionProofRequired,
    Unauthenticated,
)
from xapp_operator.gateway.auth import session_secret, sessions
from xapp_operator.gateway.auth.session_cookies import Session, seal
from xapp_operator.gateway.auth.sessions import NewSession, Sessions
from xapp_operator.kube import transport

STALE_STATE_SECONDS = 300.0

DAY = 24 * 3600
STATE_SECONDS = 0.1
SHIPPED_STATE_SECONDS = session_secret.STATE_SECONDS


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "RETRY_FIRST_SECONDS", 0.001)
    for module in (session_secret, sessions):
        monkeypatch.setattr(module, "STATE_SECONDS", STATE_SECONDS)


async def begin(replica: Sessions, user: str = "jane") -> NewSession:
    return await replica.begin("token", user=user)


async def opened(replica: Sessions, new: NewSession) -> Session:
    return await replica.open(new.cookie, proof=new.proof)


def test_a_new_session_shows_neither_cookie_nor_proof() -> None:
    shown = repr(NewSession(cookie="c00kie", proof="pr00f", expires=1, seconds=2))
    assert shown == "NewSession(expires=1, seconds=2)"


async def test_replicas_that_start_together_share_one_secret(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.hold.clear()
        replicas = [Sessions(kube, Settings()) for _ in range(4)]
        beginning = [asyncio.create_task(begin(each)) for each in replicas for _ in range(5)]
        await eventually(lambda: server.reads == len(replicas), what="each replica to ask")
        server.hold.set()
        new = await asyncio.gather(*beginning)

        assert server.created == 1
        for replica in replicas:
            assert [(await opened(replica, each)).token for each in new] == ["token"] * len(new)


async def test_a_cookie_counts_only_with_its_own_proof(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (_, kube):
        replica = Sessions(kube, Settings())
        one, two = await begin(replica), await begin(replica)

        first, second = await opened(replica, one), await opened(replica, two)
        assert first.id != second.id
        assert (len(first.id), len(first.user), len(first.group)) == (16, 12, 12)
        for wrong in ("", two.proof, one.proof[:-1], one.proof + "="):
            with pytest.raises(SessionProofRequired):
                await replica.open(one.cookie, proof=wrong)


async def test_an_old_key_gets_a_successor_that_all_replicas_use(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        now, clock = int(time.time()), FakeClock()
        server.data = {**make_key(now - DAY + 60), "note": "", "12": "not base64!", "13": "c2hvcnQ="}
        replicas = [Sessions(kube, Settings(), monotonic=clock) for _ in range(3)]
        before = await begin(replicas[0])
        assert server.patched == 0

        server.data = {f"{now - DAY - 1}": server.data[f"{now - DAY + 60}"], "note": ""}
        clock.now += 2 * STATE_SECONDS
        news = await asyncio.gather(*(begin(each) for each in replicas))
        keys = {int(name) for name in server.data if name.isdecimal()}

        assert server.patched == 1
        assert len(keys) == 2
        assert {int(each.cookie.partition(".")[0]) for each in news} == {max(keys)}
        assert server.data["note"] == ""
        for replica in replicas:
            for each in news:
                assert (await opened(replica, each)).token == "token"
        with pytest.raises(SessionEnded):
            await opened(replicas[0], before)  # its key is gone


async def test_a_key_is_removed_when_no_session_can_be_left_of_it(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        now = int(time.time())
        needed = now - 3 * DAY  # its successor is younger than the longest session and a margin
        server.data = make_key(now - 9 * DAY) | make_key(now - 5 * DAY) | make_key(needed) | make_key(now - DAY)
        await begin(Sessions(kube, Settings(session_max_seconds=2 * DAY)))

        assert sorted(map(int, server.data))[:-1] == [needed, now - DAY]
        assert len(server.data) == 3


async def test_a_key_that_may_not_be_rotated_still_serves(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.data, server.patch_status = make_key(int(time.time()) - 2 * DAY), 403
        clock = FakeClock()
        replica = Sessions(kube, Settings(), monotonic=clock)

        for after, tried in ((0.0, 1), (59.5, 1), (1.0, 2)):
            clock.now += after
            assert (await opened(replica, await begin(replica))).token == "token"
            assert server.patches == tried


async def test_a_key_is_removed_when_the_skew_of_clocks_has_passed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time())
    monkeypatch.setattr(time, "time", lambda: float(now))
    async with secret_server(tmp_path) as (server, kube):
        replaced = now - 2 * DAY - 300  # no session of its predecessor is left after this second
        server.data = make_key(now - 9 * DAY) | make_key(replaced - 1) | make_key(replaced)
        await begin(Sessions(kube, Settings(session_max_seconds=2 * DAY)))

        assert sorted(map(int, server.data)) == [replaced - 1, replaced, now]


async def test_a_key_of_another_replica_is_found_at_once(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.data = make_key(9)
        one, two = (Sessions(kube, Settings(session_key_seconds=2**40)) for _ in range(2))
        before = await begin(one)
        await opened(two, before)
        server.data = {**server.data, **make_key(10)}
        after = await begin(Sessions(kube, Settings(session_key_seconds=2**40)))

        with pytest.raises(SessionProofRequired):
            await two.open(after.cookie, proof="wrong")
        third = Sessions(kube, Settings(session_key_seconds=2**40))
        await opened(third, after)
        assert (await opened(two, after)).key_name == 10
        assert (await opened(two, before)).key_name == 9


async def test_what_is_no_cookie_of_a_session_costs_no_request(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        with pytest.raises(SessionEnded):
            await Sessions(kube, Settings()).open("garbage", proof="")
        assert server.reads == 0


async def test_the_secret_is_read_again_when_its_state_is_old(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        clock.now = 0.0
        server.data = make_key(int(time.time()) - 2 * DAY)
        replica = Sessions(kube, Settings(), monotonic=clock)
        new = await begin(replica)
        assert (server.reads, server.patched) == (1, 1)  # an old key is replaced at once
        clock.now = STATE_SECONDS * 0.9
        await opened(replica, new)
        assert server.reads == 1
        clock.now = STATE_SECONDS
        await opened(replica, new)
        assert server.reads == 2


class Pauses:
    """Stands for `asyncio` where only its pauses count."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_a_state_counts_for_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_secret, "STATE_SECONDS", SHIPPED_STATE_SECONDS)
    async with secret_server(tmp_path) as (server, kube):
        server.data, clock = make_key(int(time.time())), FakeClock()
        replica = Sessions(kube, Settings(), monotonic=clock)
        new = await begin(replica)
        for after, reads in ((0.9, 1), (0.2, 2)):
            clock.now += after
            await opened(replica, new)
            assert server.reads == reads


async def test_a_cookie_of_a_key_that_may_be_new_waits_for_a_new_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secret_server(tmp_path) as (server, kube):
        pauses, clock = Pauses(), FakeClock()
        monkeypatch.setattr(sessions, "asyncio", pauses)
        server.data = make_key(int(time.time()))
        replica = Sessions(kube, Settings(), monotonic=clock)
        real = await opened(replica, await begin(replica))
        assert server.reads == 1
        for added, reads, waits in ((-1, 1, []), (1, 2, [STATE_SECONDS])):
            cookie = seal(replace(real, key_name=real.key_name + added), key=Fernet(Fernet.generate_key()))
            with pytest.raises(SessionEnded):
                await replica.open(cookie, proof="")
            assert server.reads == reads
            assert pauses.seconds == pytest.approx(waits)
        await replica.end(real)
        assert pauses.seconds[1:] == [STATE_SECONDS]


async def test_a_made_up_cookie_beside_that_of_a_session_changes_nothing(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replica = Sessions(kube, Settings(), monotonic=FakeClock())
        new = await begin(replica)
        real = await opened(replica, new)
        made_up = seal(replace(real, key_name=real.key_name + 1), key=Fernet(Fernet.generate_key()))
        assert await replica.open_any((made_up, new.cookie), proof=new.proof) == real
        assert server.reads == 1


async def test_made_up_cookies_cost_one_request_per_interval(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.data = make_key(int(time.time()))
        replica = Sessions(kube, Settings())
        real = await opened(replica, await begin(replica))
        made_up = [
            seal(replace(real, key_name=real.key_name + at), key=Fernet(Fernet.generate_key())) for at in range(-25, 25)
        ]
        before, started = server.reads, time.monotonic()
        found = await asyncio.gather(*(replica.open(each, proof="") for each in made_up), return_exceptions=True)
        intervals = (time.monotonic() - started) / STATE_SECONDS

        assert all(isinstance(each, SessionEnded) for each in found)
        assert server.reads - before <= intervals + 2


async def test_a_token_that_has_expired_begins_no_session(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (_, kube):
        replica = Sessions(kube, Settings())
        with pytest.raises(Unauthenticated, match="this token has expired"):
            await replica.begin(jwt_until(int(time.time()) - 1), user="jane")
        new = await replica.begin(jwt_until(int(time.time()) + 60), user="jane")
        assert new.seconds <= 60


def jwt_until(expiry: int) -> str:
    claims = base64.urlsafe_b64encode(f'{{"exp": {expiry}}}'.encode()).decode().rstrip("=")
    return f"e30.{claims}.c2lnbmF0dXJl"


async def test_an_expired_session_and_a_garbled_cookie_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secret_server(tmp_path) as (_, kube):
        replica = Sessions(kube, Settings())
        new = await begin(replica)
        session = await opened(replica, new)

        for cookie in (new.cookie[:-1], new.cookie + "!", ""):
            with pytest.raises(SessionEnded):
                await replica.open(cookie, proof=new.proof)
        after = time.time() + new.seconds
        monkeypatch.setattr("xapp_operator.gateway.auth.sessions.time.time", lambda: after)
        with pytest.raises(SessionEnded):
            await opened(replica, new)
        with pytest.raises(SessionEnded):
            await replica.require_open(session)


async def test_signing_out_ends_the_session_on_every_replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replicas = [Sessions(kube, Settings()) for _ in range(3)]
        ended, other = await begin(replicas[0]), await begin(replicas[0])
        held = [await opened(each, ended) for each in replicas]
        await replicas[1].end(held[1])

        for replica, session in zip(replicas, held, strict=True):
            with pytest.raises(SessionEnded):
                await opened(replica, ended)
            with pytest.raises(SessionEnded):
                await replica.require_open(session)
            assert (await opened(replica, other)).token == "token"
        assert server.patched == 1


async def test_the_replica_that_ends_a_session_knows_it_without_another_read(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replica = Sessions(kube, Settings(), monotonic=FakeClock())
        ended = await begin(replica)
        await replica.end(await opened(replica, ended))
        reads = server.reads
        with pytest.raises(SessionEnded):
            await opened(replica, ended)
        assert server.reads == reads


async def test_many_who_sign_out_at_once_share_writes_and_all_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replicas = [Sessions(kube, Settings()) for _ in range(3)]
        new = [await begin(replicas[at % 3], user=f"user-{at}") for at in range(60)]
        held = [await opened(replicas[at % 3], each) for at, each in enumerate(new)]
        await asyncio.gather(*(replicas[at % 3].end(each) for at, each in enumerate(held)))

        assert server.patched < len(new) / 2
        for at, each in enumerate(new):
            with pytest.raises(SessionEnded):
                await opened(replicas[(at + 1) % 3], each)


async def test_a_failed_sign_out_is_reported_and_the_session_goes_on(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replica = Sessions(kube, Settings())
        new = await begin(replica)
        session = await opened(replica, new)
        for status, error in ((403, KubeError), (503, ApiUnavailable), (409, KubeError)):
            server.patch_status = status
            with pytest.raises(error):
                await replica.end(session)
        server.patch_status = None

        assert (await opened(replica, new)).token == "token"
        await replica.end(session)
        with pytest.raises(SessionEnded):
            await opened(replica, new)


async def test_a_sign_out_is_tried_eight_times(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        replica = Sessions(kube, Settings())
        session = await opened(replica, await begin(replica))
        server.patch_status = 409
        with pytest.raises(KubeError, match="other replicas keep changing the list"):
            await replica.end(session)
        assert server.patches == 8


async def test_a_deleted_secret_ends_all_sessions(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        server.data = make_key(int(time.time()) - 60)
        replica = Sessions(kube, Settings(), monotonic=clock)
        new = await begin(replica)
        session = await opened(replica, new)
        server.data = None
        clock.now += 2 * STATE_SECONDS

        with pytest.raises(SessionEnded):
            await opened(replica, new)
        with pytest.raises(SessionEnded):
            await replica.require_open(session)
        assert server.created == 1


async def test_sessions_continue_for_a_while_when_the_api_server_is_away(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        replica = Sessions(kube, Settings(), monotonic=clock)
        new = await begin(replica)
        server.status = 503
        clock.now += STALE_STATE_SECONDS - 1

        assert (await opened(replica, new)).token == "token"
        clock.now += 1
        with pytest.raises(ApiUnavailable):
            await opened(replica, new)
        with pytest.raises(ApiUnavailable):
            await opened(Sessions(kube, Settings()), new)


async def test_an_overloaded_api_server_does_not_keep_a_session_alive(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        replica = Sessions(kube, Settings(), monotonic=clock)
        new = await begin(replica)
        server.status = 429
        clock.now += 2 * STATE_SECONDS
        with pytest.raises(ApiOverloaded):
            await opened(replica, new)


async def test_a_secret_without_keys_and_a_missing_permission_are_reported(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        (almost,) = make_key(12).values()
        for unusable in ({"note": almost}, {"12": f"{almost}!"}, {"12": almost[:-4]}, {"\u0661": almost}):
            server.data = unusable
            with pytest.raises(KubeError, match="xapp-operator-system/xapp-gateway-session holds no session key"):
                await begin(Sessions(kube, Settings()))
        for status in (401, 403):
            # A failure of the gateway's own credentials is not the caller's.
            server.status = status
            with pytest.raises(KubeError, match="the gateway may not get or create the Secret") as raised:
                await begin(Sessions(kube, Settings()))
            assert raised.value.status == 502


async def test_a_missing_namespace_for_the_secret_is_named(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.has_namespace = False
        with pytest.raises(KubeError, match="there is no namespace xapp-operator-system to keep session keys in"):
            await begin(Sessions(kube, Settings()))


async def test_a_damaged_list_of_signed_out_sessions_is_reported(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        for damaged in ("bm90IGpzb24=", "e30=", "W10=!", "e30=x", "WzFd"):
            server.data = {**make_key(int(time.time())), session_secret.REVOCATIONS_ENTRY: damaged}
            with pytest.raises(KubeError, match="revocations"):
                await begin(Sessions(kube, Settings()))
