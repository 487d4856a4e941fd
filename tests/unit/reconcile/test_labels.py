"""Labels that are removed repeatedly are repaired with growing delays, and objects without them are found."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.kube.fake_cluster import FakeCluster
from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import REGISTRATION_LABELS
from xapp_operator.domain.planning.plan_input import LabelState
from xapp_operator.errors import AccessDenied
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.release_objects import UnlabelledObject
from xapp_operator.reconcile.labels import MissingLabels, absent_objects, label_state, predefined_labels


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
REFUSED = AccessDenied("you may not")


def state(*, outdated: bool = False, incomplete: bool = False, seconds_until_repair: float = 0.0) -> LabelState:
    return label_state(
        UNLABELLED,
        outdated=outdated,
        incomplete=incomplete,
        refused=REFUSED if incomplete else None,
        seconds_until_repair=seconds_until_repair,
        now=1000,
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
    assert repeated.refused is REFUSED
    assert not repeated.repair_due(1059)


@pytest.mark.parametrize(("denied", "seconds"), [(False, 5.0), (True, 30.0)])
def test_an_object_that_is_absent_or_may_not_be_read_is_read_again_later(denied: bool, seconds: float) -> None:
    cluster = FakeCluster()
    absent = absent_objects(cluster.clock)
    candidate = UnlabelledObject(SERVICES, "ric", "hello"), 1

    async def wait() -> None:
        absent[candidate] = denied
        await asyncio.sleep(seconds - 0.1)
        assert candidate in absent
        await asyncio.sleep(0.1)
        assert candidate not in absent

    cluster.run(wait())
