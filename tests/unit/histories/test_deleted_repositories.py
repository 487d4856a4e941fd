"""A ChartRepository that is deleted: by mistake, or for a moment, as GitOps tools and `kubectl replace --force` do."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.charts import chart_archive
from tests.support.fakes.api_server import Target
from tests.support.fakes.chart_repository import REMOTE_SPEC, REPOSITORY_URL, FakeChartRepository
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import create_other
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.config.settings import Settings

REPOSITORY = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme")
SECRETS = Target("", "v1", "secrets", NAMESPACE)
URL_ONLY: JsonObject = {"url": REPOSITORY_URL, "interval": "1000h"}
SIGNED: JsonObject = {**URL_ONLY, "verify": {"provider": "provenance", "secretRef": {"name": "keys"}}}
OPEN: JsonObject = {**URL_ONLY, "allowPlainHTTP": True}
SOON = 5.0


@pytest.fixture(autouse=True)
def unsigned_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    repository = FakeChartRepository()
    files = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
    repository.add("hello", "0.1.0", chart_archive({"values.yaml": "tag: one\n", **files}))
    repository.serve(monkeypatch)


@pytest.fixture
def patient(settings: Settings) -> Settings:
    """Settings with which nothing is looked at again for ten minutes unless something wakes it."""
    return settings.model_copy(update={"resync_seconds": 600.0})


def create_repository(history: History, spec: JsonObject) -> None:
    server = history.cluster.server
    server.create(replace(REPOSITORY, name=""), {"metadata": {"name": "acme"}, "spec": dict(spec)})


def delete_repository(history: History) -> None:
    history.cluster.server.delete(REPOSITORY, {})


def repository_exists(history: History) -> bool:
    return history.cluster.server.find("chartrepositories", "acme") is not None


async def stall_for_signatures(history: History) -> None:
    key = Ed25519PrivateKey.generate().public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    data = {"k.pem": base64.b64encode(pem).decode()}
    history.cluster.server.create(SECRETS, {"metadata": {"name": "keys"}, "type": "Opaque", "data": data})
    create_repository(history, SIGNED)
    history.create(**REMOTE_SPEC)
    await history.cluster.wait(20.0)
    assert history.outcome == "Stalled ChartInvalid"


def end(history: History) -> None:
    """Delete all, so that no repository is looked at every few minutes."""
    history.delete()
    for body in history.cluster.server.all("chartrepositories"):
        history.cluster.server.delete(replace(REPOSITORY, name=body["metadata"]["name"]), {})


def message(history: History, name: str = "hello") -> str:
    return str((history.cluster.condition("Ready", name) or {})["message"])


def test_deleted_demand_for_signatures_stays_in_force(patient: Settings) -> None:
    async def play(history: History) -> None:
        await stall_for_signatures(history)
        delete_repository(history)
        await history.cluster.wait(SOON)
        assert history.outcome == "Stalled ChartPullFailed"
        assert "the ChartRepository acme was deleted" in message(history)
        history.annotate("retry-at")
        history.cluster.restart()
        await history.cluster.wait(60.0)
        assert not repository_exists(history)
        create_repository(history, SIGNED)
        await history.cluster.wait(SOON)
        assert history.outcome == "Stalled ChartInvalid"
        assert history.helm_steps == []
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_no_other_xapp_ends_a_demand_for_signatures(patient: Settings) -> None:
    async def play(history: History) -> None:
        await stall_for_signatures(history)
        delete_repository(history)
        create_other(history, "second", **REMOTE_SPEC)
        create_other(history, "third", **REMOTE_SPEC | {"url": "https://other.example.com"})
        await history.cluster.wait(60.0)
        assert not repository_exists(history)
        assert all("was deleted" in message(history, name) for name in ("hello", "second", "third"))
        assert history.helm_steps == []
        for name in ("second", "third"):
            history.cluster.delete(name)
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_another_repository_can_be_used_instead(patient: Settings) -> None:
    async def play(history: History) -> None:
        await stall_for_signatures(history)
        delete_repository(history)
        await history.cluster.wait(SOON)
        history.edit(repoName="other")
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready InstallSucceeded"
        assert "configuredRepository" not in obj(history.cluster.xapp(), "status")
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_owner_can_create_it_again_without_its_settings(patient: Settings) -> None:
    async def play(history: History) -> None:
        await stall_for_signatures(history)
        delete_repository(history)
        await history.cluster.wait(SOON)
        create_repository(history, URL_ONLY)
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready InstallSucceeded"
        delete_repository(history)
        await history.cluster.wait(SOON)
        assert repository_exists(history)
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_deployed_xapp_stays_ready_and_says_what_its_next_upgrade_needs(patient: Settings) -> None:
    async def play(history: History) -> None:
        create_repository(history, OPEN)
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        delete_repository(history)
        await history.cluster.wait(SOON)
        assert history.outcome == "Ready InstallSucceeded"
        assert "the next upgrade will need its source: the ChartRepository acme was deleted" in message(history)
        create_repository(history, OPEN)
        await history.cluster.wait(SOON)
        assert "was deleted" not in message(history)
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_xapp_that_never_had_it_saves_its_url(patient: Settings) -> None:
    async def play(history: History) -> None:
        create_repository(history, SIGNED)
        await history.cluster.wait(SOON)
        delete_repository(history)
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready InstallSucceeded"
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_xapp_is_woken_when_one_in_its_way_is_deleted(patient: Settings) -> None:
    async def play(history: History) -> None:
        create_repository(history, {**URL_ONLY, "url": "https://other.example.com"})
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        assert history.outcome.startswith("Stalled")
        delete_repository(history)
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready InstallSucceeded"
        end(history)

    assert run_history(patient, play).outcome == "gone"


def test_xapp_is_woken_when_a_list_lacks_one_in_its_way(patient: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """kopf does not tell that it was deleted while its watch was too old."""

    async def play(history: History) -> None:
        create_repository(history, {**URL_ONLY, "url": "https://other.example.com"})
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        runtime = history.cluster.runtime
        assert runtime is not None
        with monkeypatch.context() as patch:
            patch.setattr(runtime, "update_repository", lambda *_, **__: None)
            delete_repository(history)
            await history.cluster.wait(20.0)
        assert history.outcome.startswith("Stalled")
        runtime.keep_listed("chartrepositories", NAMESPACE, set(), version=10**9)
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready InstallSucceeded"
        end(history)

    assert run_history(patient, play).outcome == "gone"
