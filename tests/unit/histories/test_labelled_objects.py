"""What a deletion without a readable record deletes by its labels: nothing of others, and each object by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import delete_record, write_record
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import allow, forbidden, refuse, store
from tests.unit.histories.test_removals import (
    LABELS,
    OWNER,
    delete_namespace,
    events,
    install,
    is_gone,
    wait_gone,
)
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.verbs.labelled_objects import DELETE_TRIES, PROTECTED_MESSAGE
from xapp_operator.reconcile.verbs.uninstall import OTHER_SECRETS_LEFT

NAMESPACES = Target("", "v1", "namespaces", "", "theirs")
CLAIMS = Target("", "v1", "persistentvolumeclaims", NAMESPACE, "theirs")
SECRETS = Target("", "v1", "secrets", NAMESPACE)
NAMES = ("a", "b", "c")
CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata: {{tag: one}}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec: {template: {spec: {containers: [{name: a}]}}}\n"


def owned(target: Target) -> Json:
    """Return an object that the release has taken over."""
    return {"metadata": {"name": target.name, "labels": LABELS, "annotations": OWNER}}


def names(history: History, plural: str) -> set[str]:
    return {each["metadata"]["name"] for each in history.cluster.server.all(plural)}


async def install_configmaps(history: History) -> None:
    """Install a release with a ConfigMap of each of NAMES, and delete its record."""
    await install(history, archive=store(history, **{each: CONFIGMAP.format(each) for each in NAMES}))
    delete_record(history, 1)


async def lose_the_record(history: History) -> None:
    delete_record(history, 1)
    history.cluster.restart()
    history.delete()


async def damage_the_record(history: History) -> None:
    write_record(history, 1, {"data": {"release": "eHg="}})
    history.delete()


async def delete_the_namespace(history: History) -> None:
    delete_record(history, 1)
    history.uninstall_by_hand()
    delete_namespace(history)


Loss = Callable[[History], Coroutine[Any, Any, None]]


@pytest.mark.parametrize("how", [lose_the_record, damage_the_record, delete_the_namespace])
@pytest.mark.parametrize("adopt", [False, True])
def test_a_namespace_that_may_be_taken_over_stays(settings: Settings, how: Loss, adopt: bool) -> None:
    """It is older than the XApp. With `adopt`, a younger one may be taken over too."""

    async def play(history: History) -> None:
        server = history.cluster.server
        if not adopt:
            server.create(NAMESPACES, owned(NAMESPACES))
        await history.cluster.wait(5.0)
        await install(history, adopt=adopt)
        if adopt:
            server.create(NAMESPACES, owned(NAMESPACES))
        await history.cluster.wait(5.0)
        await how(history)
        await wait_gone(history, seconds=120.0)
        assert "theirs" in names(history, "namespaces")
        assert history.live_tags == set()

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [("Warning", PROTECTED_MESSAGE + "Namespace/theirs")]


def test_a_claim_that_the_release_has_created_goes(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.server.create(CLAIMS, owned(CLAIMS))
        await lose_the_record(history)
        await wait_gone(history)
        assert names(history, "persistentvolumeclaims") == set()

    assert events(run_history(settings, play), "LeftBehind") == []


GIVEN_UP = "given up after spec.timeout; check them yourself: "
REFUSALS = [
    (forbidden("a"), "these objects may not be deleted, and stay: "),
    (Refused(422, "Invalid", "a policy denied the request"), GIVEN_UP),
    (Refused(500, "InternalError", "no answer of a webhook"), GIVEN_UP),
]


@pytest.mark.parametrize(("refusal", "heading"), REFUSALS, ids=["forbidden", "invalid", "no answer"])
def test_an_object_that_may_not_be_deleted_does_not_keep_the_others(
    settings: Settings, refusal: Refused, heading: str
) -> None:
    async def play(history: History) -> None:
        await install_configmaps(history)
        refuse(history, "DELETE", "/configmaps/a", refusal)
        history.delete()
        await wait_gone(history, seconds=TIMEOUT_SECONDS + 90.0)
        assert names(history, "configmaps") == {"a"}
        history.removed.clear()

    ((_, message),) = events(run_history(settings, play), "LeftBehind")
    assert message == f"{heading}ConfigMap/a: {refusal}"


def test_all_objects_that_may_not_be_deleted_are_named_in_one_event(settings: Settings) -> None:
    def check(request: ApiRequest) -> None:
        if request.method == "DELETE" and "/configmaps/" in request.path:
            raise forbidden("configmaps")

    async def play(history: History) -> None:
        await install_configmaps(history)
        history.cluster.refuse = check
        history.delete()
        await wait_gone(history)
        history.removed.clear()

    ((_, message),) = events(run_history(settings, play), "LeftBehind")
    assert "ConfigMap/a, ConfigMap/b, ConfigMap/c: " in message


def test_an_object_that_is_refused_for_now_is_deleted_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_configmaps(history)
        refuse(history, "DELETE", "/configmaps/a", Refused(500, "InternalError", "no answer of a webhook"))
        history.delete()
        await history.cluster.wait(TIMEOUT_SECONDS / 3)
        assert names(history, "configmaps") == {"a"}
        assert not is_gone(history)
        allow(history)
        await wait_gone(history)
        assert names(history, "configmaps") == set()

    assert events(run_history(settings, play), "LeftBehind") == []


TAKEN_OVER: list[Json] = [
    {"labels": {"xapp-operator.io/xapp": None}},
    {"annotations": {"meta.helm.sh/release-name": None}},
]


@pytest.mark.parametrize("change", TAKEN_OVER, ids=json.dumps)
def test_an_object_that_is_taken_over_after_it_was_listed_stays(settings: Settings, change: Json) -> None:
    async def play(history: History) -> None:
        cluster, target = history.cluster, Target("", "v1", "configmaps", NAMESPACE, "b")

        def take_over(request: ApiRequest) -> None:
            if request.method == "DELETE" and request.path.endswith("/configmaps/a"):
                allow(history)
                cluster.server.patch(target, {"metadata": change})

        await install_configmaps(history)
        cluster.refuse = take_over
        history.delete()
        await wait_gone(history)
        assert names(history, "configmaps") == {"b"}
        history.removed.clear()

    assert events(run_history(settings, play), "LeftBehind") == []


@pytest.mark.parametrize("changes", [1, DELETE_TRIES, 1000])
def test_an_object_that_changes_while_it_is_deleted_goes(settings: Settings, changes: int) -> None:
    """One that always changes is given up after `spec.timeout`."""
    left = [changes]

    async def play(history: History) -> None:
        cluster, target = history.cluster, Target("", "v1", "configmaps", NAMESPACE, "b")

        def touch(request: ApiRequest) -> None:
            if request.method == "DELETE" and request.path.endswith("/configmaps/b") and left[0]:
                left[0] -= 1
                cluster.server.patch(target, {"data": {"changed": str(left[0])}})

        await install_configmaps(history)
        cluster.refuse = touch
        history.delete()
        await wait_gone(history, seconds=TIMEOUT_SECONDS + 90.0)
        assert names(history, "configmaps") == ({"b"} if changes == 1000 else set())
        history.removed.clear()

    history = run_history(settings, play)
    assert len(events(history, "LeftBehind")) == (changes == 1000)


def test_the_pods_of_a_job_go_with_it(settings: Settings) -> None:
    bodies: list[Json] = []

    def note(request: ApiRequest) -> None:
        if request.method == "DELETE" and request.path.endswith("/jobs/job"):
            bodies.append(json.loads(request.body or b""))

    async def play(history: History) -> None:
        history.create(archive=store(history, job=JOB))
        await history.cluster.wait(20.0)
        delete_record(history, 1)
        history.cluster.refuse = note
        history.delete()
        await wait_gone(history)

    run_history(settings, play)
    assert [each.get("propagationPolicy") for each in bodies] == ["Background"]


@pytest.mark.parametrize("kind", ["helm.sh/release.v1", "Opaque"])
@pytest.mark.parametrize("name", ["database-password", "sh.helm.release.v1.hello.v7"])
def test_a_secret_goes_with_the_records_if_its_type_or_its_name_is_that_of_one(
    settings: Settings, kind: str, name: str
) -> None:
    other = (kind, name) == ("Opaque", "database-password")

    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.refusals["{}"] = Fault("uninstall: Release not loaded: hello: release: not found", 3)
        labels = {**LABELS, "owner": "helm", "name": "hello", "status": "superseded", "version": "7"}
        body = {"metadata": {"name": name, "labels": labels}, "type": kind, "data": {"password": "eA=="}}
        history.delete()
        history.cluster.server.create(SECRETS, body)
        await wait_gone(history)
        assert names(history, "secrets") == ({name} if other else set())

    told = [message for _, message in events(run_history(settings, play), "LeftBehind")]
    assert told == ([OTHER_SECRETS_LEFT + name] if other else [])
