"""Resolves the desired state of an XApp: its chart archive, its values, and the digests of both.

Digests are resolved in every reconcile, and cached until the spec or something that it refers to changes. Chart and
values themselves are loaded only for a helm step.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Protocol

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import METHOD_REMOTE, XApp
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config import Settings
from xapp_operator.domain.naming import is_chart_secret_name
from xapp_operator.domain.plan_input import Digests
from xapp_operator.domain.redaction import long_texts
from xapp_operator.domain.values import advertise_address_layer, merge_values, values_digest
from xapp_operator.errors import FormInvalid
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.referenced_data import archive_reference, read_archive, read_values_file
from xapp_operator.reconcile.impersonation import ReaderImpersonation
from xapp_operator.reconcile.referenced_objects import ArchiveOwnerChanges, ReferencedObjects
from xapp_operator.reconcile.work_queue import NamespacedName

DIGEST_LENGTH: Final = 40
"""Hex digits of a digest that a label value holds."""


class RepositoryResolver(Protocol):
    """Finds the repository of a remote chart; `RepositoryReconciler` does."""

    async def resolve_repository(self, xapp: XApp) -> Repository:
        """Return the address with its credentials; raises RepositoryNotSaved when there is no ChartRepository."""


@dataclass(frozen=True, slots=True)
class ReleaseInputs:
    """Everything that a helm step needs."""

    chart: ChartFile
    values: JsonObject
    digests: Digests
    secret_values: frozenset[str]  # texts that came from Secrets


@dataclass(frozen=True, slots=True)
class _ArchiveLocation:
    """Where an uploaded chart is, which version of that object it is, and the digest that the spec expects."""

    kind: str
    name: str
    key: str
    resource_version: str | None
    expected_digest: str | None


@dataclass(frozen=True, slots=True)
class _KnownArchive:
    location: _ArchiveLocation
    digest: str
    is_upload: bool  # it is in a chart Secret, which the XApp should own


class ReleaseInputsResolver:
    """Resolves charts and values of XApps. It only reads from the cluster."""

    def __init__(
        self,
        settings: Settings,
        *,
        charts: ChartSources,
        repositories: RepositoryResolver,
        references: ReferencedObjects,
        impersonation: ReaderImpersonation,
        advertise_address: AdvertiseAddress,
    ) -> None:
        self._settings = settings
        self._charts = charts
        self._repositories = repositories
        self._references = references
        self._impersonation = impersonation
        self._advertise_address = advertise_address
        self._archives: dict[NamespacedName, _KnownArchive] = {}
        self._digests: dict[NamespacedName, tuple[Hashable, Digests]] = {}  # with what they were resolved from

    def forget(self, key: NamespacedName) -> None:
        self._archives.pop(key, None)
        self._digests.pop(key, None)

    async def resolve_digests(self, xapp: XApp, *, revalidate: bool = False) -> Digests:
        """Return the digests of the chart and the values that `xapp` asks for now.

        With `revalidate`, ask the repository whether its index has changed, however old the cached one is.

        Raises:
            XAppError: when chart or values are not available.
        """
        _check_namespace(xapp)
        chart_digest = await self._chart_digest(xapp, revalidate=revalidate)
        versions = tuple(
            self._references.resource_version(source.kind, xapp.metadata.namespace, source.name)
            for source in xapp.spec.values_from or ()
        )
        cache_key = (xapp.metadata.uid, xapp.metadata.generation, chart_digest, versions)
        cached = self._digests.get(xapp.key)
        if cached is not None and cached[0] == cache_key:
            return cached[1]
        values = merge_values(*await self._load_values_from(xapp), xapp.spec.user_values)
        address = self._advertise_address.configured
        if address is not None:
            values = merge_values(self._advertise_layer((await self._load_chart(xapp)).info, address), values)
        digests = Digests(chart_digest[:DIGEST_LENGTH], values_digest(values)[:DIGEST_LENGTH])
        self._digests[xapp.key] = (cache_key, digests)
        return digests

    async def load(self, xapp: XApp) -> ReleaseInputs:
        """Return chart and values for a helm step, and their digests.

        Raises:
            XAppError: as `resolve_digests`.
        """
        chart = await self._load_chart(xapp)
        layers = await self._load_values_from(xapp)
        own_values = merge_values(*layers, xapp.spec.user_values)
        address = await self._advertise_address.get()
        values = own_values if address is None else merge_values(self._advertise_layer(chart.info, address), own_values)
        # An address that was discovered, not configured, is not compared: a change of it must not start an upgrade.
        compared_values = values if self._advertise_address.configured is not None else own_values
        sources = zip(xapp.spec.values_from or (), layers, strict=True)
        return ReleaseInputs(
            chart=chart,
            values=values,
            digests=Digests(chart.info.digest[:DIGEST_LENGTH], values_digest(compared_values)[:DIGEST_LENGTH]),
            secret_values=frozenset(
                text for source, layer in sources if source.kind == "Secret" for text in long_texts(layer)
            ),
        )

    def archive_owner_changes(self, xapp: XApp, *, resolved: bool) -> ArchiveOwnerChanges:
        """Return which chart Secrets should gain or lose `xapp` as an owner.

        An uploaded chart is owned as soon as it has been read, so that it is kept while the values are not available.
        Others are left only when chart and values are `resolved`.
        """
        namespace, archive = xapp.metadata.namespace, xapp.spec.archive
        owned = self._references.owned_chart_secrets(xapp.metadata.uid, namespace=namespace)
        reference = archive.secret_ref if archive is not None and xapp.spec.method != METHOD_REMOTE else None
        known = self._archives.get(xapp.key)
        used: str | None = None
        add: str | None = None
        if known and reference and (known.location.kind, known.location.name) == ("Secret", reference.name):
            used = reference.name
            exists = self._references.resource_version("Secret", namespace, used) is not None
            if known.is_upload and exists and used not in owned:
                add = used
        return ArchiveOwnerChanges(add=add, remove=tuple(name for name in owned if name != used) if resolved else ())

    def _advertise_layer(self, chart: ChartInfo, address: str) -> JsonObject:
        return advertise_address_layer(chart.values, self._settings.advertise_address_values, address)

    async def _chart_digest(self, xapp: XApp, *, revalidate: bool) -> str:
        if xapp.spec.method == METHOD_REMOTE:
            return (await self._charts.resolve(await self._chart_request(xapp), revalidate=revalidate)).digest
        known, location = self._archives.get(xapp.key), self._locate_archive(xapp)
        if known is not None and known.location == location and location.resource_version is not None:
            return known.digest
        return (await self._load_uploaded_chart(xapp)).info.digest

    async def _load_chart(self, xapp: XApp) -> ChartFile:
        if xapp.spec.method == METHOD_REMOTE:
            return await self._charts.fetch(await self._charts.resolve(await self._chart_request(xapp)))
        return await self._load_uploaded_chart(xapp)

    async def _chart_request(self, xapp: XApp) -> ChartRequest:
        spec = xapp.spec
        repository = await self._repositories.resolve_repository(xapp)
        return ChartRequest(
            repository=repository, chart=spec.chart_name or "", version=spec.chart_version or spec.version
        )

    async def _load_uploaded_chart(self, xapp: XApp) -> ChartFile:
        """Return the uploaded archive: from disk if it came from a chart Secret that this XApp owns."""
        location, namespace = self._locate_archive(xapp), xapp.metadata.namespace
        uid = self._references.owned_chart_secret_uid(xapp.metadata.uid, namespace=namespace, name=location.name)
        file, is_upload = None, True
        if location.expected_digest is not None and location.kind == "Secret" and uid is not None:
            file = await self._charts.open_stored(location.expected_digest, source=uid)
        if file is None:
            archive = await read_archive(self._impersonation.client_for(xapp), xapp.spec.archive, namespace=namespace)
            is_upload = archive.upload_uid is not None and is_chart_secret_name(location.name)
            file = await self._charts.store_archive(
                archive.data,
                expected_digest=location.expected_digest,
                source=archive.upload_uid if is_upload else None,
            )
        self._archives[xapp.key] = _KnownArchive(location, file.info.digest, is_upload)
        return file

    def _locate_archive(self, xapp: XApp) -> _ArchiveLocation:
        kind, reference = archive_reference(xapp.spec.archive)
        version = self._references.resource_version(kind, xapp.metadata.namespace, reference.name)
        expected_digest = xapp.spec.archive.digest if xapp.spec.archive else None
        return _ArchiveLocation(kind, reference.name, reference.key, version, expected_digest)

    async def _load_values_from(self, xapp: XApp) -> list[JsonObject]:
        client, max_bytes = self._impersonation.client_for(xapp), self._settings.values_max_bytes
        return [
            await read_values_file(client, source, namespace=xapp.metadata.namespace, max_bytes=max_bytes)
            for source in xapp.spec.values_from or ()
        ]


def _check_namespace(xapp: XApp) -> None:
    """Refuse what the admission policy refuses, for clusters where it is not installed."""
    if xapp.spec.namespace != xapp.metadata.namespace:
        raise FormInvalid(
            f"spec.namespace is {xapp.spec.namespace}, but the XApp is in {xapp.metadata.namespace}. An xApp is "
            "installed in the namespace of its XApp. Delete this XApp and create it there."
        )
