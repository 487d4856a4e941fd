"""Which events are about an xApp, and their fields in the API."""

from __future__ import annotations

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.domain.health.pod_health import last_seen
from xapp_operator.gateway.catalog.records import HookObject
from xapp_operator.gateway.xapps.health.events import XAppObjectMatcher, event_json, newest_first
from xapp_operator.monitor.live_objects import LiveObject, to_live_object
from xapp_operator.monitor.object_labels import read_labels

LONG = "a-name-of-fifty-five-characters-that-leaves-no-room-for-more"[:55]
LONGEST = "n" * 63


def live(kind: str, name: str, *, namespace: str = "ran") -> LiveObject:
    body: JsonObject = {"kind": kind, "metadata": {"name": name, "namespace": namespace}}
    return to_live_object(body, kind=kind, owner=("ran", "hello"), labels=read_labels({}, ()))


ABOUT = XAppObjectMatcher(
    [
        live("Deployment", "web"),
        live("Deployment", LONG),
        live("Deployment", LONGEST),
        live("StatefulSet", "store"),
        live("DaemonSet", "agent"),
        live("Job", "setup"),
        live("CronJob", "clean.up"),
        live("Service", "web"),
        live("ConfigMap", "shared", namespace="elsewhere"),
    ],
    namespace="ran",
    name="acme-ran-hello",
    hook=HookObject("Job", "preflight"),
)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("XApp", "acme-ran-hello"),
        ("Deployment", "web"),
        ("Service", "web"),
        ("ReplicaSet", "web-7d9c6b5f4c"),
        ("Pod", "web-7d9c6b5f4c-x2x9z"),
        ("Pod", f"{LONG}-7d9fgh"[:58] + "x2x9z"),
        ("Pod", f"{LONGEST}-7d9fgh"[:58] + "x2x9z"),
        ("Pod", "store-0"),
        ("Pod", "store-12"),
        ("PersistentVolumeClaim", "data-store-0"),
        ("Pod", "agent-x2x9z"),
        ("Pod", "setup-x2x9z"),
        ("Pod", "setup-3-x2x9z"),
        ("Job", "clean.up-29012345"),
        ("Pod", "clean.up-29012345-x2x9z"),
        ("Job", "preflight"),
        ("Pod", "preflight-x2x9z"),
    ],
)
def test_events_of_its_objects_match(kind: str, name: str) -> None:
    assert ABOUT.matches(kind, name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("XApp", "other"),
        ("Service", "api"),
        ("Pod", "web"),
        ("Pod", "web-api-7d9c6b5f4c-x2x9z"),
        ("ReplicaSet", "web-api"),
        ("Pod", "store-api-0"),
        ("Pod", "agent-x2x9z-more"),
        ("Pod", "setupx2x9z"),
        ("Job", "cleanxup-29012345"),
        ("Job", "clean.up-later"),
        ("ConfigMap", "shared"),
        ("Pod", "x-web-7d9c6b5f4c-x2x9z"),
    ],
)
def test_events_of_other_objects_do_not_match(kind: str, name: str) -> None:
    assert not ABOUT.matches(kind, name)


def test_an_event_has_the_fields_of_the_api() -> None:
    event: JsonObject = {
        "metadata": {"creationTimestamp": "2026-11-20T08:00:00Z"},
        "involvedObject": {"kind": "Pod", "name": "web", "uid": "x"},
        "type": "Warning",
        "reason": "BackOff",
        "message": "again",
        "count": 3,
        "firstTimestamp": "2026-11-20T08:00:00Z",
        "lastTimestamp": "2026-11-20T08:05:00Z",
    }
    assert event_json(event) == {
        "type": "Warning",
        "reason": "BackOff",
        "message": "again",
        "object": {"kind": "Pod", "name": "web"},
        "count": 3,
        "lastSeen": "2026-11-20T08:05:00Z",
    }


def test_events_in_the_newer_api_are_counted_by_their_series() -> None:
    event: JsonObject = {
        "eventTime": "2026-11-20T08:00:00.000001Z",
        "lastTimestamp": None,
        "series": {"count": 7, "lastObservedTime": "2026-11-20T09:00:00.000001Z"},
    }
    assert event_json(event)["count"] == 7
    assert last_seen(event) == "2026-11-20T09:00:00.000001Z"
    assert event_json({})["count"] == 1
    assert event_json({})["lastSeen"] is None


def test_the_newest_event_is_first_whatever_fraction_its_reporter_writes() -> None:
    times = ["2026-11-20T09:00:14.748439Z", "2026-11-20T09:00:14.5Z", "2026-11-20T09:00:14Z", "2026-11-20T09:00:13.9Z"]
    events: list[JsonObject] = [{"eventTime": time} for time in times]
    # The API server takes the year 0, and an Event without any time.
    events += [{"lastTimestamp": "0000-01-01T00:00:00Z"}, {}]
    assert newest_first(reversed(events[:4])) == events[:4]
    assert newest_first([*events[4:], *events[:4]]) == [*events[:4], *events[4:]]
