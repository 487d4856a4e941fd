"""Large values are not in memory while helm waits or runs; small ones stay, since reading them again costs time."""

from __future__ import annotations

import base64
import gc

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import take_the_place
from xapp_operator.api.names import ANNOTATION_RETRY_AT, ANNOTATION_VALUES_TEXT
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.reconcile_context import ReconcileRequest
from xapp_operator.reconcile.status_reports import _ProgressReport

BOUND = 64 * 1024
"""Bytes of an XApp as JSON from which on its values are dropped."""


def requests_in_memory() -> list[ReconcileRequest]:
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, ReconcileRequest)]


@pytest.fixture
def earlier() -> list[ReconcileRequest]:
    """Reconciles of tests before that something still refers to, such as the traceback of an error."""
    return requests_in_memory()


def values_in_memory(earlier: list[ReconcileRequest]) -> list[bool]:
    """Return for each reconcile that is in progress whether it holds the values of its XApp."""
    known = set(map(id, earlier))
    requests = (each for each in requests_in_memory() if id(each) not in known)
    return [each.xapp.spec.values is not None and "values" in str(each.raw["spec"]) for each in requests]


def large(history: History) -> int:
    return len((history.cluster.xapp() or {})["spec"]["values"]["large"])


@pytest.mark.parametrize("excess", [0, 1])
def test_values_are_dropped_above_the_bound(settings: Settings, earlier: list[ReconcileRequest], excess: int) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        cluster.helm.pause = 0.5
        history.create(values={"tag": "one", "large": ""}, suspend=True)
        await cluster.wait(10.0)
        assert cluster.runtime is not None
        xapps = cluster.runtime._context.xapps

        def length() -> int:
            cached = xapps.get(("ns", "hello"))
            return 0 if cached is None else len(cached.data)

        for _ in range(2):
            missing = BOUND + excess - len("false") + len("true") - length()
            history.edit(values={"tag": "one", "large": "x" * (missing + large(history))})
            await cluster.wait(10.0)
        history.edit(suspend=False)
        assert await cluster.wait_for(lambda: bool(cluster.helm.running), seconds=10.0)
        assert length() == BOUND + excess
        assert values_in_memory(earlier) == [excess == 0]

    run_history(settings, play)


def test_values_that_were_dropped_count_when_a_values_file_changes_meanwhile(settings: Settings) -> None:
    def file(text: str) -> Json:
        data = {"values.yaml": base64.b64encode(f"text: {text}\n".encode()).decode()}
        metadata = {"name": "file", "namespace": NAMESPACE}
        return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}

    async def play(history: History) -> None:
        cluster = history.cluster
        cluster.helm.pause = 0.3
        cluster.server.lag = 0.1
        cluster.create(file("one"))
        source = [{"kind": "Secret", "name": "file"}]
        history.create(values={"tag": "one", "large": "x" * BOUND}, valuesFrom=source)
        assert await cluster.wait_for(lambda: bool(cluster.helm.running), seconds=20.0)
        cluster.server.patch(Target("", "v1", "secrets", NAMESPACE, "file"), file("two"))

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


@pytest.mark.parametrize("retried", [False, True])
def test_the_text_of_values_is_not_in_memory_while_a_step_waits(settings: Settings, retried: bool) -> None:
    """Neither are the managed fields. The answer to each write of the status has both."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await take_the_place(history)
        history.create(tag="one")
        text = {ANNOTATION_VALUES_TEXT: "tag: one", **({ANNOTATION_RETRY_AT: "now"} if retried else {})}
        cluster.edit({"metadata": {"annotations": text}})
        assert await cluster.wait_for(lambda: cluster.condition("Ready") is not None, seconds=60.0)
        assert history.helm_steps == []
        gc.collect()
        held = [each for each in gc.get_objects() if isinstance(each, ReconcileRequest | _ProgressReport)]
        names = {getattr(each, "raw", getattr(each, "_raw", {}))["metadata"]["name"] for each in held}
        assert names == {"hello", "other"}
        text_of_all = [str(getattr(each, name, "")) for each in held for name in ("raw", "xapp", "_raw", "_xapp")]
        assert [each for each in text_of_all if "managedFields" in each or ANNOTATION_VALUES_TEXT in each] == []
        cluster.helm.pause = 0.2
        await cluster.wait(100.0)
        history.note("delete other")
        cluster.delete("other")
        await cluster.wait(60.0)
        history.removed.clear()

    run_history(settings.model_copy(update={"helm_concurrency": 1}), play)
