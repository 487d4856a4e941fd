"""Uninstalls that fail, or are killed, while helm deletes the records: what older revisions had goes all the same."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused, Target, target_of
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_records import objects_of, owned, record_secret, record_target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE, Kill
from tests.unit.histories.generation import PASSING
from tests.unit.histories.test_leftovers import SECONDS, configmaps, events, fail, install
from tests.unit.histories.test_leftovers_of_persons import change_record
from tests.unit.histories.test_leftovers_that_stay import MANY, store, upgrade
from tests.unit.histories.test_removals import LABELS, OWNER, wait_gone
from tests.unit.histories.test_removals_elsewhere import is_search
from xapp_operator.config.settings import Settings
from xapp_operator.helm.releases import release_storage
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.verbs.labelled_objects import INSTALLED_ANEW, PROTECTED_MESSAGE

WRITES = range(9)
"""Of an uninstall: the status, a Deployment, a ConfigMap, and three records; and some that are not reached."""
OLD = Target("", "v1", "configmaps", NAMESPACE, "old")
CLAIM = Target("", "v1", "persistentvolumeclaims", NAMESPACE, "claim")


async def install_and_fail_twice(history: History, *, labelled: bool = True) -> None:
    """Make three revisions with a ConfigMap each: a good one, and two that fail.

    helm writes the operator's label with each object, as its post-renderer does, if `labelled`.
    """
    await install(history, upgrade={"onFailure": "none"})
    fail(history, "two")
    await upgrade(history, "two")
    fail(history, "three", writes=1)
    await upgrade(history, "three")
    assert {"hello-one", "hello-two"} <= set(configmaps(history))
    for name in configmaps(history):
        labels = {each: value if labelled else None for each, value in LABELS.items()}
        history.cluster.server.patch(Target("", "v1", "configmaps", NAMESPACE, name), {"metadata": {"labels": labels}})
    await history.cluster.wait(5.0)


async def delete_and_kill(history: History, *, write: int = 4) -> None:
    """Delete the XApp; helm and the operator are killed then, by default after the first record."""
    history.cluster.kill = Kill(write, after=False)
    history.delete()
    await wait_gone(history, seconds=300.0)


@pytest.mark.parametrize("write", WRITES)
def test_objects_of_older_revisions_go_although_helm_fails_between_records(settings: Settings, write: int) -> None:
    """What was found before the first try is known, so no labels are needed."""
    searched: list[str] = []

    async def play(history: History) -> None:
        await install_and_fail_twice(history, labelled=False)
        history.cluster.helm.faults = [Fault(PASSING, write)]
        history.cluster.refuse = lambda request: searched.append(request.path) if is_search(request) else None
        history.delete()
        await wait_gone(history, seconds=300.0)
        assert configmaps(history) == []

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []
    assert searched == []


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_objects_of_older_revisions_go_although_the_operator_was_killed(
    settings: Settings, write: int, after: bool
) -> None:
    async def play(history: History) -> None:
        await install_and_fail_twice(history)
        history.cluster.kill = Kill(write, after=after)
        history.delete()
        await wait_gone(history, seconds=300.0)
        assert configmaps(history) == []

    assert events(run_history(settings, play), "LeftBehind") == []


@pytest.mark.parametrize(("write", "searched"), [(3, False), (4, True)])
def test_labels_are_searched_only_if_records_may_be_gone(settings: Settings, write: int, searched: bool) -> None:
    """helm deletes the oldest record first: if that is there, all are."""
    paths: list[str] = []

    async def play(history: History) -> None:
        await install_and_fail_twice(history)
        history.cluster.refuse = lambda request: paths.append(request.path) if is_search(request) else None
        await delete_and_kill(history, write=write)
        assert history.cluster.lives == 2

    run_history(settings, play)
    assert bool(paths) is searched


def leave(history: History, target: Target) -> None:
    """Create an object with the labels of the release."""
    body = {"metadata": {"name": target.name, "labels": LABELS, "annotations": OWNER}, "data": {"tag": "three"}}
    history.cluster.server.create(target, body)


@pytest.mark.parametrize("adopt", [False, True])
def test_what_may_be_taken_over_and_what_may_hold_data_stays_after_an_uninstall(
    settings: Settings, adopt: bool
) -> None:
    async def play(history: History) -> None:
        leave(history, OLD)
        await history.cluster.wait(5.0)
        await install_and_fail_twice(history)
        history.edit(adopt=adopt)
        leave(history, CLAIM)
        await history.cluster.wait(SECONDS)
        await delete_and_kill(history)
        assert configmaps(history) == (["hello-one", "old"] if adopt else ["old"])
        history.removed.clear()

    told = events(run_history(settings, play), "LeftBehind")
    names = "ConfigMap/hello-one, ConfigMap/old" if adopt else "ConfigMap/old"
    assert told == [f"{PROTECTED_MESSAGE}PersistentVolumeClaim/claim, {names}"]


def test_a_kind_without_an_answer_after_an_uninstall_is_told_at_once(settings: Settings) -> None:
    def check(request: ApiRequest) -> None:
        if is_search(request) and request.path.endswith("/services"):
            raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")

    async def play(history: History) -> None:
        await install_and_fail_twice(history)
        history.cluster.refuse = check
        await delete_and_kill(history)
        assert configmaps(history) == []

    (message,) = events(run_history(settings, play), "LeftBehind")
    assert message.startswith("given up after the uninstall; check them yourself: services: ")


def test_a_search_that_is_too_slow_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_and_fail_twice(history)
        history.cluster.latency = lambda request: 20.0 if is_search(request) else 0.0
        await delete_and_kill(history)
        history.removed.clear()

    (message,) = events(run_history(settings, play), "LeftBehind")
    assert message.endswith("objects with the label xapp-operator.io/xapp=hello: there was no time within 60 s")


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("refusal", [Refused(500, "InternalError", "no leader"), Refused(403, "Forbidden", "no right")])
def test_records_that_cannot_be_read_are_told_and_what_has_the_labels_goes(
    settings: Settings, refusal: Refused, labelled: bool
) -> None:
    def check(request: ApiRequest) -> None:
        if request.method == "GET" and request.path.endswith("/sh.helm.release.v1.hello.v2"):
            raise refusal

    async def play(history: History) -> None:
        await install_and_fail_twice(history, labelled=labelled)
        history.cluster.refuse = check
        history.delete()
        await wait_gone(history)
        assert configmaps(history) == ([] if labelled else ["hello-one", "hello-two"])
        history.removed.clear()

    (message,) = events(run_history(settings, play), "LeftBehind")
    assert message.startswith("it is not known whether helm has left objects of revisions that failed: ")


def test_a_newest_record_that_is_too_large_is_told_and_what_has_the_labels_goes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """helm reads it, and uninstalls the release."""
    monkeypatch.setattr(release_storage, "JSON_VALUES_MAX", 1000)

    async def play(history: History) -> None:
        await install_and_fail_twice(history)
        change_record(history, 3, config={"tag": "three", "numbers": [1] * 1000})
        history.delete()
        await wait_gone(history)
        assert configmaps(history) == []

    (message,) = events(run_history(settings, play), "LeftBehind")
    assert message.endswith(": the record of revision 3 cannot be read")


def install_by_hand(history: History, record: Json) -> None:
    """Install the objects of a record anew, as a person does after the uninstall."""
    server, now = history.cluster.server, history.cluster.clock.now()
    server.create(record_target(NAMESPACE, "hello", 1), record_secret(record, "createdAt", now=now))
    for each in objects_of(record["manifest"]):
        server.apply(target_of(each, namespace=NAMESPACE), owned(each, "hello", NAMESPACE), manager="helm")


@pytest.mark.parametrize("killed", [False, True])
def test_what_a_person_installs_after_the_uninstall_stays(settings: Settings, killed: bool) -> None:
    """helm takes over what the uninstall has left, while the operator deletes it."""

    async def play(history: History) -> None:
        history.create(tag="one", archive=store(history, a=MANY), upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=22)
        await upgrade(history, "two")
        two = history.records[-1]
        fail(history, "three", writes=1)
        await upgrade(history, "three")
        for name in configmaps(history):
            target = Target("", "v1", "configmaps", NAMESPACE, name)
            history.cluster.server.patch(target, {"metadata": {"labels": LABELS}})
        history.cluster.latency = lambda request: 1.0 if "/configmaps/hello-" in request.path else 0.0
        history.cluster.server.lag = 0.0  # the operator goes by the watch
        if killed:
            history.cluster.kill = Kill(3, after=False)
        history.delete()
        assert await history.cluster.wait_for(lambda: not history.cluster.revisions, seconds=100.0)
        install_by_hand(history, {**two, "version": 1, "labels": {}, "info": {**two["info"], "status": "deployed"}})
        await wait_gone(history, seconds=200.0)
        gone = {f"hello-two-{each}" for each in range(20)} - set(configmaps(history))
        assert len(gone) <= 1  # the one that was being deleted at that moment
        history.removed.clear()

    assert INSTALLED_ANEW in events(run_history(settings, play), "LeftBehind")
