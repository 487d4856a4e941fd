"""Compares objects of a release with its stored manifest, with the identity of the XApp. It only reads.

An object is read, and a server-side apply of its manifest is asked for as a dry run, as Helm's field manager. What
would change is drift, apart from what `domain.drift` leaves out, and from replicas that something scales. Large objects
are compared in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from xapp_operator.api.json import JsonObject, encode_json, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_IGNORE_DRIFT, HELM_RELEASE_NAME
from xapp_operator.common.off_loop import run_sized
from xapp_operator.domain.chart_values.yaml_values import MAX_NODES
from xapp_operator.domain.drift import (
    MANAGERS_NAMED_MAX,
    REPLICAS,
    Difference,
    DriftedObject,
    IgnoredDrift,
    Path,
    find_differences,
    find_managers,
    format_pointer,
    parse_ignored,
    paths_to_keep,
    with_live_values,
)
from xapp_operator.domain.managed_fields import (
    HELM_MANAGER,
    manages_all,
    pack_helm_fields,
    unpack_helm_fields,
)
from xapp_operator.domain.replaced_items import ReplacedItem, find_replaced, without_replaced
from xapp_operator.errors import AccessDenied, Conflict, Invalid, KubeError, NotFound
from xapp_operator.helm.applied_objects import VALUES_MAX, AppliedObject
from xapp_operator.kube.api_errors import denying_admission
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import HPAS, Resource
from xapp_operator.monitor.release_objects import ReleaseObject
from xapp_operator.telemetry.logs import get_logger

MAX_OBJECTS: Final = 500
"""Objects that one action, or one look at drift, compares or changes by requests; a later one continues."""
MAX_SCALERS: Final = 2000
"""Of one kind, in one namespace."""
KEDA_API_VERSION: Final = "keda.sh/v1alpha1"
KEDA_KIND: Final = "ScaledObject"
REFUSED: Final = "the API server refuses the change"  # its message may contain values
PROTECTED: Final = f"the annotation {ANNOTATION_IGNORE_DRIFT} of the object protects the item in its place"
UNREADABLE: Final = (
    f"it is not compared, because its manifest has unusual values or more than {MAX_NODES:,}, or that of the release "
    f"has more than {VALUES_MAX:,}"
)
NOT_COMPARED: Final = "the API server refuses a dry run of its manifest"

MAX_TRIES: Final = 3

T = TypeVar("T")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found; `unknown` is why it failed, with `denied` for want of a right.

    `managed` means that Helm manages every field that it would manage after an apply: these, packed. `replicas_differ`
    means that the result depends on whether something scales the object.
    """

    drift: DriftedObject | None = None
    unknown: str = ""
    denied: bool = False
    managed: bytes = b""
    replicas_differ: bool = False

    @property
    def may_become_wrong(self) -> bool:
        """Return whether it depends on what no watch tells: what scales it, a policy of admission, or served kinds."""
        refused = self.drift is not None and bool(self.drift.refusal)
        return self.replicas_differ or refused or bool(self.unknown)


@dataclass(frozen=True, slots=True)
class Preview:
    """What an apply of a manifest would make of an object, or why the API server refuses that.

    `replaced` are the items of its lists that somebody put in the place of the chart's.
    """

    desired: JsonObject | None
    refusal: Invalid | None = None
    replaced: tuple[ReplacedItem, ...] = ()

    @property
    def removable(self) -> tuple[ReplacedItem, ...]:
        """Return those that Helm can take over, and so remove."""
        return tuple(each for each in self.replaced if not each.obstacle)


@dataclass(frozen=True, slots=True)
class _ScaleTarget:
    """What a scaler targets in its namespace; `group` is None if it names no API version."""

    group: str | None
    kind: str
    name: str

    @classmethod
    def parse(cls, reference: JsonObject) -> _ScaleTarget:
        api_version = text(reference, "apiVersion")
        group = api_version.rpartition("/")[0] if api_version else None
        return cls(group, text(reference, "kind", "Deployment"), text(reference, "name"))

    def is_for(self, found: DriftedObject) -> bool:
        return (self.kind, self.name) == (found.kind, found.name) and self.group in {None, found.group}


