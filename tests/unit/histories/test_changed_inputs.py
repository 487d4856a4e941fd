"""Values and charts that change while an XApp reads them."""

from __future__ import annotations

import pytest

from tests.support.fakes.histories import History, run_history
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET
from tests.unit.histories.test_release_inputs import archive, create_values, replace_secret, secret, store
from xapp_operator.config import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 30.0
READ_SECONDS = 3.0
ARCHIVE_KEY = "chart.tgz"


def live(history: History, field: str) -> str:
    return str(history.cluster.server.get(CONFIGMAP_TARGET)["data"][field])


def delay_reads(history: History, name: str) -> None:
    """Let the Secret with that name be read slowly, by whoever reads it from now on."""

    def latency(request: ApiRequest) -> float:
        return READ_SECONDS if request.method == "GET" and request.path.endswith(f"/secrets/{name}") else 0.0

    history.cluster.latency = latency


@pytest.mark.parametrize("after", [1.5, 2.5, 3.5])
def test_values_that_change_while_the_others_are_read_are_used(settings: Settings, after: float) -> None:
    async def play(history: History) -> None:
        create_values(history, "first", "text: one")
        create_values(history, "second", "address: kept")
        sources = [{"kind": "Secret", "name": "first"}, {"kind": "Secret", "name": "second"}]
        history.create(archive=store(history, archive()), valuesFrom=sources)
        await history.cluster.wait(SECONDS)
        assert live(history, "text") == "one"
        delay_reads(history, "second")
        history.cluster.restart()
        await history.cluster.wait(after)
        replace_secret(history, secret("first", values__yaml="text: two"))
        await history.cluster.wait(SECONDS)
        assert live(history, "text") == "two"

    run_history(settings, play)


def test_an_archive_that_changes_while_the_values_are_read_is_used(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "values", "text: kept")
        history.cluster.create(secret("chart", **{"chart__tgz": archive()}))
        reference = {"secretRef": {"name": "chart", "key": ARCHIVE_KEY}, "chartArchiveRef": None, "digest": None}
        history.create(archive=reference, valuesFrom=[{"kind": "Secret", "name": "values"}])
        await history.cluster.wait(SECONDS)
        assert live(history, "version") == "0.1.0"
        delay_reads(history, "values")
        history.cluster.restart()
        await history.cluster.wait(2.0)
        history.note("another chart")
        replace_secret(history, secret("chart", **{"chart__tgz": archive("0.2.0")}))
        await history.cluster.wait(SECONDS)
        assert live(history, "version") == "0.2.0"

    run_history(settings, play)
