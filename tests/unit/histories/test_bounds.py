"""How much is done at a time, how many objects one reconcile takes, and for how long something is waited for."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import FakeTransport, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_records import decode_record, encode_record, record_secret, record_target
from tests.support.fakes.histories import CONFIGMAP, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.support.fakes.value_secrets import secret
from tests.support.helm_tests import ENABLED, TEST, VALUES, pods
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning.actions import RejectRequest
from xapp_operator.domain.planning.plan_input import PlanInput
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity
from xapp_operator.reconcile import reconciler

LATENCY = 0.01
"""Seconds that a request takes, so that several are in flight."""


class Requests:
    """The requests that `kind` names, in their order, and how many of each kind were in flight at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kind: Callable[[ApiRequest], str] = lambda _: ""
        self.seen: list[str] = []
        self.most: Counter[str] = Counter()
        flying: Counter[str] = Counter()
        send = FakeTransport.send

        async def count(self_: FakeTransport, request: ApiRequest, *, identity: RequestIdentity) -> ApiResponse:
            kind = self.kind(request)
            if not kind:
                return await send(self_, request, identity=identity)
            self.seen.append(kind)
            flying[kind] += 1
            self.most[kind] = max(self.most[kind], flying[kind])
            try:
                await asyncio.sleep(LATENCY)
                return await send(self_, request, identity=identity)
            finally:
                flying[kind] -= 1

        monkeypatch.setattr(FakeTransport, "send", count)

    def runs(self) -> list[tuple[str, int]]:
        """Return how many requests of a kind followed each other, and forget them."""
        found = [(kind, len(list(group))) for kind, group in itertools.groupby(self.seen)]
        self.seen.clear()
        return found


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    return Requests(monkeypatch)


def kind_of_object_request(request: ApiRequest) -> str:
    """Return what is done to a ConfigMap; a list of revisions comes before each correction."""
    if request.path.endswith("/secrets"):
        return "list"
    if "/configmaps/" not in request.path or request.method != "PATCH":
        return "status" if request.path.endswith("/status") else ""
    if "dryRun" in request.params:
        return "compare"
    return "correct" if request.params["fieldManager"] == "helm" else "label"


def store(history: History, **templates: str) -> Json:
    """Store a chart; return the fields of the spec that choose it."""
    files = {f"templates/{name}.yaml": template for name, template in templates.items()}
    packed = chart_archive({"values.yaml": VALUES, **files})
    stored = chart_archive_manifest(packed, namespace=NAMESPACE)
    history.cluster.create(stored)
    reference = {"name": stored["metadata"]["name"]}
    return {"archive": {"chartArchiveRef": reference, "digest": stored["spec"]["digest"]}}


def config_maps(number: int) -> dict[str, str]:
    return {f"c{each}": CONFIGMAP.replace("{{ .Release.Name }}", f"hello-{each}") for each in range(number)}


def target(number: int) -> Target:
    return Target("", "v1", "configmaps", NAMESPACE, f"hello-{number}")


def create_others(history: History, number: int, **spec: Any) -> None:
    for each in range(number):
        body = xapp_body(**spec)
        body["metadata"]["name"] = f"other-{each}"
        history.cluster.create(body)


async def remove_all(history: History) -> None:
    """Remove every XApp, because those beside hello are not checked."""
    history.delete()
    for each in history.cluster.server.all("xapps"):
        history.cluster.delete(each["metadata"]["name"])
    assert await history.cluster.wait_for(lambda: not history.cluster.server.all("xapps"), seconds=60.0)
    history.removed.clear()


async def wait_ready(history: History) -> None:
    assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0), history.describe()
    await history.cluster.wait(10.0)


