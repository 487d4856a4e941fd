"""A kind of the chart that the cluster does not serve for a while."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.kinds import DISCOVERY, KINDS, discovery_of_kinds
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import store
from tests.unit.histories.test_removals import events
from xapp_operator.config.settings import Settings
from xapp_operator.kube import discovery

GROUP = ("example.com", "v1")
WIDGET = Target(*GROUP, "widgets", NAMESPACE, "hello")
TEMPLATE = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: hello}
"""


@pytest.fixture(autouse=True)
def widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the kind Widget, and read at each miss what is served."""
    monkeypatch.setattr(discovery, "MISSING_KIND_MAX_AGE_SECONDS", -1.0)
    monkeypatch.setitem(KINDS, GROUP, {"widgets": ("Widget", True)})
    monkeypatch.setitem(DISCOVERY, "/apis", discovery_of_kinds(core=False))


@pytest.mark.parametrize("back", [True, False])
def test_a_kind_that_is_away_when_the_operator_starts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    """The resync finds it, and whether its object came back; otherwise it is drift."""

    async def play(history: History) -> None:
        chart = store(history, cm=CONFIGMAP, widget=TEMPLATE)
        history.create(archive=chart, driftDetection={"mode": "enabled"})
        cluster, served = history.cluster, DISCOVERY["/apis"]
        assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        found = cluster.server.get(WIDGET)
        others = [each for each in served["items"] if each["metadata"]["name"] != GROUP[0]]
        monkeypatch.setitem(DISCOVERY, "/apis", {**served, "items": others})
        cluster.server.delete(WIDGET, {})
        cluster.restart()
        await cluster.wait(2.0 * settings.resync_seconds)
        assert not history.outcome.startswith("Ready")
        assert "does not serve its kind" in str(cluster.xapp())
        monkeypatch.setitem(DISCOVERY, "/apis", served)
        if back:
            cluster.server.create(WIDGET, {**found, "metadata": {**found["metadata"]}})
        assert await cluster.wait_for(
            lambda: history.outcome.startswith("Ready") and cluster.server.find("widgets", "hello") is not None,
            seconds=1.5 * settings.resync_seconds,
        )

    run_history(settings, play)


NO_MATCHES = (
    "UPGRADE FAILED: unable to build kubernetes objects from {whose} release manifest: resource mapping not found for "
    'name: "hello" namespace: "" from "": no matches for kind "Widget" in version "example.com/v1"'
)


async def lose_the_kind(history: History, monkeypatch: pytest.MonkeyPatch, **spec: Any) -> None:
    """Deploy an object of a kind whose definition is deleted then, and the object with it."""
    history.create(archive=store(history, cm=CONFIGMAP, widget=TEMPLATE), **spec)
    assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
    await delete_definition(history, monkeypatch)


async def delete_definition(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, served = history.cluster, DISCOVERY["/apis"]
    others = [each for each in served["items"] if each["metadata"]["name"] != GROUP[0]]
    monkeypatch.setitem(DISCOVERY, "/apis", {**served, "items": others})
    cluster.server.delete(WIDGET, {})
    await cluster.wait(10.0)


def manifests(history: History) -> list[bool]:
    """Return which stored revisions have the object."""
    return ["kind: Widget" in each["manifest"] for each in history.records]


def test_an_upgrade_from_a_revision_with_a_kind_that_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """helm reads the old manifest first, and would never get to the new one, which does not have the kind."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current"))]
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=15.0)
        assert manifests(history) == [False, False]

    history = run_history(settings, play)
    assert events(history, "UpgradeFailed") == []
    told = (
        "changed the record of revision 1, because the cluster does not serve all of its kinds and versions: "
        "Widget hello was removed"
    )
    assert events(history, "UnservedKinds") == [("Normal", told)]


@pytest.mark.parametrize("gone", [True, False])
def test_helm_forgets_the_kinds_that_it_knows_only_if_one_of_the_release_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        history.create(archive=store(history, cm=CONFIGMAP, widget=TEMPLATE))
        assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        if gone:
            await delete_definition(history, monkeypatch)
        assert cluster.runtime is not None
        known = cluster.runtime._context.helm._workspace.discovery / "served.json"
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text("{}")
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=15.0)
        assert known.exists() == (not gone)

    run_history(settings, play)


