"""What a failed revision names and helm has not made stays, and so does what a person has taken over since."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm_records import record_secret, record_target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.kinds import DISCOVERY
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.test_leftovers import NAMED, SECONDS, configmaps, events, fail, install
from tests.unit.histories.test_leftovers_that_stay import THEIRS, is_there, store, upgrade
from xapp_operator.config.settings import Settings
from xapp_operator.kube import discovery

OWNED = {
    "labels": {"app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": NAMESPACE},
}
CONFIGMAP = THEIRS.format(kind="ConfigMap")
KEPT_LIST = """\
apiVersion: v1
kind: List
metadata: {annotations: {helm.sh/resource-policy: keep}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {tag: three}}
"""


def make_theirs(history: History, **metadata: Any) -> None:
    """Create a ConfigMap as a person does; its tag is that of the last revision, for the check of all histories."""
    body = {"metadata": {"name": "theirs", **metadata}, "data": {"tag": "three"}}
    history.cluster.server.create(Target("", "v1", "configmaps", NAMESPACE), body)


def change_record(history: History, revision: int, **change: Any) -> None:
    record = next(each for each in history.records if each["version"] == revision)
    secret = record_secret({**record, **change}, "modifiedAt", now=history.cluster.clock.now())
    history.cluster.server.patch(record_target(NAMESPACE, "hello", revision), secret)


async def install_plain(history: History, **spec: Any) -> Json:
    plain = store(history, a=NAMED)
    history.create(tag="one", archive=plain, upgrade={"onFailure": "none"}, **spec)
    await history.cluster.wait(SECONDS)
    return plain


@pytest.mark.parametrize("annotated", [False, True])
def test_what_was_taken_over_stays_when_adopt_is_off_again(settings: Settings, annotated: bool) -> None:
    """Helm also takes over what a person gives its label and annotations, without `adopt`."""

    async def play(history: History) -> None:
        make_theirs(history, **(OWNED if annotated else {}))
        plain = await install_plain(history)
        fail(history, "two", writes=3)
        await upgrade(history, "two", adopt=not annotated, archive=store(history, a=NAMED, b=CONFIGMAP))
        await upgrade(history, "three", adopt=False, archive=plain)
        assert configmaps(history) == ["hello-three", "theirs"]
        assert any("helm has not made them: ConfigMap/theirs" in each for each in events(history, "LeftBehind"))

    run_history(settings, play)


def test_what_a_person_made_between_two_tries_stays(settings: Settings) -> None:
    """The record of the first try names it, and is older."""

    async def play(history: History) -> None:
        plain = await install_plain(history, adopt=True)
        fail(history, "two", writes=1)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=CONFIGMAP))
        make_theirs(history)
        fail(history, "two", writes=3)
        history.annotate("retry-at")
        await history.cluster.wait(SECONDS)
        await upgrade(history, "three", archive=plain)
        assert is_there(history, "configmaps", "theirs")

    run_history(settings, play)


@pytest.mark.parametrize("adopt", [False, True])
def test_what_earlier_revisions_have_made_goes(settings: Settings, adopt: bool) -> None:
    """It is older than the last revision after which nothing was left."""

    async def play(history: History) -> None:
        plain = await install_plain(history, adopt=adopt, maxHistory=20)
        fail(history, "two")
        both = store(history, a=NAMED, b=CONFIGMAP)
        for tag in ("three", "one", "two", "three"):  # after the failure, the next one is such a revision
            await upgrade(history, tag, archive=both)
        await upgrade(history, "two", archive=plain)
        assert [history.cluster.revisions[each] for each in (4, 6)] == ["failed", "failed"]
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-one"]

    run_history(settings, play)


def test_what_another_tool_manages_now_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        plain = await install_plain(history)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=CONFIGMAP))
        taken = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "argocd", "xapp-operator.io/xapp": None}}}
        history.cluster.server.patch(Target("", "v1", "configmaps", NAMESPACE, "theirs"), taken)
        await upgrade(history, "three", archive=plain)
        assert configmaps(history) == ["hello-three", "theirs"]

    run_history(settings, play)


def test_what_is_in_a_list_that_helm_keeps_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        plain = await install_plain(history)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=CONFIGMAP))
        manifest = next(each for each in history.records if each["version"] == 2)["manifest"]
        assert CONFIGMAP in manifest
        change_record(history, 2, manifest=manifest.replace(CONFIGMAP, KEPT_LIST))
        await upgrade(history, "three", archive=plain)
        assert configmaps(history) == ["hello-three", "theirs"]

    run_history(settings, play)


def test_a_failed_revision_whose_objects_are_not_known_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        await upgrade(history, "two")
        change_record(history, 2, manifest="a: [1\n")
        await upgrade(history, "three")
        (told,) = events(history, "LeftBehind")
        assert told.startswith("it is not known whether helm has left objects of revisions that failed: revision 2: ")
        left = Target("", "v1", "configmaps", NAMESPACE, "hello-two")
        history.cluster.server.delete(left, {})

    run_history(settings, play)


def test_what_is_of_a_kind_that_is_not_known_for_now_goes_later(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An aggregated API server does not answer, so the cluster does not say whether it serves its kinds."""
    monkeypatch.setattr(discovery, "MISSING_KIND_MAX_AGE_SECONDS", -1.0)
    job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: hello}\nspec: {schedule: '1 1 1 1 1'}\n"
    served = DISCOVERY["/apis"]
    stale = [{"version": "v1", "freshness": "Stale", "resources": []}]
    groups = [
        {**group, "versions": stale} if group["metadata"]["name"] == "batch" else group for group in served["items"]
    ]

    async def play(history: History) -> None:
        plain = await install_plain(history)
        fail(history, "two", writes=4)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=job))
        monkeypatch.setitem(DISCOVERY, "/apis", {**served, "items": groups})
        history.cluster.restart()
        await upgrade(history, "three", archive=plain)
        assert is_there(history, "cronjobs", "hello")
        assert "the API server of the group batch does not answer" in events(history, "LeftBehind")[0]
        monkeypatch.setitem(DISCOVERY, "/apis", served)
        await history.cluster.wait(120.0)
        assert not is_there(history, "cronjobs", "hello")

    run_history(settings, play)


def test_all_of_a_long_history_is_looked_at(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"}, maxHistory=50)
        fail(history, "two")
        await upgrade(history, "two")
        fail(history, "three", writes=1)
        history.set_tag("three")
        for _ in range(21):
            history.annotate("retry-at")
            await history.cluster.wait(6.0)
        assert len(history.cluster.revisions) > 21
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three"]

    run_history(settings, play)
