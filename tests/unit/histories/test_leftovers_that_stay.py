"""Objects that no revision in force has, and that must stay all the same: of persons, of others, or with data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand
from tests.support.fakes.helm_records import record_secret, record_target
from tests.support.fakes.histories import DEPLOYMENT, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.generation import PASSING
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


def test_a_cluster_scoped_object_is_the_same_one_whatever_namespace_a_manifest_names(
    settings: Settings,
) -> None:
    role = ROLE.replace("name: shared", "name: shared\n  namespace: other")

    async def play(history: History) -> None:
        plain = store(history, a=NAMED, b=ROLE)
        history.create(tag="one", archive=plain, upgrade={"onFailure": "none"})
        await history.cluster.wait(SECONDS)
        fail(history, "two", writes=3)
        await upgrade(history, "two", archive=store(history, a=NAMED, b=role))
        await upgrade(history, "three", archive=plain)
        assert is_there(history, "clusterroles", "shared")
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
