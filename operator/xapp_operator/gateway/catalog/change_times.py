"""When an object was changed, as its metadata tell."""

from __future__ import annotations

from xapp_operator.api.json import Json, JsonObject, items, text


def spec_changed_at(metadata: JsonObject) -> Json:
    """Return when somebody last changed the object, but for its status; annotations and finalizers count too."""
    times = [text(metadata, "creationTimestamp"), text(metadata, "deletionTimestamp")]
    times += [text(entry, "time") for entry in items(metadata, "managedFields") if not text(entry, "subresource")]
    return max(times) or None
