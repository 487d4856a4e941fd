"""Objects that somebody changes by hand: what the operator reports, puts back, and leaves alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.fakes.api_server import FakeApiServer, Refused, Target
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import CONFIGMAP as CONFIGMAP_TEMPLATE
from tests.support.fakes.histories import RESYNC_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import store
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile import drift
from xapp_operator.reconcile.verbs import correct_drift

CONFIGMAP = Target("", "v1", "configmaps", NAMESPACE, "hello")
DEPLOYMENT = Target("apps", "v1", "deployments", NAMESPACE, "hello")
LABEL = "xapp-operator.io/xapp"
NOTICED_SECONDS = 20.0
ENABLED = {"mode": "enabled"}
JOB = Target("batch", "v1", "jobs", NAMESPACE, "brief")
CLUSTER_ROLE = Target("rbac.authorization.k8s.io", "v1", "clusterroles", "", "brief")
SECRET = Target("", "v1", "secrets", NAMESPACE, "password")
HPA = Target("autoscaling", "v2", "horizontalpodautoscalers", NAMESPACE, "scaler")


def change_tag(history: History, tag: str = "theirs", *, manager: str = "kubectl") -> None:
    history.cluster.server.patch(CONFIGMAP, {"data": {"tag": tag}}, manager=manager)


def live_tag(history: History) -> str:
    return str(history.cluster.server.get(CONFIGMAP)["data"]["tag"])


def drifted(history: History) -> tuple[str, str, str]:
    """Return status, reason and message of the condition Drifted."""
    found = history.cluster.condition("Drifted") or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def events(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


async def install(history: History, **spec: Any) -> None:
    history.create(tag="one", **spec)
    assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
    await history.cluster.wait(NOTICED_SECONDS)


async def wait_drifted(history: History, status: str, reason: str, *parts: str, seconds: float = 60.0) -> None:
    def reached() -> bool:
        found = drifted(history)
        return found[:2] == (status, reason) and all(part in found[2] for part in parts)

    assert await history.cluster.wait_for(reached, seconds=seconds), drifted(history)


Refuses = Callable[[ApiRequest], bool]


class Requests:
    """The requests of the operator. Those that `refuses` picks are forbidden."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[ApiRequest] = []
        self.refuses: Refuses = lambda _: False
        self.before: Callable[[ApiRequest], None] = lambda _: None
        handle = FakeApiServer.handle

        def record(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
            self.seen.append(request)
            self.before(request)
            if self.refuses(request):
                raise Refused(403, "Forbidden", f'configmaps "hello" is forbidden: cannot {request.method} it')
            return handle(server, request, manager=manager)

        monkeypatch.setattr(FakeApiServer, "handle", record)

    def of(self, target: Target, method: str, *, dry_run: bool = False) -> int:
        """Return how many requests with a method there were for an object."""
        path = f"/{target.plural}/{target.name}"
        return sum(
            (each.method, "dryRun" in each.params) == (method, dry_run) and each.path.endswith(path)
            for each in self.seen
        )


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    return Requests(monkeypatch)


def applies(request: ApiRequest) -> bool:
    return request.path.endswith("/configmaps/hello") and request.method == "PATCH" and "dryRun" not in request.params


def drifted_xapps(history: History) -> float | None:
    """Return what the metric says."""
    runtime = history.cluster.runtime
    assert runtime is not None
    runtime.update_metrics()
    return runtime._context.metrics.registry.get_sample_value("xapp_operator_drifted_xapps")


def test_a_change_is_reported_once_and_not_undone(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        await install(history)
        assert drifted(history) == ("", "", "")
        assert requests.of(CONFIGMAP, "GET") == 0
        change_tag(history)
        await wait_drifted(history, "True", "DriftDetected")
        assert drifted(history)[2] == "ConfigMap hello (/data/tag, changed by kubectl)"
        compared = requests.of(CONFIGMAP, "PATCH", dry_run=True)
        for _ in range(3):
            history.annotate("reconcile-at")
            await history.cluster.wait(NOTICED_SECONDS)
        assert (compared, requests.of(CONFIGMAP, "PATCH", dry_run=True)) == (1, 1)
        assert live_tag(history) == "theirs"
        assert drifted_xapps(history) == 1.0
        change_tag(history, "one")
        await wait_drifted(history, "False", "NoDrift")
        assert drifted_xapps(history) == 0.0

    history = run_history(settings, play)
    assert events(history, "DriftDetected") == ["ConfigMap hello (/data/tag, changed by kubectl)"]


def test_an_enabled_correction_puts_everything_back_without_a_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)
        change_tag(history)
        history.cluster.server.patch(DEPLOYMENT, {"spec": {"replicas": 3}}, manager="kubectl")
        await wait_drifted(history, "False", "DriftCorrected", "ConfigMap hello (/data/tag, changed by kubectl)")
        assert "Deployment hello (/spec/replicas, changed by kubectl)" in drifted(history)[2]
        assert live_tag(history) == "one"
        assert history.cluster.server.get(DEPLOYMENT)["spec"]["replicas"] == 1

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "deployed"}
    (message,) = events(history, "DriftCorrected")
    assert message.startswith("ConfigMap hello (/data/tag")


