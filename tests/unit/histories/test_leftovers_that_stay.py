"""Objects that no revision in force has, and that must stay all the same: of persons, of others, or with data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand
from tests.support.fakes.helm_records import record_secret, record_target
from tests.support.fakes.histories import DEPLOYMENT, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.generation import PASSING
from tests.unit.histories.situations.actions import allow, refuse
from tests.unit.histories.test_adoption import ROLE
from tests.unit.histories.test_leftovers import NAMED, SECONDS, configmaps, events, fail, install
from xapp_operator.config.settings import Settings

MANY = "\n---\n".join(NAMED.replace("{{ .Values.tag }}", f"{{{{ .Values.tag }}}}-{each}", 1) for each in range(20))
THEIRS = "apiVersion: v1\nkind: {kind}\nmetadata: {{name: theirs}}\ndata: {{tag: three}}\n"


def store(history: History, **templates: str) -> Json:
    """Store a chart with these templates and the Deployment; return the reference to it."""
    files = {f"templates/{name}.yaml": content for name, content in templates.items()}
    packed = chart_archive({"values.yaml": "tag: one\n", "templates/z.yaml": DEPLOYMENT, **files})
    stored = chart_archive_manifest(packed, namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}


async def upgrade(history: History, tag: str, **spec: Any) -> None:
    history.edit(values={"tag": tag}, **spec)
    await history.cluster.wait(SECONDS)


def is_there(history: History, plural: str, name: str) -> bool:
    return any(each["metadata"]["name"] == name for each in history.cluster.server.all(plural))


@pytest.mark.parametrize(
    ("plural", "kind"),
    [("configmaps", "ConfigMap"), ("persistentvolumeclaims", "PersistentVolumeClaim"), ("namespaces", "Namespace")],
)
def test_what_a_failed_revision_took_over_from_a_person_stays(settings: Settings, plural: str, kind: str) -> None:
    async def play(history: History) -> None:
        namespace = "" if plural == "namespaces" else NAMESPACE
        data = {"tag": "three"}  # as in the release at the end, for the check of all histories
        history.cluster.server.create(
            Target("", "v1", plural, namespace), {"metadata": {"name": "theirs"}, "data": data}
        )
        plain = store(history, a=NAMED)
        history.create(tag="one", adopt=True, archive=plain, upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=THEIRS.format(kind=kind)))
        await upgrade(history, "three", archive=plain)
        assert is_there(history, plural, "theirs")
        assert not is_there(history, "configmaps", "hello-two")

    run_history(settings, play)


@pytest.mark.parametrize(
    ("plural", "kind"), [("persistentvolumeclaims", "PersistentVolumeClaim"), ("namespaces", "Namespace")]
)
def test_what_holds_data_or_objects_of_others_stays_and_is_told(settings: Settings, plural: str, kind: str) -> None:
    async def play(history: History) -> None:
        plain = store(history, a=NAMED)
        history.create(tag="one", archive=plain, upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=THEIRS.format(kind=kind)))
        assert is_there(history, plural, "theirs")
        await upgrade(history, "three", archive=plain)
        assert is_there(history, plural, "theirs")
        assert any(f"{kind}/theirs" in each for each in events(history, "LeftBehind"))

    run_history(settings, play)


ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: shared\n"


@pytest.mark.parametrize(
    ("plural", "failed", "in_force"),
    [
        ("clusterroles", ROLE.replace("name: shared", "name: shared\n  namespace: other"), ROLE),
        ("clusterroles", ROLE, ROLE.replace("metadata:", "metadata:\n  annotations: {helm.sh/hook: post-delete}")),
        ("serviceaccounts", ACCOUNT + f"  namespace: {NAMESPACE}\n", ACCOUNT),
        ("serviceaccounts", ACCOUNT, ACCOUNT + f"  namespace: {NAMESPACE}\n"),
    ],
    ids=["cluster-scoped", "hook", "own namespace named", "own namespace named in force"],
)
def test_what_the_revision_in_force_has_in_another_way_stays(
    settings: Settings, plural: str, failed: str, in_force: str
) -> None:
    async def play(history: History) -> None:
        archive = store(history, a=NAMED, b=in_force)
        history.create(tag="one", archive=archive, upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=failed))
        assert is_there(history, plural, "shared")
        await upgrade(history, "three", archive=archive)
        assert is_there(history, plural, "shared")
        assert configmaps(history) == ["hello-three"]

    run_history(settings, play)


def test_an_object_of_the_same_name_in_another_namespace_goes(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", archive=store(history, a=NAMED), upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=ACCOUNT + "  namespace: other\n"))
        await upgrade(history, "three", archive=store(history, a=NAMED, b=ACCOUNT))
        accounts = history.cluster.server.all("serviceaccounts")
        assert [each["metadata"]["namespace"] for each in accounts] == [NAMESPACE]

    run_history(settings, play)


def test_nothing_goes_while_it_is_not_known_what_the_revision_in_force_has(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        await upgrade(history, "two")
        refuse(history, "GET", "/secrets/sh.helm.release.v1.hello.v3", Refused(404, "NotFound", "gone"))
        await upgrade(history, "three")
        assert configmaps(history) == ["hello-three", "hello-two"]
        allow(history)
        history.cluster.restart()
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three"]

    run_history(settings, play)


def test_nothing_goes_before_helm_has_uninstalled_the_release(settings: Settings) -> None:
    """It may not come to that: somebody changes the deletion to Orphan."""

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two", writes=1)
        await upgrade(history, "two")
        history.cluster.helm.faults = [Fault(PASSING, writes=0)] * 50
        history.delete()
        await history.cluster.wait(SECONDS)
        history.edit(deletionPolicy="Orphan")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "gone"
        assert configmaps(history) == ["hello-one"]
        assert history.deployed_tags == ["one"]

    run_history(settings, play)


@pytest.mark.parametrize("ends", ["suspend", "rollback by hand"])
def test_what_changes_meanwhile_ends_it(settings: Settings, ends: str) -> None:
    """At most the object goes whose deletion was sent already."""

    async def play(history: History) -> None:
        history.create(tag="one", archive=store(history, a=MANY), upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=22)
        await upgrade(history, "two")
        slow = [0.0]
        history.cluster.latency = lambda request: slow[0] if "configmaps/hello-two" in request.path else 0.0
        slow[0] = 4.0
        history.set_tag("three")
        assert await history.cluster.wait_for(
            lambda: len([each for each in configmaps(history) if "two" in each]) < 20, seconds=100.0
        )
        history.edit(suspend=True)
        if ends == "rollback by hand":
            roll_back_by_hand(history, 2)
        before = set(configmaps(history))
        await history.cluster.wait(60.0)
        assert len(before - set(configmaps(history))) <= 1
        slow[0] = 0.0
        history.edit(suspend=False)

    run_history(settings, play)


def test_a_record_with_an_impossible_name_does_not_keep_an_xapp(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        await upgrade(history, "two")
        (record,) = (each for each in history.records if each["config"]["tag"] == "two")
        manifest = record["manifest"] + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/b}\n"
        forged = record_secret({**record, "manifest": manifest}, "modifiedAt", now=history.cluster.clock.now())
        history.cluster.server.patch(record_target(NAMESPACE, "hello", 2), forged)
        await upgrade(history, "three")
        assert history.outcome == "Ready UpgradeSucceeded"
        assert configmaps(history) == ["hello-three"]
        history.delete()

    assert run_history(settings, play).outcome == "gone"
