"""A finalizer that the cluster refuses for a while is written afterwards, although kopf gives up; nobody is stuck."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import allow, change, count_reads, create_other, install, refuse
from tests.unit.histories.test_refused_requests import DENIED, WEBHOOK, events
from xapp_operator.api.names import FINALIZER
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.finalizers import FINALIZER_NOT_WRITTEN, LATE_SECONDS

OTHER = "example.com/kept"
XAPP = Target("xapp-operator.io", "v1alpha1", "xapps", NAMESPACE, "hello")
REFUSALS = [
    Refused(500, "InternalError", WEBHOOK),
    Refused(422, "Invalid", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: its tag is hunter2"),
    Refused(403, "Forbidden", DENIED.format(verb="patch", kind="xapps")),
]
refusals = pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each.code))
durations = pytest.mark.parametrize("seconds", [2.0, 20.0, 70.0, 600.0])


def refuse_finalizers(history: History, refusal: Refused) -> None:
    refuse(history, "PATCH", "/xapps/hello", refusal)


def finalizers(history: History) -> list[str]:
    body = history.cluster.xapp()
    assert body is not None
    found: list[str] = body["metadata"].get("finalizers", [])
    return found


def writes(history: History) -> int:
    assert history.cluster.transport is not None
    requests = history.cluster.transport.requests
    return sum(each.method == "PATCH" and each.path.endswith("/xapps/hello") for each in requests)


def reads(history: History) -> int:
    return count_reads(history, "xapps/hello")


def told(history: History, refusal: Refused) -> str:
    """Return what users are told in the end, which is the same in the status and in an event."""
    (message, *_) = events(history, "AccessDenied" if refusal.code == 403 else FINALIZER_NOT_WRITTEN)
    ready: Json = history.cluster.condition("Ready") or {}
    assert ready["message"].startswith(message)
    assert "hunter2" not in str([history.cluster.xapp(), history.cluster.server.all("events")])
    return message


async def wait_late(history: History, seconds: float) -> bool:
    """Wait until kopf has given up, and return whether `seconds` are long enough for that."""
    await history.cluster.wait(seconds)
    return seconds > 60.0


@refusals
@durations
def test_an_xapp_is_installed_when_its_finalizer_is_not_refused_any_more(
    settings: Settings, refusal: Refused, seconds: float
) -> None:
    async def play(history: History) -> None:
        refuse_finalizers(history, refusal)
        history.create(tag="one")
        is_late = await wait_late(history, seconds)
        assert (finalizers(history), history.cluster.revisions) == ([], {})
        if is_late:
            assert f"{FINALIZER} cannot be added, without which nothing is deployed: " in told(history, refusal)
        allow(history)
        assert await history.cluster.wait_for(lambda: finalizers(history) == [FINALIZER], seconds=LATE_SECONDS + 15.0)
        assert await history.cluster.wait_for(lambda: history.cluster.revisions != {}, seconds=5.0)

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


@refusals
@durations
def test_a_deleted_xapp_goes_when_that_is_not_refused_any_more(
    settings: Settings, refusal: Refused, seconds: float
) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse_finalizers(history, refusal)
        history.delete()
        is_late = await wait_late(history, seconds)
        assert finalizers(history) == [FINALIZER]
        assert not is_late or history.cluster.revisions == {}
        if is_late:
            assert f"{FINALIZER} cannot be removed, although the release is gone: " in told(history, refusal)
        allow(history)
        gone = await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=LATE_SECONDS + 15.0)
        assert gone

    assert run_history(settings, play).outcome == "gone"


@refusals
def test_a_refused_finalizer_costs_few_requests_whatever_the_user_does(settings: Settings, refusal: Refused) -> None:
    async def play(history: History) -> None:
        refuse_finalizers(history, refusal)
        history.create(tag="one")
        for number in range(600):
            change(history, XAPP, {"metadata": {"annotations": {"example.com/number": str(number)}}})
            await history.cluster.wait(1.0)
        assert 10 <= reads(history) <= 30, "one for each try, with growing pauses, however often the XApp changes"
        assert sum(each["count"] for each in history.cluster.server.all("events")) <= 30
        allow(history)

    run_history(settings, play)


@refusals
def test_an_xapp_whose_finalizer_is_refused_can_be_deleted(settings: Settings, refusal: Refused) -> None:
    async def play(history: History) -> None:
        refuse_finalizers(history, refusal)
        history.create(tag="one")
        await history.cluster.wait(100.0)
        history.delete()
        await history.cluster.wait(100.0)
        allow(history)

    assert run_history(settings, play).outcome == "gone"


@refusals
def test_a_refused_finalizer_delays_no_other_xapp(settings: Settings, refusal: Refused) -> None:
    async def play(history: History) -> None:
        refuse_finalizers(history, refusal)
        history.create(tag="one")
        await history.cluster.wait(40.0)
        create_other(history)
        ready = await history.cluster.wait_for(
            lambda: (history.cluster.condition("Ready", "other") or {}).get("status") == "True", seconds=15.0
        )
        assert ready
        allow(history)
        history.cluster.delete("other")

    run_history(settings, play)


@pytest.mark.parametrize("code", [403, 422])
def test_finalizers_of_others_stay(settings: Settings, code: int) -> None:
    refusal = next(each for each in REFUSALS if each.code == code)

    async def play(history: History) -> None:
        await install(history)
        refuse_finalizers(history, refusal)
        change(history, XAPP, {"metadata": {"finalizers": [OTHER]}})
        await history.cluster.wait(100.0)
        assert finalizers(history) == [OTHER]
        assert history.outcome == ("Stalled AccessDenied" if code == 403 else "Stalled UpgradeFailed")
        allow(history)
        assert await history.cluster.wait_for(lambda: finalizers(history) == [OTHER, FINALIZER], seconds=60.0)
        refuse_finalizers(history, refusal)
        history.delete()
        await history.cluster.wait(100.0)
        allow(history)
        assert await history.cluster.wait_for(lambda: finalizers(history) == [OTHER], seconds=60.0)
        change(history, XAPP, {"metadata": {"finalizers": []}})

    assert run_history(settings, play).outcome == "gone"


def test_a_finalizer_that_somebody_adds_at_the_same_time_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        def add_other(request: ApiRequest) -> None:
            if request.method == "PATCH" and request.path.endswith("/xapps/hello"):
                allow(history)
                change(history, XAPP, {"metadata": {"finalizers": [OTHER]}})

        refuse_finalizers(history, REFUSALS[1])
        history.create(tag="one")
        await history.cluster.wait(LATE_SECONDS / 2)  # kopf has tried it, and the operator will
        history.cluster.refuse = add_other
        assert await history.cluster.wait_for(lambda: FINALIZER in finalizers(history), seconds=60.0)
        assert finalizers(history) == [OTHER, FINALIZER]

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


def test_a_deleted_xapp_that_others_keep_gets_no_finalizer(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        change(history, XAPP, {"metadata": {"finalizers": [OTHER, FINALIZER]}})
        history.delete()
        assert await history.cluster.wait_for(lambda: finalizers(history) == [OTHER], seconds=60.0)
        history.cluster.restart()
        await history.cluster.wait(100.0)
        assert (finalizers(history), reads(history)) == ([OTHER], 0)
        change(history, XAPP, {"metadata": {"finalizers": []}})

    assert run_history(settings, play).outcome == "gone"


def test_the_release_of_a_deleted_xapp_whose_finalizer_a_person_has_removed_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse_finalizers(history, REFUSALS[1])  # otherwise it would be written again before the deletion
        change(history, XAPP, {"metadata": {"finalizers": [OTHER]}})
        history.delete()
        await history.cluster.wait(5.0)
        allow(history)
        await history.cluster.wait(100.0)
        history.cluster.restart()
        await history.cluster.wait(100.0)
        assert (finalizers(history), history.cluster.revisions) == ([OTHER], {1: "deployed"})
        change(history, XAPP, {"metadata": {"finalizers": []}})
        await history.cluster.wait(5.0)
        history.removed.clear()  # it is the person's now

    assert run_history(settings, play).outcome == "gone"


def test_a_refusal_that_cannot_be_told_either_ends_too(settings: Settings) -> None:
    def check(request: ApiRequest) -> None:
        if request.method in ("PATCH", "POST"):
            raise REFUSALS[0]

    async def play(history: History) -> None:
        history.cluster.refuse = check
        history.create(tag="one")
        await history.cluster.wait(300.0)
        allow(history)

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


def test_an_operator_that_starts_again_finds_the_refused_ones(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse_finalizers(history, REFUSALS[1])
        history.delete()
        await history.cluster.wait(100.0)
        history.cluster.restart()
        await history.cluster.wait(100.0)
        allow(history)

    assert run_history(settings, play).outcome == "gone"


def test_kopf_alone_writes_a_finalizer_that_is_not_refused(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, 2 * LATE_SECONDS)
        assert writes(history) == 1
        history.delete()
        await history.cluster.wait(2 * LATE_SECONDS)
        assert reads(history) == 0

    assert run_history(settings, play).outcome == "gone"
