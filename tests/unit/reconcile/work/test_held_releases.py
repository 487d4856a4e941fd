"""A release is held by one XApp at a time."""

from __future__ import annotations

import pytest

from xapp_operator.errors import ReleaseHeld
from xapp_operator.reconcile.work.held_releases import HeldReleases
from xapp_operator.reconcile.work.work_queue import NamespacedName

RELEASE = ("ns", "hello")


@pytest.fixture
def freed() -> list[tuple[NamespacedName, str]]:
    return []


@pytest.fixture
def held(freed: list[tuple[NamespacedName, str]]) -> HeldReleases:
    return HeldReleases(on_free=lambda *free: freed.append(free))


def test_a_release_is_held_until_the_block_ends(held: HeldReleases, freed: list[tuple[NamespacedName, str]]) -> None:
    assert not held.is_held_by_other(RELEASE, "b")
    with held.hold(RELEASE, "a"):
        assert [held.is_held_by_other(RELEASE, uid) for uid in ("a", "b")] == [False, True]
        assert freed == []
    assert freed == [(RELEASE, "a")]
    assert not held.is_held_by_other(RELEASE, "b")


@pytest.mark.parametrize("uid", ["a", "b"])
def test_a_release_is_held_once(held: HeldReleases, freed: list[tuple[NamespacedName, str]], uid: str) -> None:
    with held.hold(RELEASE, "a"):
        with pytest.raises(ReleaseHeld, match=r"^another helm process works on the release hello$") as raised:
            held.hold(RELEASE, uid).__enter__()
        assert not raised.value.permanent
        assert held.is_held_by_other(RELEASE, "b")
        assert freed == []
    with held.hold(RELEASE, uid):
        pass


def test_releases_of_other_names_and_namespaces_are_free(held: HeldReleases) -> None:
    with held.hold(RELEASE, "a"), held.hold(("ns", "other"), "a"), held.hold(("other", "hello"), "b"):
        assert held.is_held_by_other(("other", "hello"), "a")
    assert not held.is_held_by_other(("other", "hello"), "a")


def test_a_release_is_free_after_an_error(held: HeldReleases, freed: list[tuple[NamespacedName, str]]) -> None:
    error = RuntimeError("helm is gone")
    with pytest.raises(RuntimeError), held.hold(RELEASE, "a"):
        raise error
    assert freed == [(RELEASE, "a")]
    assert not held.is_held_by_other(RELEASE, "b")
