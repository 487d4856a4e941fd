"""What a restart of the operator costs when there are many XApps."""

from __future__ import annotations

from tests.support.fakes.histories import STORED_CHART, History, run_history, xapp_body
from xapp_operator.config.settings import Settings

MANY = 200


def create_many(history: History) -> None:
    history.cluster.create(STORED_CHART)
    for number in range(MANY):
        body = xapp_body(tag="one", xAppName=f"hello-{number}")
        history.cluster.create({**body, "metadata": {**body["metadata"], "name": f"hello-{number}"}})


def are_ready(history: History) -> bool:
    names = [body["metadata"]["name"] for body in history.cluster.server.all("xapps")]
    ready = [history.cluster.condition("Ready", name) for name in names]
    return len(ready) == MANY and all(each is not None and each["status"] == "True" for each in ready)


def test_restart_with_many_xapps_writes_nothing_and_runs_no_helm(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        create_many(history)
        await history.settle()
        assert are_ready(history)
        writes, steps, lives = len(cluster.writes), len(cluster.helm.steps), cluster.lives
        cluster.restart()
        await cluster.wait(200.0)
        assert cluster.writes[writes:] == []
        assert (len(cluster.helm.steps), cluster.lives) == (steps, lives + 1)

    run_history(settings, play)