def test_a_deleted_secret_is_missed_and_comes_back(settings: Settings) -> None:
    """The watch of Secrets is another one than that of the other kinds."""

    async def play(history: History) -> None:
        body = "apiVersion: v1\nkind: Secret\nmetadata: {name: password}\ntype: Opaque\nstringData: {tag: one}\n"
        history.create(archive=store(history, password=body, tag=CONFIGMAP_TEMPLATE))
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        await history.cluster.wait(NOTICED_SECONDS)
        history.cluster.server.delete(SECRET, {})
        await wait_drifted(history, "True", "DriftDetected", "Secret password is missing")
        assert "Secret password: is missing" in str((history.cluster.condition("Ready") or {})["message"])
        history.edit(driftDetection=ENABLED)
        await wait_drifted(history, "False", "DriftCorrected", "Secret password is missing")

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")


def test_a_deleted_object_is_back_with_its_labels(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)
        history.cluster.server.delete(CONFIGMAP, {})
        await wait_drifted(history, "False", "DriftCorrected", "ConfigMap hello is missing")
        assert live_tag(history) == "one"
        assert history.cluster.server.get(CONFIGMAP)["metadata"]["labels"][LABEL] == "hello"

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_a_forbidden_correction_is_named_until_it_is_allowed(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)
        requests.refuses = applies
        change_tag(history)
        history.cluster.server.patch(DEPLOYMENT, {"spec": {"replicas": 3}}, manager="kubectl")
        await wait_drifted(history, "True", "AccessDenied", "cannot PATCH it", "ConfigMap hello (/data/tag")
        assert history.cluster.server.get(DEPLOYMENT)["spec"]["replicas"] == 1
        assert live_tag(history) == "theirs"
        requests.refuses = lambda _: False
        await wait_drifted(history, "False", "DriftCorrected", "ConfigMap hello", seconds=120.0)
        assert live_tag(history) == "one"

    history = run_history(settings, play)
    assert any("cannot PATCH it" in message for message in events(history, "AccessDenied"))


