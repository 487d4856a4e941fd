"""Whatever the cluster refuses to an action is told, and stops nothing else: the status, health, and later actions."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import STORED_CHART, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, allow, change, install, refuse
from tests.unit.histories.test_adoption import condition
from xapp_operator.config.settings import Settings

REFUSALS = [(500, "InternalError"), (422, "Invalid"), (403, "Forbidden")]
ARCHIVE = STORED_CHART["metadata"]["name"]
WEBHOOK = "failed calling webhook x: connection refused"
LABEL = {"metadata": {"labels": {"xapp-operator.io/xapp": None}}}


def events(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


@pytest.mark.parametrize(("code", "reason"), REFUSALS)
@pytest.mark.parametrize("tag", ["two", BROKEN])
def test_the_result_of_an_upgrade_is_told_when_its_objects_cannot_be_labelled(
    settings: Settings, code: int, reason: str, tag: str
) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        refuse(history, "PATCH", "/configmaps/hello", Refused(code, reason, WEBHOOK))
        history.set_tag(tag)
        change(history, CONFIGMAP_TARGET, LABEL)
        await history.cluster.wait(100.0)
        refused = {500: "Ready UpgradeSucceeded", 422: "Stalled UpgradeFailed", 403: "Stalled AccessDenied"}
        assert history.outcome == (refused[code] if tag == "two" else "Stalled HealthCheckFailed")
        allow(history)

    run_history(settings, play, lambda _: None)


@pytest.mark.parametrize(("code", "reason"), REFUSALS)
def test_labels_that_cannot_be_restored_are_told_and_stop_nothing(settings: Settings, code: int, reason: str) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse(history, "PATCH", "/configmaps/hello", Refused(code, reason, WEBHOOK))
        change(history, CONFIGMAP_TARGET, LABEL)
        await history.cluster.wait(10.0)
        assert any(WEBHOOK in each for each in events(history, "AccessDenied" if code == 403 else "LabelsNotWritten"))
        history.cluster.set_outage(on=True)
        await history.cluster.wait(100.0)
        assert history.outcome == "NotReady HealthCheckFailed"
        history.cluster.set_outage(on=False)
        allow(history)

    def check(history: History) -> None:
        assert history.outcome == "Ready InstallSucceeded"
        labels = history.cluster.server.get(CONFIGMAP_TARGET)["metadata"]["labels"]
        assert labels["xapp-operator.io/xapp"] == "hello"

    run_history(settings, play, check)


def test_an_object_that_may_not_be_read_is_not_asked_for_at_each_change_of_another(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse(history, "GET", "/configmaps/hello", Refused(403, "Forbidden", "you may not"))
        change(history, CONFIGMAP_TARGET, LABEL)
        transport = history.cluster.transport
        assert transport is not None
        before = len(transport.requests)
        for number in range(60):
            history.cluster.set_outage(on=number % 2 == 0)
            await history.cluster.wait(2.0)
        asked = [each.path for each in transport.requests[before:] if each.path.endswith("/configmaps/hello")]
        assert len(asked) <= 16, "every 30 seconds for its labels, and with growing pauses for drift"
        told = [each["count"] for each in history.cluster.server.all("events") if each["reason"] == "AccessDenied"]
        assert 2 <= sum(told) <= 7
        allow(history)

    run_history(settings, play)


@pytest.mark.parametrize("code", [403, 422])
def test_a_record_that_may_not_be_changed_is_told(settings: Settings, code: int) -> None:
    async def play(history: History) -> None:
        await install(history)
        refused = Refused(code, "Forbidden" if code == 403 else "Invalid", "the field is immutable")
        refuse(history, "PUT", "/secrets/sh.helm.release.v1.hello.v1", refused)
        history.leave_behind("pending-upgrade")
        await history.cluster.wait(100.0)
        status, reason, message = condition(history, "Stalled")
        assert (status, reason) == ("True", "AccessDenied" if code == 403 else "UpgradeFailed")
        assert "immutable" in message
        allow(history)

    run_history(settings, play)


def test_a_failure_that_passes_is_told_at_the_third_time(settings: Settings) -> None:
    record = "/secrets/sh.helm.release.v1.hello.v1"

    async def play(history: History) -> None:
        await install(history)
        refuse(history, "PUT", record, Refused(500, "InternalError", WEBHOOK))
        history.leave_behind("pending-upgrade")
        assert await history.cluster.wait_for(lambda: WEBHOOK in condition(history, "Reconciling")[2], seconds=100.0)
        assert condition(history, "Reconciling")[:2] == ("True", "Progressing")
        assert history.cluster.transport is not None
        tries = [each for each in history.cluster.transport.requests if each.method == "PUT"]
        assert sum(each.path.endswith(record) for each in tries) == 3
        allow(history)

    run_history(settings, play)


@pytest.mark.parametrize(("code", "reason"), REFUSALS)
def test_labels_of_a_new_spec_wait_until_the_release_record_can_be_read(
    settings: Settings, code: int, reason: str
) -> None:
    def team(history: History) -> str:
        return str(history.cluster.server.get(CONFIGMAP_TARGET)["metadata"]["labels"]["xapp-operator.io/team"])

    async def play(history: History) -> None:
        await install(history)
        refuse(history, "GET", "/secrets/sh.helm.release.v1.hello.v1", Refused(code, reason, WEBHOOK))
        history.edit(team="other")
        await history.cluster.wait(3.0)
        refused = events(history, "AccessDenied" if code == 403 else "LabelsNotWritten")
        assert [WEBHOOK in each for each in refused] == [True]
        assert team(history) == "ran"
        allow(history)
        await history.cluster.wait(30.0)
        assert team(history) == "other"

    run_history(settings, play)


@pytest.mark.parametrize(("code", "reason"), REFUSALS)
def test_owners_of_an_archive_that_cannot_be_written_are_told_and_stop_nothing(
    settings: Settings, code: int, reason: str
) -> None:
    async def play(history: History) -> None:
        refuse(history, "PATCH", f"/chartarchives/{ARCHIVE}", Refused(code, reason, WEBHOOK))
        await install(history)
        assert history.outcome == "Ready InstallSucceeded"
        refused = events(history, "AccessDenied" if code == 403 else "ArchiveOwnersNotWritten")
        assert refused
        assert all(WEBHOOK in each for each in refused)
        assert not owners(history)
        await history.cluster.wait(60.0)  # the pauses grow
        assert history.cluster.transport is not None
        requests = history.cluster.transport.requests
        tries = [
            each for each in requests if each.method == "PATCH" and each.path.endswith(f"/chartarchives/{ARCHIVE}")
        ]
        assert 5 <= len(tries) <= 9
        allow(history)

    def owners(history: History) -> list[str]:
        found = history.cluster.server.find("chartarchives", ARCHIVE, namespace=NAMESPACE)
        assert found is not None
        return [each["name"] for each in found["metadata"].get("ownerReferences", ())]

    def check(history: History) -> None:
        assert owners(history) == ["hello"]

    run_history(settings, play, check)


def test_a_revision_that_may_not_be_deleted_stops_no_other_and_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, maxHistory=2)
        refuse(history, "DELETE", "/secrets/sh.helm.release.v1.hello.v1", Refused(403, "Forbidden", "may not delete"))
        for tag in ("two", "three", "four"):
            history.set_tag(tag)
            await history.cluster.wait(20.0)
            assert history.outcome == "Ready UpgradeSucceeded"
        assert sorted(history.cluster.revisions) == [1, 3, 4]
        (message,) = events(history, "LeftBehind")
        assert message == "not deleted, though beyond maxHistory: revisions 1: may not delete"
        allow(history)
        history.set_tag("five")

    def check(history: History) -> None:
        assert sorted(history.cluster.revisions) == [4, 5]

    run_history(settings, play, check)


@pytest.mark.parametrize("code", [403, 422])
def test_what_admission_says_of_an_object_is_told_nowhere(settings: Settings, code: int) -> None:
    """It may quote values, which more people may read in a status than in the object."""
    policy = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request"
    refused = Refused(code, "Forbidden" if code == 403 else "Invalid", f"{policy}: its tag is hunter2")

    async def play(history: History) -> None:
        await install(history)
        refuse(history, "PATCH", "/configmaps/hello", refused)
        change(history, CONFIGMAP_TARGET, LABEL)
        await history.cluster.wait(10.0)
        refuse(history, "PUT", "/secrets/sh.helm.release.v1.hello.v1", refused)
        history.leave_behind("pending-upgrade")
        await history.cluster.wait(100.0)
        assert policy in condition(history, "Stalled")[2]
        told = str([history.cluster.xapp(), history.cluster.server.all("events")])
        assert policy in told
        assert "hunter2" not in told
        allow(history)

    run_history(settings, play)


@pytest.mark.parametrize(("code", "reason"), [(403, "AccessDenied"), (422, "ChartPullFailed")])
def test_a_repository_that_may_not_be_created_is_told_and_asked_for_once_in_a_reconcile(
    settings: Settings, code: int, reason: str
) -> None:
    async def play(history: History) -> None:
        refuse(history, "POST", "/chartrepositories", Refused(code, "Forbidden" if code == 403 else "Invalid", WEBHOOK))
        history.create(
            method="Remote Chart Repository", url="https://127.0.0.1:1", repoName="acme", chartName="x", archive=None
        )
        await history.cluster.wait(60.0)
        assert condition(history, "Stalled")[:2] == ("True", reason)
        assert WEBHOOK in condition(history, "Stalled")[2]
        assert history.cluster.transport is not None
        asked = [each for each in history.cluster.transport.requests if each.path.endswith("/chartrepositories")]
        assert len([each for each in asked if each.method == "POST"]) <= 2, "at the creation, and after the status"
        allow(history)
        history.annotate("retry-at")
        assert await history.cluster.wait_for(lambda: "loopback" in condition(history, "Ready")[2], seconds=60.0)
        history.delete()

    assert run_history(settings, play).outcome == "gone"


DENIED = 'x is forbidden: User "u" cannot {verb} resource "{kind}" in API group "" in the namespace "ns"'


def test_a_right_that_is_missing_for_the_chart_is_told_with_what_to_do(settings: Settings) -> None:
    async def play(history: History) -> None:
        denied = Refused(403, "Forbidden", DENIED.format(verb="get", kind="chartarchives"))
        refuse(history, "GET", f"/chartarchives/{ARCHIVE}", denied)
        history.create()
        await history.cluster.wait(20.0)
        status, reason, message = condition(history, "Stalled")
        assert (status, reason) == ("True", "AccessDenied")
        assert message.endswith('namespace "ns". Grant that permission, then request a retry')
        allow(history)
        history.annotate("retry-at")

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


def test_a_rollback_needs_no_values_that_may_not_be_read_any_more(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "shared", "text: old")
        await install(history, valuesFrom=[{"kind": "Secret", "name": "shared"}])
        history.set_tag("two")
        await history.cluster.wait(10.0)
        refuse(history, "GET", "/secrets/shared", Refused(403, "Forbidden", "you may not"))
        replace_secret(history, secret("shared", values__yaml="text: new"))
        await history.cluster.wait(10.0)
        assert history.live_tags == {"two"}
        history.annotate("rollback-to", "1")
        await history.cluster.wait(10.0)
        assert history.live_tags == {"one"}
        allow(history)

    run_history(settings, play, lambda _: None)


def test_a_right_that_is_missing_for_a_record_is_told_with_what_to_do(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        denied = Refused(403, "Forbidden", DENIED.format(verb="update", kind="secrets"))
        refuse(history, "PUT", "/secrets/sh.helm.release.v1.hello.v1", denied)
        history.leave_behind("pending-upgrade")
        await history.cluster.wait(100.0)
        assert condition(history, "Ready")[2].endswith("Grant that permission, then request a retry")
        allow(history)

    run_history(settings, play)


def test_a_reconcile_that_failed_is_counted_with_its_seconds(settings: Settings) -> None:
    found: dict[str, float] = {}

    async def play(history: History) -> None:
        await install(history)
        history.cluster.latency = lambda request: 0.5 if request.path.endswith("/namespaces/ns") else 0.0
        refuse(history, "GET", "/namespaces/ns", Refused(500, "InternalError", WEBHOOK))
        history.delete()
        await history.cluster.wait(10.0)
        assert history.cluster.runtime is not None
        for line in history.cluster.runtime._context.metrics.render().decode().splitlines():
            if 'action="none",outcome="failed"' in line:
                name, _, number = line.partition(" ")
                found[name.partition("{")[0]] = float(number)
        allow(history)

    run_history(settings, play)
    count = found["xapp_operator_reconcile_seconds_count"]
    assert count > 1
    assert found["xapp_operator_reconcile_seconds_sum"] == pytest.approx(0.5 * count)
