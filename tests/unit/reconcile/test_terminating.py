"""Which objects were being deleted when helm applied them, from what the watches show and what the status notes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.api.status_parts import TerminatingObject
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.monitor.live_objects import owned_live_object
from xapp_operator.monitor.release_objects import ReleaseObject
from xapp_operator.reconcile.terminating import find_terminating

RECORD = 1000
"""When the record of the revision was created, in seconds since the epoch."""


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def noted(deleted: int = 900, *, namespace: str = "ns") -> TerminatingObject:
    return TerminatingObject(kind="ConfigMap", namespace=namespace, name="it", deleted_at=at(deleted))


def shown(*, created: int | None = 600, deleted: int = 0) -> ReleaseObject:
    """Return an object as the watches show it; `created` is None if the API server of its kind does not tell."""
    metadata: JsonObject = {"name": "it", "namespace": "ns"}
    if created is not None:
        metadata["creationTimestamp"] = at(created).isoformat()
    if deleted:
        metadata["deletionTimestamp"] = at(deleted).isoformat()
    live = owned_live_object({"metadata": metadata}, kind="ConfigMap", owner=("ns", "hello"))
    return ReleaseObject(live.key, "", live, watched=True, expires=False)


def gone(*, watched: bool = True) -> ReleaseObject:
    return ReleaseObject(("ConfigMap", "ns", "it"), "", None, watched=watched, expires=False)


@pytest.mark.parametrize("created", [600, RECORD - 1, None])
@pytest.mark.parametrize("deleted", [900, RECORD])
def test_an_object_that_was_deleted_before_the_record_was_created(created: int | None, deleted: int) -> None:
    """Nothing is noted, as after a restart, or if it had no labels before."""
    found = find_terminating([shown(created=created, deleted=deleted)], (), created=RECORD)
    assert (found.objects, found.gone) == ((noted(deleted),), ())


@pytest.mark.parametrize(("created", "deleted"), [(600, RECORD + 1), (RECORD, RECORD), (RECORD + 1, RECORD + 2)])
def test_an_object_that_is_deleted_after_helm_applied_it_is_drift(created: int, deleted: int) -> None:
    assert find_terminating([shown(created=created, deleted=deleted)], (), created=RECORD).objects == ()


def test_what_is_noted_counts_until_another_object_has_its_name() -> None:
    """The clock of who noted it does not matter, only the time of the deletion."""
    created, deleted = RECORD + 1, RECORD + 2
    found = [shown(created=created, deleted=deleted)]
    assert find_terminating(found, [noted(deleted)], created=RECORD).objects == (noted(deleted),)
    assert find_terminating(found, [noted(deleted - 1)], created=RECORD).objects == ()
    assert find_terminating([shown()], [noted()], created=RECORD).objects == ()


@pytest.mark.parametrize("namespace", ["ns", ""])
@pytest.mark.parametrize("watched", [True, False])
def test_a_noted_object_that_is_gone_is_to_be_created_again_if_the_watches_would_show_it(
    watched: bool, namespace: str
) -> None:
    """A watch shows an object without a namespace, if its kind has none; the release has one for it all the same."""
    found = find_terminating([gone(watched=watched)], [noted(namespace=namespace)], created=RECORD)
    assert found.objects == (noted(),)
    assert found.gone == ((DriftedObject("ConfigMap", "ns", "it", missing=True),) if watched else ())


def test_an_object_that_is_gone_and_was_not_noted_is_drift() -> None:
    found = find_terminating([gone()], (), created=RECORD)
    assert (found.objects, found.gone) == ((), ())
