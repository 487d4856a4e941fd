"""Uploaded charts in a cluster that begins to demand signatures."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.fakes.histories import History, run_history
from tests.unit.histories.test_release_inputs import archive, ready, store, wait_revision
from xapp_operator.config import Settings


def test_a_chart_that_is_on_disk_is_not_used_without_the_signature_that_is_demanded_now(
    settings: Settings, tmp_path: Path
) -> None:
    key = Ed25519PrivateKey.generate().public_key()
    (tmp_path / "key.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    demanding = settings.model_copy(update={"require_signatures": True, "signature_keys": tmp_path})

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