def test_five_hundred_objects_are_compared_and_corrected_at_a_time(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        requests.kind = kind_of_object_request
        history.cluster.helm.pause = 0.0
        history.create(**store(history, **config_maps(502)))
        await wait_ready(history)
        assert ("label", 502) in requests.runs()
        history.cluster.restart()  # it sees all changes at once
        for number in range(502):
            history.cluster.server.patch(target(number), {"data": {"tag": "theirs"}})
        await history.cluster.wait(60.0)
        runs = requests.runs()
        assert [count for kind, count in runs if kind == "compare"] == [500, 2], runs
        history.edit(driftDetection={"mode": "enabled"})
        await history.cluster.wait(60.0)
        runs = requests.runs()
        assert [count for kind, count in runs if kind == "correct"] == [500, 2], runs

    run_history(settings, play)
    assert [requests.most[kind] for kind in ("label", "compare", "correct")] == [4, 4, 4]


def test_a_refused_step_looks_for_replaced_items_in_five_hundred_objects(
    settings: Settings, requests: Requests
) -> None:
    """The place for helm is held meanwhile."""

    def kind(request: ApiRequest) -> str:
        return "look" if request.method == "GET" and "/configmaps/hello-" in request.path else ""

    async def play(history: History) -> None:
        history.cluster.helm.pause = 0.0
        history.create(driftDetection={"mode": "disabled"}, **store(history, **config_maps(502)))
        await wait_ready(history)
        for number in range(502):
            history.cluster.server.patch(target(number), {"data": {"more": "theirs"}})
        await history.cluster.wait(20.0)
        requests.kind = kind
        invalid = 'UPGRADE FAILED: ConfigMap "hello-1" is invalid: data.tag: Invalid value: "two": must be one'
        history.cluster.helm.faults = [Fault(invalid)]
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert requests.runs() == [("look", 500)]

    run_history(settings, play)
    assert requests.most == {"look": 4}


def test_fifty_objects_without_labels_are_read_and_labelled_at_a_time(settings: Settings, requests: Requests) -> None:
    def kind(request: ApiRequest) -> str:
        return {"GET": "read", "PATCH": "label"}.get(request.method, "") if "/configmaps/" in request.path else ""

    async def play(history: History) -> None:
        history.cluster.helm.pause = 0.0
        history.create(**store(history, **config_maps(52)))
        await wait_ready(history)
        requests.kind = kind
        history.cluster.restart()  # it sees all changes at once
        for number in range(52):
            history.cluster.server.patch(target(number), {"metadata": {"labels": {"xapp-operator.io/xapp": None}}})
        await history.cluster.wait(60.0)
        assert [count for kind, count in requests.runs() if kind == "label"] == [50, 2]

    run_history(settings, play)


def test_two_hundred_leftovers_of_tests_are_looked_for_before_a_run(settings: Settings, requests: Requests) -> None:
    tests = {f"t{each:03}": TEST.replace("NAME", f"t{each:03}") for each in range(202)}

    async def play(history: History) -> None:
        chart = store(history, cm=CONFIGMAP, **tests)
        values = {"tag": "one", "policy": "hook-failed", "seconds": "60s"}
        history.create(values=values, test=ENABLED, timeout="10m", **chart)
        requests.kind = lambda request: "look" if request.method == "GET" and "/pods/hello-t" in request.path else ""
        assert await history.cluster.wait_for(lambda: "hello-t000" in pods(history), seconds=60.0)
        assert requests.runs() == [("look", 200)]
        await remove_all(history)

    run_history(settings, play)


def test_the_damaged_record_is_looked_for_among_the_newest_twenty(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=30)
        await wait_ready(history)
        history.note("restore old revisions")
        server = history.cluster.server
        first = server.get(record_target(NAMESPACE, "hello", 1))
        record = decode_record(first)
        assert record is not None
        labels = {key: value for key, value in first["metadata"]["labels"].items() if key.startswith("xapp")}
        for number in range(2, 23):
            info = {**record["info"], "status": "deployed" if number == 22 else "superseded"}
            again = record_secret({**record, "version": number, "info": info, "labels": labels}, "createdAt", now=1.0)
            server.create(record_target(NAMESPACE, "hello", number), again)
        info = {**record["info"], "status": "superseded"}
        data = {"release": encode_record({**record, "info": info})}
        server.patch(
            record_target(NAMESPACE, "hello", 1), {"metadata": {"labels": {"status": "superseded"}}, "data": data}
        )
        await history.cluster.wait(20.0)
        requests.kind = lambda request: request.path.rpartition(".v")[2] if "sh.helm.release" in request.path else ""
        history.cluster.helm.faults = [Fault("release: already exists")]
        history.set_tag("two")
        await history.cluster.wait(3.5)
        newest = max(history.cluster.revisions)
        assert [int(each) for each in requests.seen][:20] == list(range(newest, newest - 20, -1))
        assert str(newest - 20) not in requests.seen
        requests.kind = lambda _: ""
        history.annotate("retry-at")

    run_history(settings, play)


def test_values_of_two_xapps_of_a_namespace_are_read_at_once(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        requests.kind = lambda request: "read" if request.path.endswith("/secrets/values") else ""
        history.cluster.create(secret("values", values__yaml="text: file\n"))
        source = [{"kind": "Secret", "name": "values"}]
        history.create(valuesFrom=source)
        create_others(history, 5, valuesFrom=source)
        await wait_ready(history)

        await remove_all(history)

    run_history(settings, play)
    assert requests.most == {"read": 2}


def test_charts_of_eight_xapps_of_a_namespace_are_read_at_once(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        requests.kind = lambda request: "read" if "/chartarchives/" in request.path and request.method == "GET" else ""
        history.create()
        create_others(history, 11)
        await wait_ready(history)
        await remove_all(history)

    run_history(settings, play)
    assert requests.most == {"read": 8}


@pytest.mark.parametrize(("age", "pause"), [(119.5, 5.0), (120.5, 30.0)])
def test_pods_are_asked_less_often_two_minutes_after_a_step(
    settings: Settings, requests: Requests, age: float, pause: float
) -> None:
    times: list[float] = []

    async def play(history: History) -> None:
        cluster = history.cluster

        def note(request: ApiRequest, *_: object) -> None:
            if request.path.endswith("/pods"):
                times.append(cluster.clock.monotonic())

        history.create(tag="one")
        await wait_ready(history)
        last_at = datetime.fromisoformat((cluster.xapp() or {})["status"]["lastAttempt"]["lastAt"]).timestamp()
        cluster.set_outage(on=True)
        await cluster.wait(last_at + age - cluster.downtime - cluster.clock.now())
        cluster.on_response.append(note)
        times.append(cluster.clock.monotonic() + cluster.downtime)
        cluster.restart()
        await cluster.wait(60.0)
        cluster.set_outage(on=False)

    run_history(settings, play)
    pauses = [after - before for before, after in itertools.pairwise(times) if after - before > 1.0]
    assert pauses[0] == pytest.approx(pause, abs=0.1), times


def test_two_thousand_scalers_are_read(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await wait_ready(history)
        server = history.cluster.server
        scalers = Target("autoscaling", "v2", "horizontalpodautoscalers", NAMESPACE)
        for number in range(2600):
            reference = {"kind": "Deployment", "name": f"other-{number}"}
            body = {"metadata": {"name": f"hpa-{number:04}"}, "spec": {"scaleTargetRef": reference}}
            server.create(scalers, body)
        requests.kind = lambda request: "list" if request.path.endswith("/horizontalpodautoscalers") else ""
        server.patch(Target("apps", "v1", "deployments", NAMESPACE, "hello"), {"spec": {"replicas": 2}})
        await history.cluster.wait(20.0)
        assert requests.runs() == [("list", 4)]
        requests.kind = lambda _: ""
        history.set_tag("two")

    run_history(settings, play)


def test_a_plan_without_end_makes_eight_actions_a_second(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await wait_ready(history)
        times: list[float] = []

        def plan_endlessly(_: PlanInput) -> RejectRequest:
            times.append(history.cluster.clock.monotonic())
            assert len(times) < 200, "the plan is carried out again and again without a pause"
            return RejectRequest("test-at", "never")

        with monkeypatch.context() as patched:
            patched.setattr(reconciler, "plan", plan_endlessly)
            history.annotate("test-at")
            await history.cluster.wait(10.0)
        runs = [(at, len(list(group))) for at, group in itertools.groupby(times)]
        assert {count for _, count in runs} == {8}
        pauses = [round(after - before, 3) for (before, _), (after, _) in itertools.pairwise(runs)]
        assert set(pauses[1:]) == {1.0}

    run_history(settings, play)
