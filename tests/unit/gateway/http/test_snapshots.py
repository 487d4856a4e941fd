"""The walks of one replica: who may use them, how long, and who loses one when there are too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.unit.gateway.http.http_connections import in_simulated_time
from tests.unit.gateway.http.http_connections import now as loop_now
from xapp_operator.errors import MalformedRequest, SnapshotExpired
from xapp_operator.gateway.http.lists.pagination import SequenceSnapshot
from xapp_operator.gateway.http.lists.snapshots import Snapshots

SNAPSHOT_SECONDS = 300.0

ACCOUNT = "system:serviceaccount:{}:{}"


def items(memory_bytes: int = 1) -> SequenceSnapshot[int]:
    return SequenceSnapshot(range(3), lambda item: b"%d" % item, memory_bytes=memory_bytes)


def begin(snapshots: Snapshots, caller: str = "jane", *, memory_bytes: int = 1) -> str:
    return snapshots.begin(items(memory_bytes), caller=caller, key="list")


def is_alive(snapshots: Snapshots, token: str, caller: str = "jane") -> bool:
    try:
        snapshots.find(token, caller=caller, key="list")
    except SnapshotExpired:
        return False
    return True


async def test_a_walk_is_its_callers_and_of_one_list() -> None:
    snapshots = Snapshots(per_caller=4)
    kept = items()
    token = snapshots.begin(kept, caller="jane", key=("xapps", "a"))

    assert snapshots.find(token, caller="jane", key=("xapps", "a")) is kept
    with pytest.raises(SnapshotExpired):
        snapshots.find(token, caller="joe", key=("xapps", "a"))
    with pytest.raises(MalformedRequest) as refused:
        snapshots.find(token, caller="jane", key=("xapps", "b"))
    assert refused.value.errors[0].field == "snapshot"
    errors = [snapshots.end(token, caller="joe"), snapshots.end("unknown", caller="jane")]
    assert snapshots.find(token, caller="jane", key=("xapps", "a")) is kept
    errors.append(snapshots.end(token, caller="jane"))
    assert kept.closed
    assert not is_alive(snapshots, token)
    assert {type(each) for each in errors} == {SnapshotExpired}
    assert len(token) == 22


async def test_a_walk_ends_after_its_time_even_if_it_is_used() -> None:
    now = 0.0
    snapshots = Snapshots(per_caller=4, clock=lambda: now)
    token = begin(snapshots)
    now = SNAPSHOT_SECONDS - 1
    assert is_alive(snapshots, token)
    later = begin(snapshots)
    now = SNAPSHOT_SECONDS
    assert not is_alive(snapshots, token)
    assert is_alive(snapshots, later)
    assert len(snapshots) == 1
    now = 2 * SNAPSHOT_SECONDS - 1
    snapshots.expire()
    assert len(snapshots) == 0


async def test_a_snapshot_that_can_no_longer_be_read_ends_its_walk() -> None:
    snapshots = Snapshots(per_caller=4)
    kept = [items(), items()]
    tokens = [snapshots.begin(each, caller="jane", key="list") for each in kept]
    kept[0].close()
    assert [is_alive(snapshots, token) for token in tokens] == [False, True]
    assert len(snapshots) == 1
    kept[1].close()
    snapshots.expire()
    assert len(snapshots) == 0


async def test_a_new_walk_takes_the_place_of_those_whose_time_is_over() -> None:
    now = 0.0
    snapshots = Snapshots(per_caller=4, clock=lambda: now)
    kept = items()
    snapshots.begin(kept, caller="joe", key="list")
    now = SNAPSHOT_SECONDS
    token = begin(snapshots)
    assert (kept.closed, is_alive(snapshots, token), len(snapshots)) == (True, True, 1)


def test_a_walk_that_nobody_uses_ends_in_time() -> None:
    async def test() -> None:
        snapshots = Snapshots(per_caller=4, clock=loop_now)
        kept = items()
        snapshots.begin(kept, caller="jane", key="list")
        await asyncio.sleep(SNAPSHOT_SECONDS - 1)
        assert not kept.closed
        await asyncio.sleep(2)
        assert kept.closed

    in_simulated_time(test)


async def test_a_caller_with_too_many_walks_loses_the_one_that_was_not_used() -> None:
    snapshots = Snapshots(per_caller=3)
    first, second, third = (begin(snapshots) for _ in range(3))
    assert is_alive(snapshots, first)
    fourth = begin(snapshots)

    assert [is_alive(snapshots, token) for token in (first, second, third, fourth)] == [True, False, True, True]


async def test_the_accounts_of_one_namespace_share_twice_as_many() -> None:
    snapshots = Snapshots(per_caller=2)
    tokens = {begin(snapshots, ACCOUNT.format("a", at)): ACCOUNT.format("a", at) for at in range(10)}
    other = begin(snapshots, ACCOUNT.format("b", 0))

    assert sum(is_alive(snapshots, token, caller) for token, caller in tokens.items()) == 4
    assert is_alive(snapshots, other, ACCOUNT.format("b", 0))


@pytest.mark.parametrize(
    "bounded", [lambda: Snapshots(per_caller=16, max_snapshots=20), lambda: Snapshots(per_caller=16, max_bytes=20_000)]
)
async def test_when_there_are_too_many_whoever_has_most_loses_one(bounded: Callable[[], Snapshots]) -> None:
    snapshots = bounded()
    calm = [begin(snapshots, "calm", memory_bytes=1000) for _ in range(2)]
    for _ in range(100):
        for hog in ("hog", "other hog"):
            begin(snapshots, hog, memory_bytes=1000)

    calm.append(begin(snapshots, "calm", memory_bytes=1000))

    assert len(snapshots) == 20
    assert all(is_alive(snapshots, token, "calm") for token in calm)


async def test_one_large_walk_displaces_none_of_others() -> None:
    snapshots = Snapshots(per_caller=16, max_bytes=10_000)
    calm = begin(snapshots, "calm", memory_bytes=1000)
    large = begin(snapshots, "hog", memory_bytes=50_000)

    assert is_alive(snapshots, calm, "calm")
    assert not is_alive(snapshots, large, "hog")


async def test_a_walk_larger_than_the_maximum_is_kept_while_it_is_the_only_one() -> None:
    snapshots = Snapshots(per_caller=16, max_bytes=10_000)
    large = begin(snapshots, "hog", memory_bytes=50_000)
    assert is_alive(snapshots, large, "hog")
    small = begin(snapshots, "calm", memory_bytes=1)
    assert [is_alive(snapshots, large, "hog"), is_alive(snapshots, small, "calm")] == [False, True]


async def test_of_two_equal_callers_the_one_who_wants_more_loses() -> None:
    snapshots = Snapshots(per_caller=16, max_snapshots=3)
    tokens = {begin(snapshots, name): name for name in ("first", "first", "second", "second")}
    assert [is_alive(snapshots, token, name) for token, name in tokens.items()] == [True, True, False, True]


async def test_a_replica_keeps_256_walks_of_64_mib_together() -> None:
    snapshots = Snapshots(per_caller=16)
    for number in range(257):
        begin(snapshots, f"user-{number}")
    assert len(snapshots) == 256

    snapshots, half = Snapshots(per_caller=16), 32 * 1024 * 1024
    begin(snapshots, "first", memory_bytes=half)
    begin(snapshots, "second", memory_bytes=half)
    assert len(snapshots) == 2
    begin(snapshots, "third", memory_bytes=1)
    assert len(snapshots) == 2