def test_a_forbidden_comparison_is_unknown(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        await install(history)
        requests.refuses = lambda request: request.path.endswith("/configmaps/hello") and "dryRun" in request.params
        change_tag(history)
        await wait_drifted(history, "Unknown", "AccessDenied", "ConfigMap hello:", "cannot PATCH it")
        requests.refuses = lambda _: False
        await wait_drifted(history, "True", "DriftDetected", seconds=120.0)
        change_tag(history, "one")

    run_history(settings, play)


@pytest.mark.parametrize(("longest", "least", "most"), [(RESYNC_SECONDS / 3, 8, 14), (300.0, 6, 10)])
def test_a_comparison_that_stays_forbidden_is_asked_for_with_pauses(
    settings: Settings, requests: Requests, longest: float, least: int, most: int
) -> None:

    async def play(history: History) -> None:
        await install(history)
        requests.refuses = lambda request: request.path.endswith("/configmaps/hello") and "dryRun" in request.params
        change_tag(history)
        await history.cluster.wait(240.0)
        assert least <= requests.of(CONFIGMAP, "PATCH", dry_run=True) <= most
        requests.refuses = lambda _: False
        change_tag(history, "one")

    run_history(settings.model_copy(update={"backoff_max_seconds": longest}), play)


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (Refused(403, "Forbidden", 'admission webhook "policy" denied the request: secret'), 'webhook "policy" denied'),
        (Refused(403, "Forbidden", "ValidatingAdmissionPolicy 'a' denied request: secret"), "Policy 'a' denied"),
        (Refused(422, "Invalid", 'data.tag: Invalid value: "secret"'), "the API server refuses a dry run"),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_what_admission_refuses_is_compared_again_when_it_may_allow_it(
    settings: Settings, requests: Requests, refusal: Refused, shown: str, asked: bool
) -> None:
    async def play(history: History) -> None:
        await install(history)

        def refuse(request: ApiRequest) -> None:
            if request.path.endswith("/configmaps/hello") and "dryRun" in request.params:
                raise refusal

        requests.before = refuse
        change_tag(history)
        await wait_drifted(history, "Unknown", "DriftUnknown", "ConfigMap hello: ", shown)
        assert "secret" not in drifted(history)[2]
        requests.before = lambda _: None
        if asked:
            history.annotate("reconcile-at")
        await wait_drifted(history, "True", "DriftDetected", seconds=10.0 if asked else 220.0)
        change_tag(history, "one")

    run_history(settings, play)


def test_corrections_pause_longer_and_longer_against_a_controller(settings: Settings) -> None:
    times: list[float] = []

    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)
        clock, server = history.cluster.clock, history.cluster.server

        def compete(plural: str, body: Json) -> None:
            if plural == "configmaps" and body["data"]["tag"] == "one":
                times.append(clock.monotonic())
                server.patch(CONFIGMAP, {"data": {"tag": "rival"}}, manager="rival")

        change_tag(history)
        server.on_stored.append(compete)
        await history.cluster.wait(150.0)
        found = drifted(history)
        server.on_stored.remove(compete)
        assert "ConfigMap hello (/data/tag, changed by rival)" in found[2]
        assert "growing pauses" in found[2]

    run_history(settings, play)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert 3 <= len(times) <= 12
    assert pauses == sorted(pauses)
    assert pauses[3] > 2 * pauses[0]


def test_a_release_that_another_helm_works_on_is_not_corrected(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)

        def begin_upgrade(request: ApiRequest) -> None:
            if request.path.endswith("/configmaps/hello") and "dryRun" in request.params:
                requests.before = lambda _: None
                history.leave_behind("superseded")

        requests.before = begin_upgrade
        change_tag(history)
        await history.cluster.wait(5.0)
        assert requests.of(CONFIGMAP, "PATCH", dry_run=True) == 1
        assert not any(applies(each) and each.params["fieldManager"] == "helm" for each in requests.seen)

    run_history(settings, play)