class ObjectComparer:
    """Compares objects of one release."""

    def __init__(self, xapp: XApp, kube: KubeReader, client: KubeReader) -> None:
        self._xapp = xapp
        self._kube = kube
        self._client = client
        self._scale_targets: dict[tuple[str, str], list[_ScaleTarget]] = {}  # by kind of scalers, and namespace
        self._listing = asyncio.Lock()

    async def compare(self, found: ReleaseObject, applied: AppliedObject) -> Comparison | None:
        """Compare one object; None after a passing failure."""
        kind, namespace, name = found.key
        drifted = DriftedObject(kind, namespace, name, found.group)
        try:
            return await retry_conflicts(lambda: self._compare(found, applied, drifted))
        except Conflict:
            return None  # it changes all the time
        except AccessDenied as error:
            admission = denied_by_admission(error)
            reason = error.message if admission is None else f"{NOT_COMPARED}: {admission}"
            return Comparison(unknown=f"{kind} {name}: {reason}", denied=admission is None)
        except Invalid as error:
            fields = paths_to_keep(each.field for each in error.errors if each.field)
            if fields:
                return Comparison(replace(drifted, paths=fields, refusal=REFUSED))
            return Comparison(unknown=f"{kind} {name}: {NOT_COMPARED}")
        except KubeError as error:
            _log.warning("object not compared", namespace=namespace, kind=kind, name=name, error=type(error).__name__)
            return None

    async def _compare(self, found: ReleaseObject, applied: AppliedObject, drifted: DriftedObject) -> Comparison:
        kind, namespace, name = found.key
        body, api_version = applied.body, applied.reference.api_version
        if body is None:
            return Comparison(unknown=f"{kind} {name}: {UNREADABLE}")
        try:
            resource = await self._kube.discovery.resource_for(api_version=api_version, kind=kind)
        except NotFound:
            return _unserved(found, api_version)
        target = namespace if resource.namespaced else None
        try:
            live = await self._client.get(resource, name, namespace=target)
        except NotFound:
            if found.expires or parse_ignored(body).all:
                return Comparison()  # it may be gone
            if (api_version, kind) not in await self._kube.discovery.served_kinds():
                return _unserved(found, api_version)
            return Comparison(replace(drifted, missing=True))
        return await self._compare_live(live, body, resource, drifted)

    async def _compare_live(
        self, live: JsonObject, body: JsonObject, resource: Resource, drifted: DriftedObject
    ) -> Comparison:
        metadata, ignored = obj(live, "metadata"), parse_ignored(live, body)
        owner = text(obj(metadata, "annotations"), HELM_RELEASE_NAME, self._xapp.release_name)
        if owner != self._xapp.release_name:
            path = format_pointer(("metadata", "annotations", HELM_RELEASE_NAME))
            return Comparison(replace(drifted, paths=(path,), refusal="it belongs to another release"))
        if ignored.all:
            return Comparison()
        size, kept = json_size(live, body), ignored.paths
        fields, all_managed = await run_sized(size, _managed_fields, live, body)
        if all_managed and not ignored.error:
            return Comparison(managed=fields)
        preview = await preview_apply(self._client, resource, live, body, size=size, kept=kept, untouched=kept)
        return await self._compare_preview(live, body, preview, ignored, drifted)

    async def _compare_preview(
        self, live: JsonObject, body: JsonObject, preview: Preview, ignored: IgnoredDrift, drifted: DriftedObject
    ) -> Comparison:
        if preview.desired is None:
            return await self._compare_refused(live, body, preview, ignored, drifted)
        removable, size = preview.removable, json_size(live, preview.desired)
        live, differences, managed = await run_sized(size, _compare_states, live, preview.desired, removable, ignored)
        drift = await self._find_drift(live, size, differences, ignored, drifted)
        if drift is not None and removable:
            drift = replace(drift, managers=_with_owners(drift.managers, removable), replaced=True)
        if drift is None and ignored.error:
            return Comparison(unknown=f"{drifted.kind} {drifted.name}: {_ignore_error(ignored)}")
        if any(each.path == REPLICAS for each in differences):
            return Comparison(drift, replicas_differ=True)
        return Comparison(drift, managed=b"" if "stringData" in body else managed)

    async def _compare_refused(
        self, live: JsonObject, body: JsonObject, preview: Preview, ignored: IgnoredDrift, drifted: DriftedObject
    ) -> Comparison:
        """Return the drift of an object to which its manifest cannot be applied: because of what is in its lists."""
        if preview.refusal is not None and not preview.replaced:
            raise preview.refusal
        wanted = obj(body, "spec").get("replicas")
        replicas_differ = wanted is not None and wanted != obj(live, "spec").get("replicas")
        is_scaled = replicas_differ and await self._is_scaled(drifted)
        obstacle = next((each.obstacle for each in preview.replaced if each.obstacle), "")
        drift = replace(
            drifted,
            paths=paths_to_keep(format_pointer(each.path) for each in preview.replaced),
            managers=_with_owners((), preview.replaced),
            kept=(*ignored.paths, REPLICAS) if is_scaled else ignored.paths,
            refusal=_ignore_error(ignored) if ignored.error else obstacle,
            replaced=not obstacle,
        )
        return Comparison(drift, replicas_differ=replicas_differ)

    async def _find_drift(
        self, live: JsonObject, size: int, differences: list[Difference], ignored: IgnoredDrift, drifted: DriftedObject
    ) -> DriftedObject | None:
        kept = ignored.paths
        if any(each.path == REPLICAS for each in differences) and await self._is_scaled(drifted):
            differences = [each for each in differences if each.path != REPLICAS]
            kept = (*kept, REPLICAS)
        if not differences:
            return None
        return replace(
            drifted,
            paths=paths_to_keep(format_pointer(each.path) for each in differences),
            managers=await run_sized(size, find_managers, live, differences),
            kept=kept,
            refusal=_ignore_error(ignored) if ignored.error else "",
        )

    async def _is_scaled(self, found: DriftedObject) -> bool:
        """Return whether a HorizontalPodAutoscaler or a KEDA object in its namespace sets the replicas of an object."""
        if await self._is_target(HPAS, found):
            return True
        # KEDA makes a HorizontalPodAutoscaler too, except while it is paused.
        if (KEDA_API_VERSION, KEDA_KIND) not in await self._kube.discovery.served_kinds():
            return False
        resource = await self._kube.discovery.resource_for(api_version=KEDA_API_VERSION, kind=KEDA_KIND)
        return await self._is_target(resource, found)

    async def _is_target(self, scalers: Resource, found: DriftedObject) -> bool:
        namespace = found.namespace or self._xapp.metadata.namespace
        async with self._listing:  # so that objects compared at the same time share one list
            if (scalers.kind, namespace) not in self._scale_targets:
                self._scale_targets[scalers.kind, namespace] = await self._list_targets(scalers, namespace)
        return any(each.is_for(found) for each in self._scale_targets[scalers.kind, namespace])

    async def _list_targets(self, scalers: Resource, namespace: str) -> list[_ScaleTarget]:
        """Return what the objects of a kind of scalers target in a namespace."""
        found: list[_ScaleTarget] = []
        async for page in self._client.list_pages(scalers, namespace=namespace):
            targets = (obj(obj(each, "spec"), "scaleTargetRef") for each in page.items)
            found.extend(map(_ScaleTarget.parse, targets))
            if len(found) >= MAX_SCALERS:
                break
        return found


