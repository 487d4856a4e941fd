"""Custom kinds that the cluster does not serve for a while, or not in every version."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.eventually import eventually
from tests.unit.monitor.objects import OURS
from tests.unit.monitor.test_xapp_monitor import GROUP, OWNER, Setup, ref, setup, widget
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.kube import discovery
from xapp_operator.kube.watch import watch_cache

__all__ = ["setup"]

V2 = ref("Widget", api_version=f"{GROUP}/v2")
UNSERVED = (
    "Widget it: its health is unknown: the cluster does not serve its kind, or it is not watched yet. If the "
    f"CustomResourceDefinition for {GROUP}/v1 is gone, install it"
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MISSING_KIND_MAX_AGE_SECONDS", -1.0)
    for name in ("WATCH_BACKOFF", "DENIED_BACKOFF"):
        monkeypatch.setattr(watch_cache, name, Backoff(0.01, 0.01))


async def watch_widget(setup: Setup) -> None:
    """Watch version v1 of a healthy Widget."""
    setup.server.allowed.add("widgets")
    await setup.server.put("widgets", OURS, widget(conditions=[{"type": "Ready", "status": "True"}]))
    await setup.expect(ref("Widget"))
    assert setup.health() == (HealthStatus.HEALTHY, "")


async def serve(setup: Setup, *versions: str) -> None:
    """Serve these versions only, and wait until the monitor knows that it is not the watched one."""
    setup.server.versions = versions
    setup.changed.clear()
    await setup.server.of("widgets", OURS).end_watches()
    await eventually(lambda: setup.health() == (HealthStatus.UNKNOWN, UNSERVED), what="the end of the version")
    assert setup.changed == [OWNER]


def watches() -> int:
    return sum(each.get_name() == f"watch widgets.{GROUP} *" for each in asyncio.all_tasks())


async def test_what_the_watch_of_a_dropped_version_has_shown_no_longer_counts(setup: Setup) -> None:
    await watch_widget(setup)
    assert [each.watched for each in setup.monitor.release_objects(OWNER)] == [True]
    await serve(setup, "v2")
    await setup.monitor.watch_kinds(OWNER)
    assert setup.health() == (HealthStatus.UNKNOWN, UNSERVED)
    assert [(each.live, each.watched) for each in setup.monitor.release_objects(OWNER)] == [(None, False)]
    assert setup.monitor.interruption(OWNER) is None  # nothing comes that could be waited for
    assert setup.monitor.find_unlabelled(OWNER, {"a": "b"}) == []


@pytest.mark.parametrize("exists", [True, False])
async def test_another_version_is_watched_when_the_watched_one_is_dropped(setup: Setup, exists: bool) -> None:
    await watch_widget(setup)
    await serve(setup, "v2")
    if not exists:
        setup.server.of("widgets", OURS).objects.clear()
    await setup.expect(V2)
    missing = (HealthStatus.DEGRADED, "Widget it: is missing")
    assert setup.health() == ((HealthStatus.HEALTHY, "") if exists else missing)
    assert watches() == 1
    await setup.server.put("widgets", OURS, widget(conditions=[{"type": "Stalled", "status": "True"}]))
    await eventually(lambda: "Stalled" in setup.health()[1], what="the change to be seen")


async def test_a_version_that_is_served_again_is_watched_on(setup: Setup) -> None:
    await watch_widget(setup)
    await serve(setup)
    setup.changed.clear()
    setup.server.versions = ("v1",)
    await eventually(lambda: setup.health() == (HealthStatus.HEALTHY, ""), what="the version to be watched")
    assert setup.changed == [OWNER]


async def test_a_watch_that_fails_otherwise_does_not_make_old_objects_count(setup: Setup) -> None:
    await watch_widget(setup)
    await serve(setup)
    setup.server.refused.add("widgets")
    setup.server.versions = ("v1",)
    setup.server.paths.clear()
    await eventually(lambda: len(setup.server.paths) > 1, what="a watch that was refused")
    assert setup.health() == (HealthStatus.UNKNOWN, UNSERVED)


async def test_the_version_that_is_watched_stays_while_it_is_served(setup: Setup) -> None:
    setup.server.versions = ("v1", "v2")
    await watch_widget(setup)
    await setup.expect(V2)
    assert setup.health() == (HealthStatus.HEALTHY, "")
    assert not any(f"{GROUP}/v2/" in each for each in setup.server.paths)


async def test_a_version_that_was_dropped_too_is_not_watched_instead(setup: Setup) -> None:
    setup.server.versions = ("v1", "v2")
    await watch_widget(setup)
    await serve(setup)
    await setup.expect(V2)
    assert setup.health() == (HealthStatus.UNKNOWN, UNSERVED.replace("v1", "v2"))
    assert not any(f"{GROUP}/v2/" in each for each in setup.server.paths)


async def test_any_version_that_is_served_shows_the_objects_of_all(setup: Setup) -> None:
    setup.server.allowed.add("widgets")
    await setup.expect(ref("Widget"), V2)
    assert setup.health() == (HealthStatus.DEGRADED, "Widget it: is missing; Widget it: is missing")


async def test_a_kind_that_is_served_later_is_watched_then(setup: Setup) -> None:
    setup.server.versions = ()
    setup.server.allowed.add("widgets")
    await setup.expect(ref("Widget"))
    assert setup.health() == (HealthStatus.UNKNOWN, UNSERVED)
    setup.server.versions = ("v1",)
    await setup.monitor.watch_kinds(OWNER)
    assert setup.health() == (HealthStatus.DEGRADED, "Widget it: is missing")


async def test_kinds_that_are_known_cost_no_request(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "RESOURCES_MAX_AGE_SECONDS", -1.0)
    setup.server.allowed.add("widgets")
    await setup.expect(ref("Widget"), ref("Setting"), ref("Secret", api_version="v1"))
    setup.server.paths.clear()
    await setup.monitor.watch_kinds(OWNER)
    assert "/apis" not in setup.server.paths
