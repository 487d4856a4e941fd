"""The condition Drifted, from the first drift to its end, and the events about it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.conditions import DRIFTED, ConditionSet
from xapp_operator.api.models import Condition, ReleaseStatus, XApp
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.plan_input import DriftState
from xapp_operator.reconcile.status.drift_reporting import CORRECTION_PENDING, find_begun_drift, set_drifted
from xapp_operator.reconcile.status.status_draft import StatusDraft

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SCALED = DriftedObject("Deployment", "ns", "hello", paths=("/spec/replicas",), managers=("kubectl",))
DRIFT = DriftState((SCALED,))
PHRASE = "Deployment hello (/spec/replicas, changed by kubectl)"

BEFORE = {"True": "DriftDetected", "False": "DriftCorrected", "Unknown": "DriftUnknown"}


def drifted(
    drift: DriftState | None,
    *,
    mode: str = "warn",
    before: str | None = None,
    revision: int | None = 3,
    corrected: str = "",
) -> tuple[str, str, str] | None:
    """Return status, reason and message of the condition."""
    xapp = with_condition(before, mode=mode)
    draft = replace(
        StatusDraft.from_status(xapp, now=time.time()),
        release=ReleaseStatus(revision=revision),
        drift_corrected=corrected,
    )
    conditions = ConditionSet(xapp.status.conditions or (), generation=2, now=NOW)
    set_drifted(conditions, xapp, draft, drift)
    found = conditions.get(DRIFTED)
    return None if found is None else (found.status, found.reason, found.message)


def with_condition(status: str | None, *, mode: str = "warn") -> XApp:
    body = raw(driftDetection={"mode": mode})
    if status is not None:
        times = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
        condition = {"type": DRIFTED, "status": status, "reason": BEFORE[status], "message": "before", **times}
        body["status"]["conditions"] = [condition]
    return XApp.model_validate(body)


def test_without_drift_there_is_no_condition() -> None:
    assert drifted(DriftState()) is None
    assert drifted(None) is None


def test_drift_is_named_whatever_was_before() -> None:
    for before in (None, *BEFORE):
        assert drifted(DRIFT, before=before) == ("True", "DriftDetected", PHRASE)


def test_a_pending_correction_is_told() -> None:
    assert drifted(DRIFT, mode="enabled") == ("True", "DriftDetected", PHRASE)
    again = replace(DRIFT, corrected_before=True)
    assert drifted(again, mode="enabled") == ("True", "DriftDetected", f"{PHRASE}; {CORRECTION_PENDING}")
    assert drifted(again) == ("True", "DriftDetected", PHRASE)
    refused = DriftState((replace(SCALED, refusal="it belongs to another release"),))
    found = drifted(refused, mode="enabled")
    assert found is not None
    assert CORRECTION_PENDING not in found[2]
    assert "cannot be corrected: it belongs to another release" in found[2]


def test_the_right_that_a_correction_lacks_comes_first() -> None:
    denied = replace(DRIFT, correction_error="x cannot patch deployments", correction_denied=True)
    found = drifted(denied, mode="enabled")
    assert found is not None
    assert found[:2] == ("True", "AccessDenied")
    assert found[2].startswith("x cannot patch deployments. ")
    assert PHRASE in found[2]


@pytest.mark.parametrize(("denied", "reason"), [(True, "AccessDenied"), (False, "DriftUnknown")])
def test_what_could_not_be_compared_is_unknown_unless_other_objects_differ(*, denied: bool, reason: str) -> None:
    unknown = DriftState(unknown="Deployment hello: no", denied=denied)
    message = "it is not known whether objects differ from the release: Deployment hello: no"
    assert drifted(unknown, before="True") == ("Unknown", reason, message)
    assert drifted(replace(unknown, objects=(SCALED,))) == ("True", "DriftDetected", PHRASE)


@pytest.mark.parametrize("before", ["True", "Unknown"])
def test_the_end_of_drift_is_told(before: str) -> None:
    assert drifted(DriftState(), before=before) == ("False", "NoDrift", "the objects are as in revision 3")
    assert drifted(DriftState(), before=before, corrected=PHRASE) == ("False", "DriftCorrected", f"corrected: {PHRASE}")


def test_what_was_corrected_stays_told() -> None:
    assert drifted(DriftState(), before="False") == ("False", "DriftCorrected", "before")


def test_nothing_changes_while_objects_are_still_to_be_compared_or_are_not_looked_at() -> None:
    assert drifted(DriftState(compare_at=1.0), before="True") == ("True", "DriftDetected", "before")
    assert drifted(None, before="True") == ("True", "DriftDetected", "before")


@pytest.mark.parametrize("changes", [{"mode": "disabled"}, {"revision": None}])
def test_the_condition_goes_with_the_detection_and_with_the_release(changes: dict[str, Any]) -> None:
    assert drifted(DRIFT, before="True", **changes) is None


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (None, "True", "DriftDetected"),
        ("False", "True", "DriftDetected"),
        ("Unknown", "True", "DriftDetected"),
        ("True", "True", None),
        ("True", "False", None),
        ("True", None, None),
        (None, "Unknown", "DriftUnknown"),
    ],
)
def test_there_is_one_event_each_time_drift_begins(before: str | None, after: str | None, reason: str | None) -> None:
    begun = find_begun_drift(with_condition(before), with_condition(after))
    assert (begun.reason if begun else None) == reason


@pytest.mark.parametrize(("before", "drift"), [("True", DRIFT), ("False", DriftState())])
def test_the_condition_keeps_its_time_while_its_status_stays(before: str, drift: DriftState) -> None:
    """It says nevertheless of which generation it is."""
    xapp = with_condition(before)
    draft = replace(StatusDraft.from_status(xapp, now=time.time()), release=ReleaseStatus(revision=3))
    conditions = ConditionSet(xapp.status.conditions or (), generation=2, now=NOW)
    set_drifted(conditions, xapp, draft, drift)
    found = cast("Condition", conditions.get(DRIFTED))
    assert found.last_transition_time.day == 1
    assert found.observed_generation == 2
