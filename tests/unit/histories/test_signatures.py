"""Charts in a cluster that demands signatures, or begins to."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.fakes.chart_repository import REMOTE_SPEC, FakeChartRepository
from tests.support.fakes.histories import History, run_history
from tests.unit.histories import test_remote_sources as remote_sources
from tests.unit.histories.test_release_inputs import archive, ready, store, wait_revision
from xapp_operator.config.settings import Settings


def demanding_signatures(settings: Settings, folder: Path) -> Settings:
    key = Ed25519PrivateKey.generate().public_key()
    (folder / "key.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return settings.model_copy(update={"require_signatures": True, "signature_keys": folder})


def test_a_chart_of_a_repository_is_not_used_without_the_signature_that_is_demanded(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = FakeChartRepository()
    repository.add("hello", "0.1.0", remote_sources.archive("0.1.0"))
    repository.serve(monkeypatch)

    async def play(history: History) -> None:
        history.cluster.settings = demanding_signatures(settings, tmp_path)
        history.cluster.restart()
        remote_sources.save_repository(history)
        history.create(**REMOTE_SPEC, chartVersion="0.1.0")
        await history.cluster.wait(20.0)
        assert "is not signed with a trusted key" in ready(history)[1]
        assert history.helm_steps == []

    run_history(settings, play)


def test_a_chart_that_is_on_disk_is_not_used_without_the_signature_that_is_demanded_now(
    settings: Settings, tmp_path: Path
) -> None:
    demanding = demanding_signatures(settings, tmp_path)

    async def play(history: History) -> None:
        history.create(archive=store(history, archive("0.6.1")))
        await wait_revision(history, 1)
        history.cluster.settings = demanding
        history.cluster.restart()
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert "is not signed with a trusted key" in ready(history)[1]
        assert history.cluster.revisions == {1: "deployed"}
        history.cluster.settings = settings
        history.cluster.restart()

    run_history(settings, play)
