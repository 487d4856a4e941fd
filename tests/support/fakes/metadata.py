"""What the API server keeps in the metadata of an object, whatever an update says."""

from __future__ import annotations

from tests.support.fakes.json_patch import Json

SERVER_METADATA = ("uid", "creationTimestamp", "generation", "namespace", "name", "deletionTimestamp")
"""What no update changes."""


def kept_metadata(before: Json, changed: Json) -> Json:
    metadata = {**changed["metadata"]}
    for name in SERVER_METADATA:
        if name in before["metadata"]:
            metadata[name] = before["metadata"][name]
    if not metadata.get("finalizers"):
        metadata.pop("finalizers", None)
    return metadata
