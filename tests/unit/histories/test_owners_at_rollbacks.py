"""Rollbacks to a revision with an object that has become one of somebody else since: helm itself does not ask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand, write_record
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.unit.histories.generation import PASSING, PERMANENT
from tests.unit.histories.situations.actions import allow, count_reads, create_other, refuse, store
from tests.unit.histories.test_adoption import COMMON, ROLE, condition, owned_by, owner_of
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 30.0
SHARED = Target("", "v1", "configmaps", NAMESPACE, "common")
REFUSAL = (
    "ConfigMap common belongs to the XApp other, and adopt takes over nothing of an XApp that exists: remove it from "
    "that XApp, then set rollback-to to 1@again"
)
NOT_FREE = (
    "revision 1 has an object that is not free: ConfigMap common exists and belongs to no release or to another one: "
    "set adopt: true to take it over, or remove or rename it, then set "
    "rollback-to to 1@again"
)


async def install(history: History, *, shared: str = COMMON, **spec: Any) -> Json:
    """Install a chart with a shared object; return the reference to one without."""
    history.create(tag="one", archive=store(history, name="first", a=DEPLOYMENT, b=shared), **spec)
    await history.cluster.wait(SECONDS)
    assert history.outcome == "Ready InstallSucceeded"
    return store(history, name="second", a=DEPLOYMENT)


async def drop(history: History, **spec: Any) -> None:
    """Upgrade to a chart without the shared object."""
    history.edit(archive=await install(history, **spec), values={"tag": "two"})
    await history.cluster.wait(SECONDS)
    assert history.outcome == "Ready UpgradeSucceeded"


async def take(history: History) -> None:
    """Let another XApp install the shared object."""
    create_other(history, archive=store(history, name="other", cm=COMMON), tag="three")
    await history.cluster.wait(SECONDS)
    assert condition(history, "Ready", "other")[0] == "True"


def create_theirs(history: History, annotations: dict[str, str]) -> None:
    """Create the shared object, as no XApp."""
    body: Json = {"metadata": {"name": "common", "annotations": annotations}, "data": {"tag": "three"}}
    history.cluster.server.create(SHARED, body)


async def leave(history: History) -> None:
    history.note("delete other")
    history.cluster.delete("other")
    await history.cluster.wait(2 * SECONDS)
    history.removed.clear()


def shared_owner(history: History, plural: str = "configmaps") -> str | None:
    (body,) = history.cluster.server.all(plural)
    return owner_of(body)


def deployed_tag(history: History) -> str:
    """Return the tag of the revision in force of the XApp hello."""
    (tag,) = (each["config"]["tag"] for each in history.records if each["name"] == "hello" and is_deployed(each))
    return str(tag)


def is_deployed(record: Json) -> bool:
    return bool(record["info"]["status"] == "deployed")


def commands(history: History) -> list[str]:
    return [each.command for each in history.helm_steps if each.release == "hello"]


def told(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


@pytest.mark.parametrize("adopt", [False, True])
def test_a_requested_rollback_takes_nothing_of_an_xapp(settings: Settings, adopt: bool) -> None:
    async def play(history: History) -> None:
        await drop(history, adopt=adopt)
        await take(history)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert commands(history) == ["install", "upgrade"]
        assert condition(history, "Released") == ("False", "RollbackFailed", REFUSAL)
        assert told(history, "RollbackFailed") == [REFUSAL]
        assert condition(history, "Ready")[:2] == ("True", "UpgradeSucceeded")  # the release is as it was
        assert deployed_tag(history) == "two"
        assert shared_owner(history) == "other"
        assert condition(history, "Ready", "other")[0] == "True"
        await leave(history)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert deployed_tag(history) == "one"
        assert shared_owner(history) == "hello"

    run_history(settings, play)


@pytest.mark.parametrize("tag", ["two", BROKEN])
def test_an_automatic_rollback_that_would_take_it_stalls_the_xapp(settings: Settings, tag: str) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(PERMANENT, 2)
        archive = await install(history)
        history.edit(upgrade={"onFailure": "none"}, archive=archive, values={"tag": tag})
        await history.cluster.wait(SECONDS / 3)
        if tag != BROKEN:  # helm has not got so far
            history.cluster.server.delete(SHARED, {})
        await take(history)
        history.edit(upgrade={"onFailure": "rollback"})
        history.annotate("retry-at")
        await history.cluster.wait(4 * SECONDS)
        status, reason, message = condition(history, "Stalled")
        assert (status, reason) == ("True", "RollbackFailed")
        assert message.startswith(REFUSAL)
        assert "rollback" not in commands(history)
        assert len(told(history, "RollbackFailed")) == 1
        assert shared_owner(history) == "other"
        assert condition(history, "Ready", "other")[0] == "True"
        await leave(history)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert commands(history)[-1] == "rollback"
        assert deployed_tag(history) == "one"
        assert shared_owner(history) == "hello"

    run_history(settings, play)


def test_a_failed_rollback_is_not_repeated_once_an_xapp_has_the_object(settings: Settings) -> None:
    """The newest revision is a copy of the one to roll back to then, but has not created all of its objects."""

    async def play(history: History) -> None:
        await drop(history, timeout="5m")
        history.cluster.helm.faults = [Fault(PASSING, 1)]
        history.annotate("rollback-to", "1")
        assert await history.cluster.wait_for(lambda: "failed" in history.cluster.revisions.values(), seconds=SECONDS)
        create_theirs(history, owned_by("theirs"))
        await history.cluster.wait(3 * SECONDS)
        assert commands(history) == ["install", "upgrade", "rollback"]
        assert condition(history, "Released")[2].startswith(NOT_FREE)
        assert shared_owner(history) == "theirs"
        history.cluster.server.delete(SHARED, {})

    run_history(settings, play)


@pytest.mark.parametrize("again", [("retry-at",), ("rollback-to", "1")])
def test_a_held_revision_is_not_restored_over_an_object_of_somebody(settings: Settings, again: tuple[str, ...]) -> None:
    async def play(history: History) -> None:
        await drop(history)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert deployed_tag(history) == "one"
        history.cluster.server.delete(SHARED, {})
        create_theirs(history, owned_by("theirs"))
        roll_back_by_hand(history, 2)
        await history.cluster.wait(SECONDS)
        held = "; revision 1 is held: change the spec, or set the annotation retry-at"
        assert condition(history, "Stalled")[2] == f"{NOT_FREE}{held}"
        assert shared_owner(history) == "theirs"
        history.cluster.server.delete(SHARED, {})
        history.annotate(*again)
        await history.cluster.wait(SECONDS)
        assert deployed_tag(history) == "one"
        assert shared_owner(history) == "hello"

    run_history(settings, play)


def test_a_rollback_takes_nothing_of_an_xapp_in_another_namespace(settings: Settings) -> None:
    async def play(history: History) -> None:
        await drop(history, shared=ROLE, adopt=True)
        body = xapp_body(tag="one")
        body["metadata"] = {"name": "secret-name", "namespace": "elsewhere"}
        body["spec"]["namespace"] = "elsewhere"
        xapp = Target("xapp-operator.io", "v1alpha1", "xapps", "elsewhere", "secret-name")
        history.cluster.server.create(replace(xapp, name=""), body)
        role: Json = {"metadata": {"name": "shared", "annotations": owned_by("secret-name", "elsewhere")}, "rules": []}
        history.cluster.server.create(Target("rbac.authorization.k8s.io", "v1", "clusterroles"), role)
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert condition(history, "Released")[2].startswith(
            "ClusterRole shared belongs to an XApp in another namespace,"
        )
        assert commands(history) == ["install", "upgrade"]
        assert shared_owner(history, "clusterroles") == "secret-name"
        history.cluster.server.delete(xapp, {})
        await history.cluster.wait(SECONDS)
        history.removed.clear()

    run_history(settings, play)


@pytest.mark.parametrize("annotations", [{}, owned_by("theirs"), owned_by("hello", "elsewhere")])
@pytest.mark.parametrize("adopt", [False, True])
def test_a_rollback_takes_over_an_object_of_no_xapp_only_with_adopt(
    settings: Settings, adopt: bool, annotations: dict[str, str]
) -> None:
    async def play(history: History) -> None:
        await drop(history, adopt=adopt)
        create_theirs(history, annotations)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        if adopt:
            assert deployed_tag(history) == "one"
            assert shared_owner(history) == "hello"
        else:
            assert condition(history, "Released") == ("False", "RollbackFailed", NOT_FREE)
            assert deployed_tag(history) == "two"
            body = history.cluster.server.get(SHARED)
            assert (body["data"], body["metadata"].get("annotations", {})) == ({"tag": "three"}, annotations)
            history.cluster.server.delete(SHARED, {})

    run_history(settings, play)


def test_a_rollback_takes_nothing_while_objects_cannot_be_read(settings: Settings) -> None:
    async def play(history: History) -> None:
        await drop(history)
        await take(history)
        refuse(history, "GET", "/configmaps/common", Refused(500, "InternalError", "etcd is slow"))
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS / 3)
        assert "etcd is slow" in condition(history, "Ready")[2]
        allow(history)
        await history.cluster.wait(SECONDS)
        assert condition(history, "Released")[2].startswith(REFUSAL)
        assert commands(history) == ["install", "upgrade"]
        await leave(history)

    run_history(settings, play)


def test_all_objects_are_looked_at_if_the_newest_record_is_damaged(settings: Settings) -> None:
    """It is not known then what the release has."""

    async def play(history: History) -> None:
        await drop(history)
        create_theirs(history, owned_by("theirs"))
        write_record(history, 2, {"data": {"release": "bm90IGEgcmVjb3Jk"}})
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert condition(history, "Released") == ("False", "RollbackFailed", NOT_FREE)
        assert "rollback" not in commands(history)
        history.cluster.server.delete(SHARED, {})
        history.delete()
        await history.cluster.wait(2 * SECONDS)

    run_history(settings, play)


def test_a_rollback_reads_only_objects_that_return(settings: Settings) -> None:
    async def play(history: History) -> None:
        await drop(history, shared=COMMON + "---\n" + CONFIGMAP)
        reads = {each: count_reads(history, each) for each in ("common", "hello")}
        archive = store(history, name="third", a=DEPLOYMENT, b=COMMON)
        history.edit(archive=archive)
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert deployed_tag(history) == "one"
        assert count_reads(history, "common") == reads["common"]

    run_history(settings, play)


def test_four_objects_are_read_at_once(settings: Settings) -> None:
    begun: list[float] = []

    async def play(history: History) -> None:
        await drop(history, shared="---\n".join(COMMON.replace("common", f"many-{number}") for number in range(6)))

        def latency(request: ApiRequest) -> float:
            if request.method != "GET" or "/configmaps/many-" not in request.path:
                return 0.0
            begun.append(history.cluster.clock.monotonic())
            return 1.0

        history.cluster.latency = latency
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)

    run_history(settings, play)
    assert [round(each - begun[0]) for each in begun[:6]] == [0, 0, 0, 0, 1, 1]
