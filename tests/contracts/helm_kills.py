"""What a helm that gets SIGKILL in the middle of a step leaves in Helm's storage and in the cluster.

Each step is killed before each of its writes. So the tests also tell the writes of each step, and their order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.contracts.helm import HelmSubject
from xapp_operator.errors import HelmError, NotFound
from xapp_operator.helm.releases.release_storage import restore_release
from xapp_operator.kube.resources import CONFIGMAPS, DEPLOYMENTS, Resource

KillBefore = Callable[[int], None]
"""Lets helm get SIGKILL before that write of its next step, counted from 0."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is there after a kill: the status of each revision, and the text that each object was applied with."""

    statuses: Mapping[int, str]
    config_map: str | None = None
    deployment: str | None = None


INSTALL: Final = {
    "creates its record": Left({}),
    "applies the ConfigMap": Left({1: "pending-install"}),
    "applies the Deployment": Left({1: "pending-install"}, "one"),
    "marks its record as deployed": Left({1: "pending-install"}, "one", "one"),
}
UPGRADE: Final = {
    "creates its record": Left({1: "deployed"}, "one", "one"),
    "applies the ConfigMap": Left({1: "deployed", 2: "pending-upgrade"}, "one", "one"),
    "applies the Deployment": Left({1: "deployed", 2: "pending-upgrade"}, "two", "one"),
    "marks the record before it as superseded": Left({1: "deployed", 2: "pending-upgrade"}, "two", "two"),
    "marks its record as deployed": Left({1: "superseded", 2: "pending-upgrade"}, "two", "two"),
}
ROLLBACK: Final = {
    "creates its record": Left({1: "superseded", 2: "deployed"}, "two", "two"),
    "applies the ConfigMap": Left({1: "superseded", 2: "deployed", 3: "pending-rollback"}, "two", "two"),
    "applies the Deployment": Left({1: "superseded", 2: "deployed", 3: "pending-rollback"}, "one", "two"),
    "marks the record before it as superseded": Left(
        {1: "superseded", 2: "deployed", 3: "pending-rollback"}, "one", "one"
    ),
    "marks its record as deployed": Left({1: "superseded", 2: "superseded", 3: "pending-rollback"}, "one", "one"),
}
UNINSTALL: Final = {
    "marks its record as uninstalling": Left({1: "superseded", 2: "deployed"}, "two", "two"),
    "deletes the Deployment": Left({1: "superseded", 2: "uninstalling"}, "two", "two"),
    "deletes the ConfigMap": Left({1: "superseded", 2: "uninstalling"}, "two"),
    "deletes the first record": Left({1: "superseded", 2: "uninstalling"}),
    "deletes the newest record": Left({2: "uninstalling"}),
}


def before_each(writes: Mapping[str, Left]) -> pytest.MarkDecorator:
    cases = [pytest.param(number, left, id=f"before it {what}") for number, (what, left) in enumerate(writes.items())]
    return pytest.mark.parametrize(("write", "left"), cases)


class HelmKillContract:
    """`helm` is the subject, whose namespace is empty; `kill_before` kills its next step."""

    @before_each(INSTALL)
    async def test_killed_install(self, helm: HelmSubject, kill_before: KillBefore, write: int, left: Left) -> None:
        kill_before(write)

        await _die(helm.engine.install(helm.request()))

        assert await _left_by(helm) == left
        await _uninstall_all(helm)

    @before_each(UPGRADE)
    async def test_killed_upgrade(self, helm: HelmSubject, kill_before: KillBefore, write: int, left: Left) -> None:
        await helm.engine.install(helm.request())
        kill_before(write)

        await _die(helm.engine.upgrade(helm.request(text="two")))

        assert await _left_by(helm) == left
        await _uninstall_all(helm)

    @before_each(ROLLBACK)
    async def test_killed_rollback(self, helm: HelmSubject, kill_before: KillBefore, write: int, left: Left) -> None:
        await helm.engine.install(helm.request())
        await helm.engine.upgrade(helm.request(text="two"))
        kill_before(write)

        await _die(helm.engine.rollback(helm.rollback(1)))

        assert await _left_by(helm) == left
        await _uninstall_all(helm)

    @before_each(UNINSTALL)
    async def test_killed_uninstall(self, helm: HelmSubject, kill_before: KillBefore, write: int, left: Left) -> None:
        await helm.engine.install(helm.request())
        await helm.engine.upgrade(helm.request(text="two"))
        kill_before(write)

        await _die(helm.engine.uninstall(helm.uninstall))

        assert await _left_by(helm) == left
        await _uninstall_all(helm)

    async def test_a_killed_uninstall_that_has_deleted_nothing_can_be_undone(
        self, helm: HelmSubject, kill_before: KillBefore
    ) -> None:
        await helm.engine.install(helm.request())
        kill_before(1)
        await _die(helm.engine.uninstall(helm.uninstall))
        assert await _left_by(helm) == Left({1: "uninstalling"}, "one", "one")

        with pytest.raises(HelmError, match="has no deployed releases"):
            await helm.engine.upgrade(helm.request(text="two"))
        await helm.set_status(1, "deployed", lambda secret: restore_release(secret, status="deployed"))
        await helm.engine.upgrade(helm.request(text="two"))
        assert await _left_by(helm) == Left({1: "superseded", 2: "deployed"}, "two", "two")

    async def test_steps_make_no_other_writes(self, helm: HelmSubject, kill_before: KillBefore) -> None:
        kill_before(len(INSTALL))
        await helm.engine.install(helm.request())
        kill_before(len(UPGRADE))
        await helm.engine.upgrade(helm.request(text="two"))
        kill_before(len(ROLLBACK))
        await helm.engine.rollback(helm.rollback(1))
        assert await _left_by(helm) == Left({1: "superseded", 2: "superseded", 3: "deployed"}, "one", "one")
        kill_before(len(UNINSTALL) + 1)  # there is one record more
        assert await helm.engine.uninstall(helm.uninstall) == ()
        assert await _left_by(helm) == Left({})


async def _die(step: Awaitable[object]) -> None:
    with pytest.raises(HelmError) as killed:
        await step
    assert not killed.value.permanent


async def _left_by(helm: HelmSubject) -> Left:
    return Left(
        await helm.statuses(),
        await _find(helm, CONFIGMAPS, lambda found: found["data"]["text"]),
        await _find(helm, DEPLOYMENTS, lambda found: found["spec"]["template"]["spec"]["containers"][0]["image"]),
    )


async def _find(helm: HelmSubject, resource: Resource, read: Callable[[dict[str, Any]], str]) -> str | None:
    """Return the text that an object of the chart was applied with, or None without the object."""
    try:
        return read(await helm.kube.get(resource, "hello", namespace=helm.namespace)).rpartition(":")[2]
    except NotFound:
        return None


async def _uninstall_all(helm: HelmSubject) -> None:
    """Nothing that is left keeps a later helm from removing all of it."""
    assert not await helm.engine.uninstall(helm.uninstall)  # None: there is no record
    assert await _left_by(helm) == Left({})
