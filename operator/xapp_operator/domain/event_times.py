"""What Events of Kubernetes tell, whoever reported them: the old core/v1 reporters and those of events.k8s.io. Pure.

Lives in `domain` because the cause in a condition and the events that a caller reads are to be put in the same order.
"""

from __future__ import annotations

from xapp_operator.api.json import JsonObject, obj, text


def last_seen(event: JsonObject) -> str:
    """Return when an Event last happened; empty where nobody said. RFC 3339 times in UTC sort as texts."""
    series = text(obj(event, "series"), "lastObservedTime")
    times = (series, text(event, "lastTimestamp"), text(event, "eventTime"), text(event, "firstTimestamp"))
    return next((each for each in times if each), text(obj(event, "metadata"), "creationTimestamp"))
