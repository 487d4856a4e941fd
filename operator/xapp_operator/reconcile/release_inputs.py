"""What an XApp wants: which chart archive and which values, and the digests that tell them apart.

Lives in `reconcile`. Digests are asked for on every look and remembered as long as neither the spec nor anything it
refers to has changed; chart and values themselves are brought together only for a helm step.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import METHOD_REMOTE, KeyRef, ValuesRef, XApp
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.chart_request import ChartRequest
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config import Settings
from xapp_operator.domain.plan_input import Digests
from xapp_operator.domain.redaction import long_texts
from xapp_operator.domain.values import advertise_address_layer, merge_values, values_digest
from xapp_operator.domain.yaml_values import load_values
from xapp_operator.errors import ChartNotFound, Conflict, FormInvalid, NotFound, ValuesInvalid
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS
from xapp_operator.reconcile.chart_secrets import add_owner, is_chart_secret, remove_owner
from xapp_operator.reconcile.impersonation import Impersonation
from xapp_operator.reconcile.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.work_queue import NamespacedName

DIGEST_LENGTH: Final = 40
"""Hex digits of a digest that a label value holds."""

_DigestsCacheKey = tuple[
    str, int, str, tuple[str | None, ...]
]  # uid, generation, digest of the chart, versions of valuesFrom


@dataclass(frozen=True, slots=True)
class ReleaseInputs:
    """Everything that a helm step needs."""

    chart: ChartFile
    values: JsonObject
    digests: Digests
    secret_values: frozenset[str]  # texts that came from Secrets


@dataclass(frozen=True, slots=True)
class _ArchiveLocation:
    """Where an uploaded chart lies, which version of that object it is, and which digest is expected there."""

    kind: str
    name: str
    key: str
    resource_version: str | None
    expected_digest: str | None


class ReleaseInputsResolver:
    """Resolves charts and values of XApps."""

    def __init__(
        self,
        settings: Settings,
        *,
        charts: ChartSources,
        repositories: RepositoryReconciler,
        references: ReferencedObjects,
        identities: Impersonation,
        advertise: AdvertiseAddress,
    ) -> None:
        self._settings = settings
        self._charts = charts
        self._repositories = repositories
        self._references = references
        self._identities = identities
        self._advertise = advertise
        self._claiming = asyncio.Lock()
        self._archives: dict[NamespacedName, tuple[_ArchiveLocation, str]] = {}  # with the digest of what lay there
        self._digests: dict[NamespacedName, tuple[_DigestsCacheKey, Digests]] = {}

    def forget(self, key: NamespacedName) -> None:
        """Forget what was remembered of an XApp."""
        self._archives.pop(key, None)
        self._digests.pop(key, None)

    async def resolve_digests(self, xapp: XApp, *, revalidate: bool = False) -> Digests:
        """Return the digests of what `xapp` wants now.

        Args:
            xapp: the XApp.
            revalidate: ask the repository whether its index changed, whatever its age.

        Raises:
            XAppError: when chart or values cannot be had, with the mend.
        """
        _check_namespace(xapp)
        chart = await self._chart_digest(xapp, revalidate=revalidate)
        versions = tuple(
            self._references.resource_version(source.kind, xapp.metadata.namespace, source.name)
            for source in xapp.spec.values_from or ()
        )
        token = (xapp.metadata.uid, xapp.metadata.generation, chart, versions)
        cached = self._digests.get(xapp.key)
        if cached is not None and cached[0] == token:
            return cached[1]
        values = merge_values(*await self._load_values_from(xapp), xapp.spec.user_values)
        if self._advertise.configured is not None:
            values = merge_values(
                self._advertise_layer((await self._load_chart(xapp)).info, self._advertise.configured), values
            )
        found = Digests(chart[:DIGEST_LENGTH], values_digest(values)[:DIGEST_LENGTH])
        self._digests[xapp.key] = (token, found)
        return found

    async def load(self, xapp: XApp) -> ReleaseInputs:
        """Return chart and values for a helm step, with the digests that they have.

        Raises:
            XAppError: as `digests`.
        """
        chart = await self._load_chart(xapp)
        layers = await self._load_values_from(xapp)
        own = merge_values(*layers, xapp.spec.user_values)
        address = await self._advertise.get()
        values = own if address is None else merge_values(self._advertise_layer(chart.info, address), own)
        # An address that was found, not configured, is no wish of anybody: it alone never starts an upgrade.
        compared_values = values if self._advertise.configured is not None else own
        digests = Digests(chart.info.digest[:DIGEST_LENGTH], values_digest(compared_values)[:DIGEST_LENGTH])
        sources = zip(xapp.spec.values_from or (), layers, strict=True)
        secrets = frozenset(text for source, layer in sources if source.kind == "Secret" for text in long_texts(layer))
        return ReleaseInputs(chart=chart, values=values, digests=digests, secret_values=secrets)

    def _advertise_layer(self, chart: ChartInfo, address: str) -> JsonObject:
        return advertise_address_layer(chart.values, self._settings.advertise_address_values, address)

    async def _chart_digest(self, xapp: XApp, *, revalidate: bool) -> str:
        if xapp.spec.method == METHOD_REMOTE:
            return (await self._charts.resolve(await self._chart_request(xapp), revalidate=revalidate)).digest
        place = self._locate_archive(xapp)
        remembered = self._archives.get(xapp.key)
        if remembered is not None and remembered[0] == place:
            return remembered[1]
        found = (await self._load_uploaded_chart(xapp)).info.digest
        if place.resource_version is not None:
            self._archives[xapp.key] = (place, found)
        return found

    async def _load_chart(self, xapp: XApp) -> ChartFile:
        if xapp.spec.method == METHOD_REMOTE:
            await self._remove_owner_from_others(xapp, keep=None)
            return await self._charts.fetch(await self._charts.resolve(await self._chart_request(xapp)))
        return await self._load_uploaded_chart(xapp)

    async def _load_uploaded_chart(self, xapp: XApp) -> ChartFile:
        """Return the uploaded archive, from disk where this XApp's own Secret has delivered it before."""
        archive, place = xapp.spec.archive, self._locate_archive(xapp)
        uid = self._references.owned_chart_secret_uid(
            xapp.metadata.uid, namespace=xapp.metadata.namespace, name=place.name
        )
        if archive is not None and archive.digest is not None and place.kind == "Secret" and uid is not None:
            file = await self._charts.open_stored(archive.digest, source=uid)
            if file is not None:
                return file
        return await self._read_archive(xapp)

    def _locate_archive(self, xapp: XApp) -> _ArchiveLocation:
        kind, reference = _archive_reference(xapp)
        version = self._references.resource_version(kind, xapp.metadata.namespace, reference.name)
        expected = xapp.spec.archive.digest if xapp.spec.archive else None
        return _ArchiveLocation(kind, reference.name, reference.key, version, expected)

    async def _chart_request(self, xapp: XApp) -> ChartRequest:
        spec = xapp.spec
        repository = await self._repositories.resolve_repository(xapp)
        return ChartRequest(
            repository=repository, chart=spec.chart_name or "", version=spec.chart_version or spec.version
        )

    async def _read_archive(self, xapp: XApp) -> ChartFile:
        kind, reference = _archive_reference(xapp)
        namespace = xapp.metadata.namespace
        kube = self._identities.client_for(xapp)
        try:
            holder = await kube.get(SECRETS if kind == "Secret" else CONFIGMAPS, reference.name, namespace=namespace)
        except NotFound:
            raise ChartNotFound(
                f"{kind} {reference.name} with the uploaded chart does not exist: upload the chart again, or create it"
            ) from None
        place = "data" if kind == "Secret" else "binaryData"
        encoded = obj(holder, place).get(reference.key)
        if not isinstance(encoded, str):
            raise ChartNotFound(f"{kind} {reference.name} has no key {reference.key} in {place}: add the packed chart")
        try:
            archive = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise ChartNotFound(f"{kind} {reference.name} has no archive under {reference.key}") from None
        expected = xapp.spec.archive.digest if xapp.spec.archive else None
        ours = kind == "Secret" and is_chart_secret(reference.name) and holder.get("immutable") is True
        uid = text(obj(holder, "metadata"), "uid") if ours else None
        file = await self._charts.store_archive(archive, expected_digest=expected, source=uid)
        if ours:
            await self._add_owner(xapp, holder, reference.name)
        await self._remove_owner_from_others(xapp, keep=reference.name if ours else None)
        return file

    async def _add_owner(self, xapp: XApp, secret: JsonObject, name: str) -> None:
        kube = self._identities.kube
        async with self._claiming:  # XApps that share a chart would conflict with one another
            try:
                await add_owner(kube, xapp, secret)
            except Conflict:
                read = await kube.get(SECRETS, name, namespace=xapp.metadata.namespace, metadata_only=True)
                await add_owner(kube, xapp, {**secret, "metadata": obj(read, "metadata")})

    async def _remove_owner_from_others(self, xapp: XApp, *, keep: str | None) -> None:
        await remove_owner(self._identities.kube, xapp, keep=keep, secrets=self._references.chart_secrets())

    async def _load_values_from(self, xapp: XApp) -> list[JsonObject]:
        return [await self._read_values_source(xapp, source) for source in xapp.spec.values_from or ()]

    async def _read_values_source(self, xapp: XApp, source: ValuesRef) -> JsonObject:
        kube, namespace = self._identities.client_for(xapp), xapp.metadata.namespace
        try:
            holder = await kube.get(
                SECRETS if source.kind == "Secret" else CONFIGMAPS, source.name, namespace=namespace
            )
        except NotFound:
            if source.optional:
                return {}
            raise ValuesInvalid(
                f"{source.kind} {source.name} of valuesFrom does not exist: create it, or set optional: true"
            ) from None
        written = obj(holder, "data").get(source.key)
        if not isinstance(written, str):
            if source.optional:
                return {}
            raise ValuesInvalid(
                f"{source.kind} {source.name} of valuesFrom has no key {source.key}: add it, name another key, or set "
                "optional: true"
            )
        data = base64.b64decode(written) if source.kind == "Secret" else written.encode()
        return load_values(
            data,
            source=f"key {source.key} of {source.kind} {source.name}",
            max_bytes=self._settings.values_max_bytes,
        )


def _archive_reference(xapp: XApp) -> tuple[str, KeyRef]:
    archive = xapp.spec.archive
    if archive is not None and archive.secret_ref is not None:
        return "Secret", archive.secret_ref
    if archive is not None and archive.config_map_ref is not None:
        return "ConfigMap", archive.config_map_ref
    raise FormInvalid("spec.archive names neither a Secret nor a ConfigMap: add one of them")


def _check_namespace(xapp: XApp) -> None:
    """Refuse what the admission policy would have refused, where that is not installed."""
    if xapp.spec.namespace != xapp.metadata.namespace:
        raise FormInvalid(
            f"spec.namespace is {xapp.spec.namespace}, but the XApp is in {xapp.metadata.namespace}: an xApp is "
            "installed in the namespace of its XApp; delete this one and create it there"
        )