async def preview_apply(
    client: KubeReader,
    resource: Resource,
    live: JsonObject,
    body: JsonObject,
    *,
    size: int,
    kept: tuple[Path, ...],
    untouched: tuple[Path, ...],
) -> Preview:
    """Return what an apply of the manifest `body` would make of `live`, whose own values stay at the paths in `kept`.

    Nobody may remove an item that somebody put at, in or around a path in `untouched`. `size`: both, by `json_size`.

    Raises:
        KubeError: when the API server does not answer, or refuses it for another reason than what is in the object.
    """
    metadata = obj(live, "metadata")
    applied = await run_sized(size, body_to_apply, body, live, kept)
    name, namespace = text(metadata, "name"), text(metadata, "namespace") or None
    try:
        desired = await client.preview_apply(resource, name, applied, namespace=namespace, field_manager=HELM_MANAGER)
    except Invalid as error:
        refused = [each.field for each in error.errors]
        replaced = await run_sized(size, find_replaced, live, applied, refused=refused)
        return Preview(None, error, _protect(replaced, untouched))
    replaced = await run_sized(size, find_replaced, live, applied, desired=desired)
    return Preview(desired, replaced=_protect(replaced, untouched))


def json_size(*bodies: JsonObject) -> int:
    """Return the size of objects in bytes, which takes far less time to find than to compare them."""
    return sum(len(encode_json(each)) for each in bodies)