def test_the_event_says_what_became_of_an_object_with_a_long_name(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "w" * 70

    async def play(history: History) -> None:
        cluster, served = history.cluster, DISCOVERY["/apis"]
        history.create(archive=store(history, cm=CONFIGMAP, widget=TEMPLATE.replace("hello", name)))
        assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        others = [each for each in served["items"] if each["metadata"]["name"] != GROUP[0]]
        monkeypatch.setitem(DISCOVERY, "/apis", {**served, "items": others})
        cluster.server.delete(replace(WIDGET, name=name), {})
        await cluster.wait(10.0)
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current"))]
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=15.0)

    history = run_history(settings, play)
    [(_, message)] = events(history, "UnservedKinds")
    assert message.endswith(f": Widget {name} was removed")


def test_a_changed_record_is_told_although_the_upgrade_fails_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current")), Fault("etcdserver: request timed out")]
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=15.0)

    history = run_history(settings, play)
    assert len(events(history, "UnservedKinds")) == 1


def test_a_changed_record_is_told_although_a_change_of_the_spec_ends_the_upgrade(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        cluster.helm.pause = 3.0
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current"))]
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: manifests(history) == [False], seconds=15.0)
        history.edit(maxHistory=7)
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=30.0)

    history = run_history(settings, play)
    assert len(events(history, "UnservedKinds")) == 1


def test_the_deployed_revision_is_in_force_although_a_newer_one_has_failed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        cluster.helm.faults = [Fault("Error: no", writes=1), Fault(NO_MATCHES.format(whose="current"))]
        history.set_tag("two")
        revisions = {1: "superseded", 2: "failed", 3: "deployed"}
        assert await cluster.wait_for(lambda: cluster.revisions == revisions, seconds=30.0)
        assert manifests(history) == [False, True, True]

    run_history(settings, play)


def test_the_newest_revision_is_in_force_if_none_is_deployed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        history.set_tag("two")
        assert await cluster.wait_for(lambda: cluster.revisions == {1: "superseded", 2: "deployed"}, seconds=15.0)
        await cluster.wait(5.0)
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current"))]
        history.leave_behind("failed")
        history.edit(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=30.0)
        assert manifests(history) == [True, False, False]

    run_history(settings, play)


def test_an_uninstall_of_a_newest_revision_with_a_kind_that_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        history.create(archive=store(history, cm=CONFIGMAP))
        assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        history.edit(archive=store(history, cm=CONFIGMAP, widget=TEMPLATE))
        assert await cluster.wait_for(lambda: history.outcome == "Ready UpgradeSucceeded", seconds=60.0)
        await delete_definition(history, monkeypatch)
        cluster.helm.faults = [Fault(NO_MATCHES.format(whose="current"))]
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=60.0)

    assert events(run_history(settings, play), "UninstallFailed") == []


def test_an_upgrade_to_a_kind_that_is_gone_leaves_the_record_as_it_is(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await lose_the_kind(history, monkeypatch)
        current, new = (Fault(NO_MATCHES.format(whose=each)) for each in ("current", "new"))
        cluster.helm.faults = [current, new] * 20
        history.set_tag("two")
        await cluster.wait(20.0)
        message = (cluster.condition("Ready") or {})["message"]
        assert "kind Widget of example.com/v1, which the new manifest has" in message
        assert manifests(history) == [True]
        await cluster.wait(60.0)

    run_history(settings, play)


def test_it_is_not_known_whether_an_object_of_a_kind_that_is_gone_has_drifted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(history: History) -> None:
        await lose_the_kind(history, monkeypatch, driftDetection={"mode": "warn"})
        history.annotate("reconcile-at")
        await history.cluster.wait(10.0)
        drifted = history.cluster.condition("Drifted") or {}
        assert (drifted["status"], drifted["reason"]) == ("Unknown", "DriftUnknown")
        assert drifted["message"].endswith("Widget hello: the cluster does not serve its kind of example.com/v1")

    run_history(settings, play)