@pytest.mark.parametrize("unreadable", [False, True])
def test_an_object_that_the_record_has_no_longer_is_not_corrected(
    settings: Settings, requests: Requests, unreadable: bool
) -> None:
    """Somebody has replaced the record, as a restored backup does; in the other one, a document is not read."""
    name = Target("", "v1", "secrets", NAMESPACE, "sh.helm.release.v1.hello.v1")

    async def play(history: History) -> None:
        server = history.cluster.server
        await install(history, driftDetection=ENABLED)
        known = server.get(name)["data"]
        record = decode_record(server.get(name))
        assert record is not None
        documents = [each for each in record["manifest"].split("---\n") if "Deployment" in each or unreadable]
        record["manifest"] = "\n---\n".join(each.replace("tag: ", "unusual: .inf\n  tag: ") for each in documents)

        def replace_record(request: ApiRequest) -> None:
            if request.path.endswith("/configmaps/hello") and "dryRun" in request.params:
                requests.before = lambda _: None
                server.patch(name, {"data": {"release": encode_record(record)}})

        requests.before = replace_record
        change_tag(history)
        await history.cluster.wait(5.0)
        assert decode_record(server.get(name)) == record
        assert live_tag(history) == "theirs"
        change_tag(history, "one")
        await history.cluster.wait(NOTICED_SECONDS)
        server.patch(name, {"data": known})

    assert events(run_history(settings, play), "DriftCorrected") == []


def test_a_reconcile_compares_and_corrects_so_many_objects_and_the_next_ones_the_rest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, requests: Requests
) -> None:
    monkeypatch.setattr(drift, "MAX_OBJECTS", 1)
    monkeypatch.setattr(correct_drift, "MAX_OBJECTS", 1)

    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)
        change_tag(history)
        history.cluster.server.patch(DEPLOYMENT, {"spec": {"replicas": 3}}, manager="kubectl")
        await history.cluster.wait(90.0)
        assert live_tag(history) == "one"
        assert history.cluster.server.get(DEPLOYMENT)["spec"]["replicas"] == 1

    history = run_history(settings, play)
    assert all(";" not in message for message in events(history, "DriftCorrected"))


