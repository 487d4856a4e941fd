"""The order of Kubernetes Events, whether reported through core/v1 or through events.k8s.io. Pure."""

from __future__ import annotations

from xapp_operator.api.json import JsonObject, obj, text


def last_seen(event: JsonObject) -> str:
    """Return when an Event last happened as RFC 3339 text in UTC, which sorts by time; empty if unknown."""
    series = text(obj(event, "series"), "lastObservedTime")
    times = (series, text(event, "lastTimestamp"), text(event, "eventTime"), text(event, "firstTimestamp"))
    return next((each for each in times if each), text(obj(event, "metadata"), "creationTimestamp"))
