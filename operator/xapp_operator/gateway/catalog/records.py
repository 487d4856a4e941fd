"""The record of an xApp in responses of the API, serialised once.

The gateway keeps an `XAppEntry` of each xApp: its record as JSON, what a list sorts and filters by, and none of the
values in its spec, which may be 300 KB. A page of a list is made of such bytes, so that it costs no serialising.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

import orjson
from pydantic import BaseModel

from xapp_operator.api.conditions import DRIFTED, READY, STALLED
from xapp_operator.api.json import Json, JsonObject, integer, items, obj, pack_json, text
from xapp_operator.api.models import METHOD_UPLOAD, HealthStatus, Phase, XAppSpec
from xapp_operator.gateway.catalog.store_history import SortKey, SortValue
from xapp_operator.gateway.catalog.xapp_filters import FACETS, FilterFields
from xapp_operator.gateway.catalog.xapp_progress import build_progress
from xapp_operator.gateway.schemas.records import (
    ChartModel,
    ConditionModel,
    PortModel,
    ProgressModel,
    ReleaseModel,
    RevisionModel,
    ServiceModel,
    XAppRecord,
)

SOURCE_XAPP: Final = "xapp"
SOURCE_LABELS: Final = "labels"
SOURCES: Final = (SOURCE_XAPP, SOURCE_LABELS)

_DRIFTED_BY_STATUS: Final = {"True": True, "False": False, "Unknown": None}
_TESTS_PENDING: Final = frozenset({"Running", "Interrupted"})
_PHASE: Final = FACETS.index("phase")

XAPP_SORTS: Final = (
    "created",
    "name",
    "namespace",
    "organization",
    "team",
    "owner",
    "version",
    "phase",
    "health",
    "updated",
)
"""What a list sorts by, in the order of `XAppEntry.sort_keys`; the first is the default."""


def _field_names(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


_RECORD_FIELDS: Final = _field_names(XAppRecord)
_RECORD_FIELD_SET: Final = frozenset(_RECORD_FIELDS)
_SPEC_FIELDS: Final = tuple(field for field in _field_names(XAppSpec) if field in _RECORD_FIELD_SET)
"""The fields that a record takes from `spec` as they are."""
_SUMMARY_FIELDS: Final = _RECORD_FIELDS[: _RECORD_FIELDS.index("chart")]
_OTHER_FIELDS: Final = _RECORD_FIELDS[len(_SUMMARY_FIELDS) :]
_PROGRESS_FIELDS: Final = _field_names(ProgressModel)
_RELEASE_FIELDS: Final = _field_names(ReleaseModel)
_CHART_FIELDS: Final = _field_names(ChartModel)
_SERVICE_FIELDS: Final = _field_names(ServiceModel)
_PORT_FIELDS: Final = _field_names(PortModel)
_CONDITION_FIELDS: Final = _field_names(ConditionModel)
REVISION_FIELDS: Final = _field_names(RevisionModel)


class HandledRequest(NamedTuple):
    """An annotation that the operator has handled: its field in `status.handled`, and its value."""

    field: str
    value: str

    def is_among(self, handled: Iterable[HandledRequest]) -> bool:
        """Return whether this one was handled, or a later one instead, if the values are times (RFC 3339)."""
        return any(
            each.field == self.field and (each.value == self.value or _is_later_time(each.value, self.value))
            for each in handled
        )


class HookObject(NamedTuple):
    """The object that a hook of a chart creates."""

    kind: str
    name: str


def _is_later_time(value: str, other: str) -> bool:
    return len(value) == len(other) and value[10:11] == other[10:11] == "T" and value > other


@dataclass(frozen=True, slots=True)
class XAppEntry:
    """One xApp as the gateway keeps it.

    `release` is the name of its Helm release, also before there is one; `source` is one of SOURCES. `record_json` is
    its record in a list, which begins with its summary, and `details_json` what its own page adds. `sort_keys` holds
    (value, uid) for each of XAPP_SORTS, and `filter_fields` what filters look at. `archive` is the name of the
    ChartArchive that it uses, or empty, and `repository` that of its ChartRepository; `depends_on` names XApps of
    its namespace. `handled` has the annotations that the operator has handled. `tests_pending` means that the tests
    of its chart run, or are run again. `test_run` tells one run from another; it is empty if there was none. `hook`
    is the one that Helm waits for, or that failed. `held_revision` is the one that a requested rollback holds.
    `repository_configured` means that its ChartRepository has, or had, more than a url.
    """

    namespace: str
    name: str
    uid: str
    release: str
    source: str
    record_json: bytes
    details_json: bytes
    sort_keys: tuple[SortKey, ...]
    filter_fields: FilterFields
    summary_length: int
    generation: int
    observed_generation: int
    ready: bool
    stalled: bool
    archive: str = ""
    repository: str = ""
    depends_on: tuple[str, ...] = ()
    handled: tuple[HandledRequest, ...] = ()
    tests_pending: bool = False
    test_run: bytes = b""
    hook: HookObject | None = None
    held_revision: int | None = None
    repository_configured: bool = False

    @property
    def phase(self) -> str:
        return self.filter_fields.facets[_PHASE]

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def message(self) -> str:
        """Return the message of its record, which is read from its JSON at each call."""
        return text(orjson.loads(self.record_json), "message")

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory its texts take."""
        return len(self.record_json) + len(self.details_json) + len(self.filter_fields.search_text)

    @property
    def summary_json(self) -> bytes:
        """Return the JSON of the record without `chart` and `services`."""
        return self.record_json[: self.summary_length] + b"}"

    def detailed_record_json(self) -> bytes:
        """Return the JSON of the whole record: with conditions, history and resources."""
        return self.record_json[:-1] + b"," + self.details_json[1:]


