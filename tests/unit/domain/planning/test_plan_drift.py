"""Drift is corrected when nothing else is to be done, and when the back-off allows it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.unit.domain.planning.plan_inputs import INSTALLED, NOW, OLD, case, plan_input, release, spec, without_message
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.actions import Action, CorrectDrift, Nothing, RepairLabels, Uninstall, Upgrade
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_at_rest import next_action_at
from xapp_operator.domain.planning.plan_input import (
    DriftState,
    LabelState,
    ObservedState,
    PlanInput,
    TestOutcome,
    TestRun,
)

SCALED = DriftedObject("Deployment", "ran", "hello", paths=("/spec/replicas",))
REFUSED = replace(SCALED, name="other", refusal="it belongs to another release")
DRIFT = {"drift": DriftState((SCALED, REFUSED))}
ENABLED = spec(drift="enabled")

CORRECTIONS = [
    case("enabled", plan_input(release(), wanted=ENABLED, observed=DRIFT), CorrectDrift((SCALED,))),
    case("warn", plan_input(release(), observed=DRIFT), Nothing()),
    case("disabled", plan_input(release(), wanted=spec(drift="disabled"), observed=DRIFT), Nothing()),
    case("refused", plan_input(release(), wanted=ENABLED, observed={"drift": DriftState((REFUSED,))}), Nothing()),
    case("not-looked-for", plan_input(release(), wanted=ENABLED), Nothing()),
    case(
        "not-due",
        plan_input(release(), wanted=ENABLED, observed={"drift": DriftState((SCALED,), correct_at=NOW + 1)}),
        Nothing(),
    ),
    case(
        "due",
        plan_input(release(), wanted=ENABLED, observed={"drift": DriftState((SCALED,), correct_at=NOW)}),
        CorrectDrift((SCALED,)),
    ),
    case("after-the-upgrade", plan_input(release(digests=OLD), wanted=ENABLED, observed=DRIFT), Upgrade()),
    case(
        "unhealthy",
        plan_input(release(), last=INSTALLED, wanted=ENABLED, observed=DRIFT, health=HealthStatus.DEGRADED),
        CorrectDrift((SCALED,)),
    ),
    case(
        "after-the-labels",
        plan_input(release(), wanted=ENABLED, observed={**DRIFT, "labels": LabelState(missing=True)}),
        RepairLabels(),
    ),
    case("deleting", plan_input(release(), wanted=ENABLED, observed=DRIFT, deleting=True), Uninstall()),
]


@pytest.mark.parametrize(("inputs", "expected"), CORRECTIONS)
def test_drift_is_corrected_when_no_other_action_is_due(inputs: PlanInput, expected: Action) -> None:
    assert without_message(plan(inputs)) == expected


def test_nothing_is_corrected_while_suspended() -> None:
    suspended = ENABLED.model_copy(update={"suspend": True})
    assert not isinstance(plan(plan_input(release(), wanted=suspended, observed=DRIFT)), CorrectDrift)


def test_the_next_time_is_that_of_the_earliest_repair_comparison_or_correction() -> None:
    drift = DriftState((SCALED,), compare_at=NOW + 20, correct_at=NOW + 10)
    labels = LabelState(missing=True, repair_at=NOW + 30)

    def due(mode: str, drift: DriftState | None, labels: LabelState | None = None) -> float:
        observed = ObservedState(drift=drift, labels=labels or LabelState())
        wanted = ENABLED if mode == "enabled" else spec()
        return next_action_at(wanted, observed, None, now=NOW, backoff=Backoff()) - NOW

    assert due("warn", None) == math.inf
    assert due("warn", replace(drift, compare_at=None)) == math.inf, "only a change brings the next comparison"
    assert due("warn", drift) == 20
    assert due("enabled", drift) == 10
    assert due("enabled", replace(drift, objects=(REFUSED,))) == 20, "what is refused is not corrected"
    assert due("enabled", None, labels) == 30


@pytest.mark.parametrize(
    ("labels", "at"),
    [
        (LabelState(repair_at=NOW + 5), math.inf),
        (LabelState(missing=True, repair_at=NOW + 5), NOW + 5),
        (LabelState(outdated=True, repair_at=NOW + 5), NOW + 5),
        (LabelState(missing=True, repair_at=NOW), math.inf),
    ],
)
def test_labels_bring_an_action_only_while_a_repair_is_to_come(labels: LabelState, at: float) -> None:
    assert next_action_at(spec(), ObservedState(labels=labels), None, now=NOW, backoff=Backoff()) == at


def test_interrupted_tests_bring_an_action_only_while_none_run() -> None:
    def due(outcome: TestOutcome, *, running: bool = False, last_at: float = NOW) -> float:
        last = TestRun(2, outcome, first_at=NOW, last_at=last_at, count=2)
        observed = ObservedState(tests_running=running)
        return next_action_at(spec(), observed, last, now=NOW, backoff=Backoff())

    assert due(TestOutcome.INTERRUPTED) == NOW + 2
    assert due(TestOutcome.INTERRUPTED, running=True) == math.inf
    assert due(TestOutcome.SUCCEEDED) == math.inf
    assert due(TestOutcome.INTERRUPTED, last_at=NOW - 2) == math.inf, "they are due already"