def _managed_fields(live: JsonObject, body: JsonObject) -> tuple[bytes, bool]:
    """Return the fields that Helm manages, packed, and whether they are all of `body`."""
    fields = pack_helm_fields(live)
    return fields, manages_all(unpack_helm_fields(fields), body)


def _compare_states(
    live: JsonObject, desired: JsonObject, removable: tuple[ReplacedItem, ...], ignored: IgnoredDrift
) -> tuple[JsonObject, list[Difference], bytes]:
    """Return the object without `removable`, its differences, and the fields of Helm if an apply changes nothing."""
    fields = pack_helm_fields(live)
    live, desired = without_replaced(live, removable), without_replaced(desired, removable)
    differences = find_differences(live, desired, ignored=ignored.paths)
    return live, differences, b"" if differences or fields != pack_helm_fields(desired) else fields


def _protect(replaced: tuple[ReplacedItem, ...], untouched: tuple[Path, ...]) -> tuple[ReplacedItem, ...]:
    return tuple(
        replace(each, obstacle=PROTECTED)
        if any(each.path[: len(path)] == path[: len(each.path)] for path in untouched)
        else each
        for each in replaced
    )


def _with_owners(managers: tuple[str, ...], replaced: Iterable[ReplacedItem]) -> tuple[str, ...]:
    owners = (name for each in replaced for name in each.managers)
    return tuple(dict.fromkeys((*managers, *owners)))[:MANAGERS_NAMED_MAX]


def _unserved(found: ReleaseObject, api_version: str) -> Comparison:
    kind, _, name = found.key
    return Comparison(unknown=f"{kind} {name}: the cluster does not serve its kind of {api_version}")


def denied_by_admission(error: AccessDenied) -> str | None:
    """Return which webhook or policy refuses, without its own words, which may contain values.

    None if a right is missing.
    """
    return None if error.missing else denying_admission(error.message)


async def retry_conflicts(request: Callable[[], Awaitable[T]]) -> T:
    """Return what `request` returns, which reads an object and uses its version; controllers write the status often.

    Raises:
        Conflict: when the object changed each time in between.
    """
    for _ in range(MAX_TRIES - 1):
        with contextlib.suppress(Conflict):
            return await request()
    return await request()


def body_to_apply(applied: JsonObject, live: JsonObject, kept: Iterable[Path]) -> JsonObject:
    """Return what to apply to `live`: a conflict if it has changed since, and its own values at the paths in `kept`."""
    body = with_live_values(applied, live, kept)
    metadata = obj(live, "metadata")
    body["metadata"] = {
        **obj(body, "metadata"),
        "uid": text(metadata, "uid"),
        "resourceVersion": text(metadata, "resourceVersion"),
    }
    return body


def _ignore_error(ignored: IgnoredDrift) -> str:
    return f"its annotation {ANNOTATION_IGNORE_DRIFT} {ignored.error}"