def build_xapp_entry(xapp: JsonObject) -> XAppEntry:
    metadata, spec, status = obj(xapp, "metadata"), obj(xapp, "spec"), obj(xapp, "status")
    conditions, release = items(status, "conditions"), obj(status, "release")
    generation, observed = integer(metadata, "generation"), integer(status, "observedGeneration", -1)
    is_current, deleting = observed >= generation, "deletionTimestamp" in metadata
    ready_condition = _find_condition(conditions, READY)
    upload = spec.get("method") == METHOD_UPLOAD
    record: JsonObject = {
        **_select(spec, _SPEC_FIELDS),
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "uid": text(metadata, "uid"),
        "source": SOURCE_XAPP,
        "phase": Phase.UNINSTALLING.value if deleting else text(status, "phase", Phase.PENDING.value),
        "ready": is_current and not deleting and ready_condition.get("status") == "True",
        "health": text(obj(status, "health"), "status", HealthStatus.UNKNOWN.value),
        "reason": ready_condition.get("reason") if is_current or deleting else None,
        "drifted": _find_drifted(spec, conditions),
        "message": ready_condition.get("message")
        if is_current or deleting
        else f"generation {generation} of the spec waits for the operator",
        "generation": generation,
        "progress": build_progress(xapp, is_current=is_current, ready=ready_condition, fields=_PROGRESS_FIELDS),
        "release": release,
        "chart": {
            "name": release.get("chart") if upload else spec.get("chartName"),
            "version": release.get("chartVersion") if upload else spec.get("chartVersion") or spec.get("version"),
            "repoName": spec.get("repoName"),
            "url": spec.get("url"),
        },
        "createdAt": metadata.get("creationTimestamp"),
        "updatedAt": _updated_at(metadata, conditions),
    }
    hook = obj(obj(status, "lastAttempt"), "hook")
    return build_entry(
        record,
        release=text(spec, "releaseName") or text(metadata, "name"),
        services=items(status, "services"),
        conditions=conditions,
        history=items(status, "history"),
        resources=(integer(obj(status, "resources"), "total"), integer(obj(status, "resources"), "ready")),
        generation=generation,
        observed_generation=observed,
        stalled=is_current and _find_condition(conditions, STALLED).get("status") == "True",
        archive=text(obj(obj(spec, "archive"), "chartArchiveRef"), "name"),
        repository="" if upload else text(spec, "repoName"),
        depends_on=tuple(text(each, "name") for each in items(spec, "dependsOn")),
        handled=tuple(
            HandledRequest(field, value) for field, value in obj(status, "handled").items() if isinstance(value, str)
        ),
        tests_pending=text(obj(status, "lastTest"), "outcome") in _TESTS_PENDING,
        test_run=pack_test_run(status),
        hook=HookObject(text(hook, "kind"), text(hook, "name")) if hook else None,
        held_revision=(integer(status, "heldRevision") or None) if is_current else None,
        repository_configured=not upload and text(status, "configuredRepository") == spec.get("repoName"),
    )


