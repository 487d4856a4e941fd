"""Labels that are removed repeatedly are repaired with growing delays, and objects without them are found."""

from __future__ import annotations

from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import REGISTRATION_LABELS
from xapp_operator.domain.backoff import Backoff
from xapp_operator.domain.plan_input import LabelState
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.xapp_monitor import UnlabelledObject
from xapp_operator.reconcile.labels import RESET_SECONDS, LabelBackoff, MissingLabels, label_state, predefined_labels

KEY = ("ric", "hello")


def test_first_repair_is_due_at_once_and_the_next_after_a_delay() -> None:
    backoff = LabelBackoff(Backoff(1, 300))
    assert backoff.next_repair_at(KEY) == 0
    backoff.record_repair(KEY, now=100)
    assert backoff.next_repair_at(KEY) == 101


def test_delays_double_up_to_the_maximum() -> None:
    backoff = LabelBackoff(Backoff(1, 10))
    now, delays = 100.0, []
    for _ in range(6):
        backoff.record_repair(KEY, now=now)
        delays.append(backoff.next_repair_at(KEY) - now)
        now = backoff.next_repair_at(KEY)
    assert delays == [1, 2, 4, 8, 10, 10]


def test_after_a_quiet_time_the_delays_start_again() -> None:
    backoff = LabelBackoff(Backoff(1, 300))
    for now in (100.0, 101.0, 103.0):
        backoff.record_repair(KEY, now=now)
    backoff.record_repair(KEY, now=103 + RESET_SECONDS)
    assert backoff.next_repair_at(KEY) == 103 + RESET_SECONDS + 1


def test_removal_at_the_longest_delay_does_not_reset_the_back_off() -> None:
    backoff = LabelBackoff(Backoff(1, 300))
    now = 0.0
    for _ in range(12):
        backoff.record_repair(KEY, now=now)
        now = backoff.next_repair_at(KEY) + 10
    backoff.record_repair(KEY, now=now)
    assert backoff.next_repair_at(KEY) == now + 300


def test_each_xapp_has_its_own_delay_until_it_is_forgotten() -> None:
    backoff = LabelBackoff(Backoff(1, 300))
    backoff.record_repair(KEY, now=100)
    assert backoff.next_repair_at(("ric", "other")) == 0
    backoff.forget(KEY)
    assert backoff.next_repair_at(KEY) == 0


def test_every_registration_label_has_a_value_and_is_seen_on_objects() -> None:
    labels = predefined_labels(xapp())
    assert tuple(labels) == REGISTRATION_LABELS
    assert has_labels(labelled(labels), labels, component=False)
    for missing in labels:
        others = {label: value for label, value in labels.items() if label != missing}
        assert not has_labels(labelled(others), labels, component=False)


def labelled(labels: dict[str, str]) -> JsonObject:
    return {"metadata": {"labels": {**labels}}}


UNLABELLED = MissingLabels((UnlabelledObject(SERVICES, "ric", "hello"),))


def state(*, outdated: bool = False, incomplete: bool = False, seconds_until_repair: float = 0.0) -> LabelState:
    return label_state(
        UNLABELLED, outdated=outdated, incomplete=incomplete, seconds_until_repair=seconds_until_repair, now=1000
    )


def test_a_new_version_is_labelled_without_back_off() -> None:
    assert state(outdated=True, seconds_until_repair=60).repair_due(1000)


def test_missing_labels_wait_for_the_back_off() -> None:
    assert not state(seconds_until_repair=60).repair_due(1059)
    assert state(seconds_until_repair=60).repair_due(1060)
    assert state().repair_due(1000)


def test_labelling_that_failed_is_repeated_with_back_off() -> None:
    repeated = state(outdated=True, incomplete=True, seconds_until_repair=60)
    assert repeated.outdated
    assert not repeated.repair_due(1059)