def test_drift_is_found_again_after_a_restart_and_ends_with_an_upgrade(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        change_tag(history)
        await wait_drifted(history, "True", "DriftDetected")
        history.cluster.restart()
        await history.cluster.wait(NOTICED_SECONDS)
        assert drifted(history)[:2] == ("True", "DriftDetected")
        history.set_tag("two")
        await wait_drifted(history, "False", "NoDrift")
        assert live_tag(history) == "two"

    history = run_history(settings, play)
    assert len(events(history, "DriftDetected")) == 1


@pytest.mark.parametrize("target", [JOB, CLUSTER_ROLE], ids=["watched", "not watched"])
def test_an_object_that_expires_drifts_while_it_exists(settings: Settings, target: Target) -> None:
    """Jobs expire; other kinds may have a field of the same name."""
    kind, group = target.kind, f"{target.group}/v1"
    body = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: brief}}\nspec: {{ttlSecondsAfterFinished: 9}}\n"

    async def play(history: History) -> None:
        server = history.cluster.server
        server.unwatchable.add("clusterroles")
        history.create(archive=store(history, brief=body, tag=CONFIGMAP_TEMPLATE))
        await history.cluster.wait(NOTICED_SECONDS)
        server.patch(target, {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
        server.patch(target, {"spec": {"ttlSecondsAfterFinished": 8}}, manager="kubectl")
        history.annotate("reconcile-at")
        await wait_drifted(history, "True", "DriftDetected", f"{kind} brief", "/spec/ttlSecondsAfterFinished")
        server.delete(target, {})
        if target is CLUSTER_ROLE:
            await history.cluster.wait(NOTICED_SECONDS)
            history.annotate("reconcile-at")
        await wait_drifted(history, "False", "NoDrift")

    run_history(settings, play)


def test_a_disabled_detection_asks_and_says_nothing(settings: Settings, requests: Requests) -> None:
    async def play(history: History) -> None:
        await install(history)
        change_tag(history)
        await wait_drifted(history, "True", "DriftDetected")
        assert drifted_xapps(history) == 1.0
        history.edit(driftDetection={"mode": "disabled"})
        await history.cluster.wait(NOTICED_SECONDS)
        assert drifted(history) == ("", "", "")
        assert drifted_xapps(history) == 0.0
        asked = requests.of(CONFIGMAP, "PATCH", dry_run=True)
        change_tag(history, "another")
        await history.cluster.wait(NOTICED_SECONDS)
        assert requests.of(CONFIGMAP, "PATCH", dry_run=True) == asked
        change_tag(history, "one")

    run_history(settings, play)


def test_a_scaler_that_comes_or_goes_is_noticed(settings: Settings) -> None:
    """At the next resync, or when somebody asks: no watch tells."""
    scaler: Json = {
        "metadata": {"name": "scaler", "namespace": NAMESPACE},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "hello"}},
    }

    async def play(history: History) -> None:
        server = history.cluster.server
        await install(history)
        server.patch(DEPLOYMENT, {"spec": {"replicas": 3}}, manager="kubectl")
        await wait_drifted(history, "True", "DriftDetected", "/spec/replicas")
        server.create(HPA, scaler)
        await wait_drifted(history, "False", "NoDrift", seconds=2.0 * settings.resync_seconds)
        server.delete(HPA, {})
        history.annotate("reconcile-at")
        await wait_drifted(history, "True", "DriftDetected", "/spec/replicas", seconds=NOTICED_SECONDS)
        server.create(HPA, scaler)
        history.annotate("reconcile-at")
        await wait_drifted(history, "False", "NoDrift", seconds=NOTICED_SECONDS)
        history.set_tag("two")

    run_history(settings, play)


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (Refused(403, "Forbidden", 'configmaps "hello" is forbidden: exceeded quota: small'), "exceeded quota: small"),
        (Refused(422, "Invalid", 'data.tag: Invalid value: "secret"'), "the API server refuses the change"),
        (Refused(403, "Forbidden", 'admission webhook "policy" denied the request: secret'), 'webhook "policy" denied'),
        (Refused(403, "Forbidden", "ValidatingAdmissionPolicy 'a' denied request: secret"), "Policy 'a' denied"),
    ],
)
def test_a_refused_correction_is_named_with_its_cause(
    settings: Settings, requests: Requests, refusal: Refused, shown: str
) -> None:
    """Nobody undid a correction, so nobody is said to have done that."""

    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)

        def refuse(request: ApiRequest) -> None:
            if applies(request) and request.params["fieldManager"] == "helm":
                raise refusal

        requests.before = refuse
        history.cluster.server.delete(CONFIGMAP, {})
        await wait_drifted(history, "True", "DriftDetected", "ConfigMap hello is not corrected", shown)
        message = drifted(history)[2]
        assert "ConfigMap hello is missing" in message
        assert "corrected before" not in message
        assert "secret" not in message
        requests.before = lambda _: None
        await wait_drifted(history, "False", "DriftCorrected", "ConfigMap hello is missing", seconds=120.0)

    history = run_history(settings, play)
    (message,) = set(events(history, "CorrectionRefused"))
    assert shown in message


def test_corrections_of_an_earlier_revision_are_not_told_of_a_new_one(settings: Settings) -> None:
    told = "it was corrected before"

    async def play(history: History) -> None:
        await install(history, driftDetection=ENABLED)

        def compete(plural: str, body: Json) -> None:
            if plural == "configmaps" and body["data"]["tag"] == "one":
                history.cluster.server.patch(CONFIGMAP, {"data": {"tag": "rival"}}, manager="rival")

        change_tag(history)
        history.cluster.server.on_stored.append(compete)
        await wait_drifted(history, "True", "DriftDetected", told)
        await history.cluster.wait(40.0)  # until the pauses are long
        history.set_tag("two")
        await wait_drifted(history, "False", "NoDrift", "revision 2")
        change_tag(history)
        await wait_drifted(history, "True", "DriftDetected", "changed by kubectl", seconds=NOTICED_SECONDS)
        assert told not in drifted(history)[2]

    run_history(settings, play)
