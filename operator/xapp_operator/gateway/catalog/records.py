"""From an XApp as the cluster holds it to the record that the API answers with, serialised once.

Pure. What is kept of an XApp is an `Entry`: the record as JSON bytes, what a list sorts and filters by, and nothing of
the spec's values (which may be 300 KB). Every page is made of such bytes, so that a list costs no serialising.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Final, TypeAlias

import orjson

from xapp_operator.api.conditions import READY, STALLED
from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.api.models import METHOD_UPLOAD, HealthStatus, Phase

SOURCE_XAPP: Final = "xapp"
SOURCE_LABELS: Final = "labels"
SOURCES: Final = (SOURCE_XAPP, SOURCE_LABELS)

FACETS: Final = ("namespace", "organization", "team", "owner", "phase", "health", "source")
"""The fields of a record that a list filters by equality, in the order of `Entry.facets`."""

XAPP_SORTS: Final = ("created", "name", "organization", "version", "phase", "health")
"""What a list sorts by, in the order of `Entry.keys`; the first is the default."""

XAppSortValue: TypeAlias = str | tuple[int, tuple[int, ...], str]
XAppSortKey: TypeAlias = tuple[XAppSortValue, str]

_SEARCH_FIELDS: Final = ("name", "xAppName", "organization", "team")
_SEARCH_SEPARATOR: Final = "\x00"


@dataclass(frozen=True, slots=True)
class XAppEntry:
    """One xApp as the gateway keeps it.

    `release` is the name of its Helm release, also before there is one; `source` is one of SOURCES. `record` is the
    JSON of the record, `details` that of what the record of one xApp adds. `keys` holds (value, uid) for each of SORTS,
    `facets` the value for each of FACETS, and `haystack` what `search` looks through.
    """

    namespace: str
    name: str
    uid: str
    release: str
    source: str
    record_json: bytes
    details_json: bytes
    sort_keys: tuple[XAppSortKey, ...]
    facets: tuple[str, ...]
    search_text: str
    generation: int
    observed_generation: int
    ready: bool
    stalled: bool

    @property
    def key(self) -> tuple[str, str]:
        """Return (namespace, name)."""
        return self.namespace, self.name

    def detailed_record_json(self) -> bytes:
        """Return the JSON of the record of one xApp: the record, its conditions, history and resources."""
        return self.record_json[:-1] + b"," + self.details_json[1:]


def build_xapp_entry(xapp: JsonObject) -> XAppEntry:
    """Return what the gateway keeps of an XApp; fields that are absent become null."""
    metadata, status = obj(xapp, "metadata"), obj(xapp, "status")
    conditions = items(status, "conditions")
    generation, observed = integer(metadata, "generation"), integer(status, "observedGeneration", -1)
    ready = _is_condition_true(conditions, READY) and observed >= generation and "deletionTimestamp" not in metadata
    record = _build_record(xapp, ready=ready)
    details: JsonObject = {
        "conditions": [_condition_record(condition) for condition in conditions],
        "history": [_revision_record(revision) for revision in items(status, "history")],
        "resources": {
            "total": integer(obj(status, "resources"), "total"),
            "ready": integer(obj(status, "resources"), "ready"),
        },
    }
    return build_entry(
        record,
        details,
        release=text(obj(xapp, "spec"), "releaseName") or text(metadata, "name"),
        generation=generation,
        observed_generation=observed,
        ready=ready,
        stalled=_is_condition_true(conditions, STALLED) and observed >= generation,
    )


def build_entry(
    record: JsonObject,
    details: JsonObject,
    *,
    release: str,
    generation: int = 0,
    observed_generation: int = 0,
    ready: bool = False,
    stalled: bool = False,
) -> XAppEntry:
    """Return the entry of a record, wherever the record comes from."""
    uid = text(record, "uid")
    values: dict[str, XAppSortValue] = {sort: intern(text(record, sort)) for sort in XAPP_SORTS}
    values["created"] = intern(text(record, "createdAt"))
    values["version"] = version_sort_key(text(record, "version"))
    return XAppEntry(
        namespace=intern(text(record, "namespace")),
        name=text(record, "name"),
        uid=uid,
        release=intern(release),
        source=intern(text(record, "source")),
        record_json=_to_json(record),
        details_json=_to_json(details),
        sort_keys=tuple((values[sort], uid) for sort in XAPP_SORTS),
        facets=tuple(intern(text(record, facet)) for facet in FACETS),
        search_text=_SEARCH_SEPARATOR.join(text(record, field) for field in _SEARCH_FIELDS).casefold(),
        generation=generation,
        observed_generation=observed_generation,
        ready=ready,
        stalled=stalled,
    )


@lru_cache(maxsize=4096)
def version_sort_key(version: str) -> XAppSortValue:
    """Return what a dotted numeric version sorts by (0.9 before 0.10); any other text comes after all of them."""
    parts = version.split(".")
    if all(part.isascii() and part.isdigit() for part in parts):
        return 0, tuple(int(part) for part in parts), version
    return 1, (), version


def xapp_identity(xapp: JsonObject) -> tuple[str, str, str]:
    """Return (organization, team, xAppName), what makes an xApp the same one."""
    spec = obj(xapp, "spec")
    return text(spec, "organization"), text(spec, "team"), text(spec, "xAppName")


def _to_json(value: JsonObject) -> bytes:
    # What orjson returns keeps its whole buffer of 8 KiB alive; a copy is as large as its text.
    return bytes(memoryview(orjson.dumps(value)))


def _build_record(xapp: JsonObject, *, ready: bool) -> JsonObject:
    metadata, spec, status = obj(xapp, "metadata"), obj(xapp, "spec"), obj(xapp, "status")
    release = obj(status, "release")
    upload = spec.get("method") == METHOD_UPLOAD
    return {
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "uid": text(metadata, "uid"),
        "xAppName": spec.get("xAppName"),
        "organization": spec.get("organization"),
        "team": spec.get("team"),
        "version": spec.get("version"),
        "owner": spec.get("owner"),
        "method": spec.get("method"),
        "source": SOURCE_XAPP,
        "phase": _phase(metadata, status),
        "ready": ready,
        "health": text(obj(status, "health"), "status", HealthStatus.UNKNOWN.value),
        "message": _message(metadata, status),
        "release": {
            name: release.get(name)
            for name in ("name", "revision", "chart", "chartVersion", "appVersion", "lastDeployed")
        },
        "chart": {
            "name": release.get("chart") if upload else spec.get("chartName"),
            "version": release.get("chartVersion") if upload else spec.get("chartVersion") or spec.get("version"),
            "repoName": spec.get("repoName"),
            "url": spec.get("url"),
        },
        "services": [_service_record(service) for service in items(status, "services")],
        "createdAt": metadata.get("creationTimestamp"),
        "updatedAt": _updated_at(metadata, status),
    }


def _phase(metadata: JsonObject, status: JsonObject) -> str:
    if "deletionTimestamp" in metadata:
        return Phase.UNINSTALLING.value
    return text(status, "phase", Phase.PENDING.value)


def _message(metadata: JsonObject, status: JsonObject) -> Json:
    generation, observed = integer(metadata, "generation"), integer(status, "observedGeneration", -1)
    if observed < generation and "deletionTimestamp" not in metadata:
        return f"generation {generation} of the spec waits for the operator"
    ready = _find_condition(items(status, "conditions"), READY)
    return ready.get("message")


def _updated_at(metadata: JsonObject, status: JsonObject) -> Json:
    times = [text(metadata, "creationTimestamp"), text(metadata, "deletionTimestamp")]
    times += [text(entry, "time") for entry in items(metadata, "managedFields")]
    times += [text(condition, "lastTransitionTime") for condition in items(status, "conditions")]
    return max(times) or None


def _condition_record(condition: JsonObject) -> JsonObject:
    fields = ("type", "status", "reason", "message", "lastTransitionTime", "observedGeneration")
    return {field: condition.get(field) for field in fields}


def _revision_record(revision: JsonObject) -> JsonObject:
    fields = (
        "revision",
        "status",
        "chart",
        "chartVersion",
        "appVersion",
        "chartDigest",
        "valuesDigest",
        "action",
        "deployedAt",
        "description",
    )
    return {field: revision.get(field) for field in fields}


def _service_record(service: JsonObject) -> JsonObject:
    ports: list[Json] = [_port_record(port) for port in items(service, "ports")]
    return {
        "name": service.get("name"),
        "type": service.get("type"),
        "clusterIP": service.get("clusterIP"),
        "ports": ports,
    }


def _port_record(port: JsonObject) -> JsonObject:
    return {field: port.get(field) for field in ("name", "port", "targetPort", "nodePort", "protocol", "appProtocol")}


def _find_condition(conditions: list[JsonObject], condition_type: str) -> JsonObject:
    return next((condition for condition in conditions if condition.get("type") == condition_type), {})


def _is_condition_true(conditions: list[JsonObject], condition_type: str) -> bool:
    return _find_condition(conditions, condition_type).get("status") == "True"
