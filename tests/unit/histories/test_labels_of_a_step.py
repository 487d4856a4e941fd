"""After a helm step that has applied the labels itself, only those objects are patched of which that is not certain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm_records import decode_record, record_target
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import allow, store
from tests.unit.histories.situations.drift import SERVICE
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.reconcile.labels import MissingLabels, find_missing_labels
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.verbs.repair_labels import label_release

CONFIGMAP_KEY = ("ConfigMap", NAMESPACE, "hello")
SERVICE_KEY = ("Service", NAMESPACE, "hello-rest")
TARGET = Target("", "v1", "configmaps", NAMESPACE, "hello")
LABEL = "xapp-operator.io/xapp"


def begin_reconcile(history: History) -> tuple[ReconcilerContext, ReconcileRequest]:
    assert history.cluster.runtime is not None
    context = history.cluster.runtime._context
    cached = context.xapps.get((NAMESPACE, "hello"))
    assert cached is not None
    raw, xapp = cached.parse()
    return context, ReconcileRequest(raw=raw, xapp=xapp, draft=StatusDraft.from_status(xapp, now=0.0))


async def label(history: History, known: Collection[LiveObjectKey] | None) -> list[str]:
    """Label the release as after a step, and return the objects that were patched."""
    assert history.cluster.transport is not None
    context, request = begin_reconcile(history)
    record = decode_record(history.cluster.server.get(record_target(NAMESPACE, "hello", 1)))
    assert record is not None
    before = len(history.cluster.transport.requests)
    await label_release(request, context, record["manifest"], revision=7, known=known)
    assert request.draft.labelled_revision == 7
    requests = history.cluster.transport.requests[before:]
    return sorted(each.path.rpartition("/")[2] for each in requests if each.method == "PATCH")


async def install(history: History) -> None:
    history.cluster.server.lag = 0.0
    history.create(archive=store(history, cm=CONFIGMAP, service=SERVICE))
    await history.cluster.wait(20.0)
    history.edit(suspend=True)  # so that nobody else repairs the labels
    await history.cluster.wait(5.0)


def drop_label(history: History, name: str = LABEL) -> None:
    history.cluster.server.patch(TARGET, {"metadata": {"labels": {name: None}}})


def add_label(history: History) -> None:
    history.cluster.server.patch(TARGET, {"metadata": {"labels": {LABEL: "hello"}}})


@pytest.mark.parametrize(
    ("known", "patched"),
    [
        (None, ["hello", "hello-rest"]),
        ([], []),
        ([CONFIGMAP_KEY], ["hello"]),
        ([SERVICE_KEY], ["hello-rest"]),
        ([("ConfigMap", "other", "hello")], []),
    ],
)
def test_objects_that_had_the_labels_before_are_patched(
    settings: Settings, known: list[LiveObjectKey] | None, patched: list[str]
) -> None:
    async def play(history: History) -> None:
        await install(history)
        assert await label(history, known) == patched
        history.edit(suspend=False)

    run_history(settings, play)


@pytest.mark.parametrize(("seconds", "patched"), [(0.9, []), (1.1, ["hello"])])
def test_labels_that_the_watch_does_not_show_within_a_second_are_patched(
    settings: Settings, seconds: float, patched: list[str]
) -> None:
    async def play(history: History) -> None:
        await install(history)
        drop_label(history)
        await history.cluster.wait(5.0)
        asyncio.get_running_loop().call_later(seconds, add_label, history)
        assert await label(history, []) == patched
        await history.cluster.wait(5.0)
        history.edit(suspend=False)

    run_history(settings, play)


def test_an_object_whose_labels_the_watch_has_not_shown_yet_is_read_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        drop_label(history)
        await history.cluster.wait(5.0)
        history.cluster.server.lag = 60.0
        add_label(history)
        assert history.cluster.transport is not None
        context, request = begin_reconcile(history)
        client = context.impersonation.client_for(request.xapp)
        before = len(history.cluster.transport.requests)
        for _ in range(2):
            found = await find_missing_labels(
                request.xapp, client=client, monitor=context.monitor, absent=context.absent_objects
            )
            assert found == MissingLabels()
        requests = history.cluster.transport.requests[before:]
        assert [(each.method, each.path.rpartition("/")[2]) for each in requests] == [("GET", "hello")]
        history.edit(suspend=False)

    run_history(settings, play)


def hold(history: History) -> None:
    """Let somebody delete an object that a finalizer holds."""
    history.cluster.server.patch(TARGET, {"metadata": {"finalizers": ["example.com/held"]}})
    history.cluster.server.delete(TARGET, {})


def drop_team(history: History) -> None:
    drop_label(history, "xapp-operator.io/team")


@pytest.mark.parametrize("change", [hold, drop_team])
def test_an_object_that_goes_or_lacks_a_label_is_patched(settings: Settings, change: Callable[[History], None]) -> None:
    async def play(history: History) -> None:
        await install(history)
        change(history)
        await history.cluster.wait(5.0)
        assert await label(history, []) == ["hello"]
        history.cluster.server.patch(TARGET, {"metadata": {"finalizers": None}})
        history.edit(suspend=False, deletionPolicy="Orphan")
        history.delete()

    run_history(settings, play)


def test_a_refusal_is_told_when_all_others_are_labelled(settings: Settings) -> None:
    patched: list[str] = []

    def check(request: ApiRequest) -> None:
        if request.method == "PATCH" and request.path.endswith("/configmaps/hello"):
            raise Refused(403, "Forbidden", "configmaps is forbidden")

    def note(request: ApiRequest, *_: object) -> None:
        if request.method == "PATCH":
            patched.append(request.path.rpartition("/")[2])

    async def play(history: History) -> None:
        await install(history)
        drop_label(history)
        history.cluster.refuse = check
        history.cluster.latency = lambda request: 1.0 if request.path.endswith("/hello-rest") else 0.0
        history.cluster.on_response.append(note)
        with pytest.raises(AccessDenied):
            await label(history, None)
        assert patched == ["hello", "hello-rest"]
        allow(history)
        history.edit(suspend=False)

    run_history(settings, play)
