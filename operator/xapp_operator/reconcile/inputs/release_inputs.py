"""Resolves the desired state of an XApp: its chart archive, its values, and the digests of both.

Digests are resolved in every reconcile, and cached until the spec or something that it refers to changes. Chart and
values themselves are loaded only for a helm step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from xapp_operator.api.json import JsonObject, encode_json
from xapp_operator.api.models import METHOD_REMOTE, XApp
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.chart_request import ChartRequest, Repository, parse_digest
from xapp_operator.charts.chart_sources import ChartSources, ResolvedChart
from xapp_operator.charts.signatures.signature_checker import SignatureChecker, digest_of
from xapp_operator.charts.stored_archives import check_declared_chart
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.off_loop import run_sized
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.values import advertise_address_layer, merge_values, values_digest
from xapp_operator.domain.chart_values.yaml_values import dump_values
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.domain.masking.redaction import long_texts, secret_texts
from xapp_operator.domain.planning.plan_input import Digests
from xapp_operator.errors import FormInvalid, ValuesInvalid
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.referenced_data import (
    ArchiveReference,
    ValuesFileReader,
    archive_reference,
    read_archive,
)
from xapp_operator.kube.resources import CHART_ARCHIVES
from xapp_operator.reconcile.inputs.chart_archives import ArchiveOwnerChanges, ChartArchives
from xapp_operator.reconcile.inputs.impersonation import ReaderImpersonation
from xapp_operator.reconcile.watching.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.work.work_queue import NamespacedName

DIGEST_LENGTH: Final = 40
"""Hex digits of a digest that a label value holds."""
VALUES_AT_ONCE: Final = 4
"""XApps whose values are read and merged at the same time, shared fairly by namespace: this bounds the memory."""


class RepositoryResolver(Protocol):
    """Finds the repository of a remote chart; `RepositoryReconciler` does."""

    async def resolve_repository(self, xapp: XApp) -> Repository:
        """Return the address with its credentials; raises RepositoryNotSaved when there is no ChartRepository."""

    def repository_version(self, xapp: XApp) -> int:
        """Return a number that changes with what `resolve_repository` returns."""


@dataclass(frozen=True, slots=True)
class ReleaseInputs:
    """Everything that a helm step needs."""

    chart: ChartFile
    values: bytes  # the merged values file
    digests: Digests
    secrets: frozenset[str]  # texts that came from Secrets, or that have the key of a secret


@dataclass(frozen=True, slots=True)
class _ArchiveLocation:
    """Where an uploaded chart is, which version of that object it is, and the digest that the spec expects.

    The version is the resourceVersion, or the uid of a ChartArchive, which never changes; None if it does not exist.
    """

    reference: ArchiveReference
    version: str | None
    expected_digest: str | None


@dataclass(frozen=True, slots=True)
class _KnownArchive:
    """An archive that this XApp has read: its digest, the uid of its object, and the sha256 of its provenance file."""

    location: _ArchiveLocation
    digest: str
    uid: str
    provenance_digest: str = ""


class ReleaseInputsResolver:
    """Resolves charts and values of XApps. It only reads from the cluster."""

    def __init__(
        self,
        settings: Settings,
        *,
        charts: ChartSources,
        signatures: SignatureChecker,
        repositories: RepositoryResolver,
        references: ReferencedObjects,
        archives: ChartArchives,
        impersonation: ReaderImpersonation,
        advertise_address: AdvertiseAddress,
    ) -> None:
        self._settings = settings
        self._charts = charts
        self._signatures = signatures
        self._repositories = repositories
        self._references = references
        self._chart_archives = archives
        self._impersonation = impersonation
        self._advertise_address = advertise_address
        self._values_slots = FairSlots(VALUES_AT_ONCE)
        self._archives: dict[NamespacedName, _KnownArchive] = {}
        self._digests: dict[
            NamespacedName, tuple[Hashable, Digests | ValuesInvalid]
        ] = {}  # with what they were resolved from

    def forget(self, key: NamespacedName) -> None:
        self._archives.pop(key, None)
        self._digests.pop(key, None)

    def source_version(self, xapp: XApp) -> Hashable:
        """Return what changes when a `resolve_digests` that has begun reads, or has read, what is no longer meant."""
        requested = (xapp.metadata.uid, xapp.metadata.generation)
        archive = None if xapp.spec.method == METHOD_REMOTE else self._locate_archive(xapp)
        return (*requested, self._repositories.repository_version(xapp), archive, self._values_versions(xapp))

    async def resolve_digests(self, xapp: XApp, *, revalidate: bool = False) -> Digests:
        """Return the digests of the chart and the values that `xapp` asks for now.

        With `revalidate`, ask the repository whether its index has changed, however old the cached one is.

        Raises:
            XAppError: when chart or values are not available.
        """
        _check_namespace(xapp)
        chart_digest = await self._chart_digest(xapp, revalidate=revalidate)
        versions = self._values_versions(xapp)
        cache_key = _cache_key(xapp, chart_digest, versions)
        cached = self._digests.get(xapp.key)
        if cached is not None and cached[0] == cache_key:
            if isinstance(cached[1], ValuesInvalid):
                raise cached[1].with_traceback(None)
            return cached[1]
        address = self._advertise_address.configured
        lowest = None if address is None else self._advertise_layer((await self._load_chart(xapp)).info, address)
        try:
            async with self._values_slots.slot(xapp.metadata.namespace):
                layers = await self._load_values_from(xapp)
                digest = await run_sized(_size(xapp, layers), _digest, lowest, layers, xapp.spec.user_values)
        except ValuesInvalid as error:
            if None not in versions:  # otherwise nobody tells when the files change
                self._digests[xapp.key] = (cache_key, error)
            raise
        digests = Digests(chart_digest[:DIGEST_LENGTH], digest[:DIGEST_LENGTH])
        self._digests[xapp.key] = (cache_key, digests)
        return digests

    async def load(self, xapp: XApp) -> ReleaseInputs:
        """Return chart and values for a helm step, and their digests.

        Raises:
            XAppError: as `resolve_digests`.
        """
        chart, address = await self._load_chart(xapp), await self._advertise_address.get()
        lowest = None if address is None else self._advertise_layer(chart.info, address)
        versions = self._values_versions(xapp)
        async with self._values_slots.slot(xapp.metadata.namespace):
            layers = await self._load_values_from(xapp)
            inputs = await run_sized(_size(xapp, layers), self._build_inputs, xapp, chart, lowest, layers)
        if xapp.key in self._digests:  # what was read now is meant, also if the watches do not show it yet
            self._digests[xapp.key] = (_cache_key(xapp, chart.info.digest, versions), inputs.digests)
        return inputs

    def _build_inputs(
        self, xapp: XApp, chart: ChartFile, lowest: JsonObject | None, layers: list[JsonObject]
    ) -> ReleaseInputs:
        own_values = _merge_layers(layers, xapp.spec.user_values)
        values = own_values if lowest is None else merge_values(lowest, own_values)
        # An address that was discovered, not configured, is not compared: a change of it must not start an upgrade.
        compared_values = values if self._advertise_address.configured is not None else own_values
        return ReleaseInputs(
            chart=chart,
            values=dump_values(values),
            digests=Digests(chart.info.digest[:DIGEST_LENGTH], values_digest(compared_values)[:DIGEST_LENGTH]),
            secrets=_secrets(xapp, values, layers),
        )

    async def load_secrets(self, xapp: XApp) -> frozenset[str]:
        """Return the `secrets` that `load` returns, which needs the chart too.

        Raises:
            XAppError: when the values are not available.
        """
        async with self._values_slots.slot(xapp.metadata.namespace):
            layers = await self._load_values_from(xapp)
            values = await asyncio.to_thread(_merge_layers, layers, xapp.spec.user_values)
            return await asyncio.to_thread(_secrets, xapp, values, layers)

    def archive_owner_changes(self, xapp: XApp, *, resolved: bool) -> ArchiveOwnerChanges:
        """Return which ChartArchives should gain or lose `xapp` as an owner.

        One is owned as soon as it has been read, so that it is kept while the values are not available. Others are left
        only when chart and values are `resolved`.
        """
        archive = xapp.spec.archive if xapp.spec.method != METHOD_REMOTE else None
        reference = archive.chart_archive_ref if archive is not None else None
        used = reference.name if reference is not None else None
        known = self._archives.get(xapp.key)
        is_read = known is not None and known.location.reference == ArchiveReference("ChartArchive", used or "")
        return self._chart_archives.owner_changes(xapp, used=used, add=is_read, leave_others=resolved)

    def _values_versions(self, xapp: XApp) -> tuple[str | None, ...]:
        """Return the versions of the objects of valuesFrom; None for one that is not watched, or does not exist."""
        return tuple(
            self._references.resource_version(source.kind, xapp.metadata.namespace, source.name)
            for source in xapp.spec.values_from or ()
        )

    def _advertise_layer(self, chart: ChartInfo, address: str) -> JsonObject:
        return advertise_address_layer(chart.values, self._settings.advertise_address_values, address)

    async def _chart_digest(self, xapp: XApp, *, revalidate: bool) -> str:
        if xapp.spec.method == METHOD_REMOTE:
            return (await self._resolve_signed(xapp, revalidate=revalidate)).digest
        known, location = self._archives.get(xapp.key), self._locate_archive(xapp)
        if known is not None and known.location == location and await self._is_signed(known):
            return known.digest
        return (await self._load_uploaded_chart(xapp)).info.digest

    async def _load_chart(self, xapp: XApp) -> ChartFile:
        if xapp.spec.method == METHOD_REMOTE:
            return await self._charts.fetch(await self._resolve_signed(xapp))
        return await self._load_uploaded_chart(xapp)

    async def _resolve_signed(self, xapp: XApp, *, revalidate: bool = False) -> ResolvedChart:
        chart = await self._charts.resolve(await self._chart_request(xapp), revalidate=revalidate)
        await self._signatures.check_remote(chart)
        return chart

    async def _chart_request(self, xapp: XApp) -> ChartRequest:
        spec = xapp.spec
        repository = await self._repositories.resolve_repository(xapp)
        return ChartRequest(
            repository=repository, chart=spec.chart_name or "", version=spec.chart_version or spec.version
        )

    async def _load_uploaded_chart(self, xapp: XApp) -> ChartFile:
        """Return the uploaded archive: from disk if this XApp has read the same object before."""
        location = self._locate_archive(xapp)
        known = self._archives.pop(xapp.key, None)
        if known is None or known.location != location:
            known = self._known_from_owner(xapp, location)
        if known is not None and await self._is_signed(known):
            stored = await self._charts.open_stored(known.digest, source=known.uid)
            if stored is not None:
                self._archives[xapp.key] = known
                return stored
        file, self._archives[xapp.key] = await self._read_uploaded_chart(xapp, location)
        return file

    async def _is_signed(self, known: _KnownArchive) -> bool:
        return await self._signatures.is_known(known.digest, provenance_digest=known.provenance_digest)

    async def _read_uploaded_chart(self, xapp: XApp, location: _ArchiveLocation) -> tuple[ChartFile, _KnownArchive]:
        client, namespace = self._impersonation.client_for(xapp), xapp.metadata.namespace
        archive = await read_archive(client, xapp.spec.archive, namespace=namespace)
        file = await self._charts.store_archive(
            archive.data, expected_digest=location.expected_digest, source=archive.uid
        )
        check_declared_chart(archive, file.info, name=location.reference.name)
        await self._signatures.check_uploaded(file, namespace=namespace, provenance=archive.provenance)
        return file, _KnownArchive(location, file.info.digest, archive.uid, digest_of(archive.provenance))

    def _known_from_owner(self, xapp: XApp, location: _ArchiveLocation) -> _KnownArchive | None:
        """Return what is known after a restart: an XApp owns only ChartArchives that it has read."""
        found = self._chart_archives.get(xapp.metadata.namespace, location.reference.name)
        if found is None or location.expected_digest is None or location.reference.kind != CHART_ARCHIVES.kind:
            return None
        if xapp.metadata.uid not in found.owner_uids:
            return None
        return _KnownArchive(location, parse_digest(location.expected_digest), found.uid)

    def _locate_archive(self, xapp: XApp) -> _ArchiveLocation:
        reference, namespace = archive_reference(xapp.spec.archive), xapp.metadata.namespace
        if reference.kind == CHART_ARCHIVES.kind:
            found = self._chart_archives.get(namespace, reference.name)
            version = found.uid if found is not None else None
        else:
            version = self._references.resource_version(reference.kind, namespace, reference.name)
        expected_digest = xapp.spec.archive.digest if xapp.spec.archive else None
        return _ArchiveLocation(reference, version, expected_digest)

    async def _load_values_from(self, xapp: XApp) -> list[JsonObject]:
        if not xapp.spec.values_from:
            return []
        reader = ValuesFileReader(
            self._impersonation.client_for(xapp), self._settings, namespace=xapp.metadata.namespace
        )
        files = [await reader.read(source) for source in xapp.spec.values_from]
        return [await asyncio.to_thread(file.parse) for file in files]


def _cache_key(xapp: XApp, chart_digest: str, versions: tuple[str | None, ...]) -> Hashable:
    return xapp.metadata.uid, xapp.metadata.generation, chart_digest, versions


def _size(xapp: XApp, layers: Sequence[JsonObject]) -> int:
    """Return the length of the values of an XApp as JSON."""
    return sum(len(encode_json(each)) for each in (*layers, xapp.spec.user_values))


def _digest(lowest: JsonObject | None, layers: Sequence[JsonObject], user_values: JsonObject) -> str:
    values = _merge_layers(layers, user_values)
    return values_digest(values if lowest is None else merge_values(lowest, values))


def _merge_layers(layers: Sequence[JsonObject], user_values: JsonObject) -> JsonObject:
    merged = merge_values(*layers, user_values)
    require_plain_values(user_values, source="spec.values")
    return merged


def _secrets(xapp: XApp, values: JsonObject, layers: Sequence[JsonObject]) -> frozenset[str]:
    """Return the texts of the merged `values` that errors must not contain, and those of `layers` from Secrets."""
    sources = zip(xapp.spec.values_from or (), layers, strict=True)
    from_secrets = (text for source, layer in sources if source.kind == "Secret" for text in long_texts(layer))
    return secret_texts(values).union(from_secrets)


def _check_namespace(xapp: XApp) -> None:
    """Refuse what the admission policy refuses, for clusters where it is not installed."""
    if xapp.spec.namespace != xapp.metadata.namespace:
        raise FormInvalid(
            f"spec.namespace is {xapp.spec.namespace}, but the XApp is in {xapp.metadata.namespace}. An xApp is "
            "installed in the namespace of its XApp. Delete this XApp and create it there."
        )