def build_entry(
    record: JsonObject,
    *,
    release: str,
    services: Sequence[JsonObject] = (),
    conditions: Sequence[JsonObject] = (),
    history: Sequence[JsonObject] = (),
    resources: tuple[int, int] = (0, 0),
    generation: int = 0,
    observed_generation: int = 0,
    stalled: bool = False,
    archive: str = "",
    repository: str = "",
    depends_on: tuple[str, ...] = (),
    handled: tuple[HandledRequest, ...] = (),
    tests_pending: bool = False,
    test_run: bytes = b"",
    hook: HookObject | None = None,
    held_revision: int | None = None,
    repository_configured: bool = False,
) -> XAppEntry:
    """Return the entry of an xApp from any source. The fields of its record are those of `schemas.records`.

    Args:
        record: fields of the record, without `services`; a field that is missing becomes null.
        release: name of the Helm release.
        services: Services as in the status of an XApp; members that a record does not have are dropped, here and below.
        conditions: conditions of the XApp.
        history: revisions, newest first.
        resources: number of objects, and of those that are healthy.
        generation: generation of the spec.
        observed_generation: generation that the status is about.
        stalled: whether the XApp is stalled as of this generation.
        archive: name of the ChartArchive that it uses.
        repository: name of the ChartRepository that its chart comes from.
        depends_on: names of the XApps that it depends on.
        handled: annotations that the operator has handled.
        tests_pending: whether the tests of its chart run, or are run again.
        test_run: what tells the last run of the tests from another one.
        hook: the hook that Helm waits for, or that failed.
        held_revision: the revision that a requested rollback holds.
        repository_configured: whether its ChartRepository has, or had, more than a url.
    """
    if not record.keys() <= _RECORD_FIELD_SET:
        raise KeyError(f"not fields of a record: {record.keys() - _RECORD_FIELD_SET}")
    whole = _select(record, _RECORD_FIELDS)
    whole["release"] = _select(obj(record, "release"), _RELEASE_FIELDS)
    whole["chart"] = _select(obj(record, "chart"), _CHART_FIELDS)
    whole["services"] = [
        _select(service, _SERVICE_FIELDS) | {"ports": _select_each(items(service, "ports"), _PORT_FIELDS)}
        for service in services
    ]
    whole["stalled"] = stalled
    summary = pack_json(_select(whole, _SUMMARY_FIELDS))
    details: JsonObject = {
        "conditions": _select_each(conditions, _CONDITION_FIELDS),
        "history": _select_each(history, REVISION_FIELDS),
        "resources": {"total": resources[0], "ready": resources[1]},
        "heldRevision": held_revision,
    }
    uid = text(whole, "uid")
    values: dict[str, SortValue] = {sort: intern(text(whole, sort)) for sort in XAPP_SORTS}
    values["created"] = intern(text(whole, "createdAt"))
    values["updated"] = text(whole, "updatedAt")
    values["version"] = version_sort_key(text(whole, "version"))
    return XAppEntry(
        namespace=intern(text(whole, "namespace")),
        name=text(whole, "name"),
        uid=uid,
        release=intern(release),
        source=intern(text(whole, "source")),
        record_json=summary[:-1] + b"," + pack_json(_select(whole, _OTHER_FIELDS))[1:],
        details_json=pack_json(details),
        sort_keys=tuple((values[sort], uid) for sort in XAPP_SORTS),
        filter_fields=FilterFields.from_record(whole, facets=intern),
        summary_length=len(summary) - 1,
        generation=generation,
        observed_generation=observed_generation,
        ready=whole["ready"] is True,
        stalled=stalled,
        archive=intern(archive),
        repository=intern(repository),
        depends_on=depends_on,
        handled=handled,
        tests_pending=tests_pending,
        test_run=test_run,
        hook=hook,
        held_revision=held_revision,
        repository_configured=repository_configured,
    )


def pack_test_run(status: JsonObject) -> bytes:
    """Return what tells the last run of the tests in the status of an XApp from another one; empty if there is none."""
    run = obj(status, "lastTest")
    return pack_json({field: value for field, value in run.items() if field != "message"}) if run else b""


@lru_cache(maxsize=4096)
def version_sort_key(version: str) -> SortValue:
    """Return the sort key of a dotted numeric version (0.9 before 0.10); any other text comes after all of them."""
    parts = version.split(".")
    if all(part.isascii() and part.isdigit() for part in parts):
        return 0, tuple(int(part) for part in parts), version
    return 1, (), version


def _select(source: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    return {field: source.get(field) for field in fields}


def _select_each(sources: Iterable[JsonObject], fields: tuple[str, ...]) -> list[Json]:
    return [{field: source.get(field) for field in fields} for source in sources]


def _updated_at(metadata: JsonObject, conditions: list[JsonObject]) -> Json:
    times = [text(metadata, "creationTimestamp"), text(metadata, "deletionTimestamp")]
    times += [text(entry, "time") for entry in items(metadata, "managedFields")]
    times += [text(condition, "lastTransitionTime") for condition in conditions]
    return max(times) or None


def _find_drifted(spec: JsonObject, conditions: list[JsonObject]) -> bool | None:
    """Return whether objects of the release have drifted; None if it is not known."""
    if text(obj(spec, "driftDetection"), "mode") == "disabled":
        return None
    return _DRIFTED_BY_STATUS[text(_find_condition(conditions, DRIFTED), "status", "False")]


def _find_condition(conditions: list[JsonObject], condition_type: str) -> JsonObject:
    return next((condition for condition in conditions if condition.get("type") == condition_type), {})
