"""Charts in OCI registries: tags, the manifest of a chart, and the layer that is its archive.

Registries implement the OCI distribution specification. Helm stores a chart as an image manifest with media types of
its own (https://helm.sh/docs/topics/registries). A tag is a version with `_` in place of `+`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from yarl import URL

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.charts.chart_request import OCI, ChartRequest, Repository
from xapp_operator.charts.download_slots import DownloadSlots
from xapp_operator.charts.downloader import (
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    unexpected_status,
)
from xapp_operator.charts.signatures.cosign import (
    PAYLOAD_MAX_BYTES,
    PAYLOAD_TYPE,
    SIGNATURE_ANNOTATION,
    SIGNATURES_MAX,
    CosignSignature,
    signature_tag,
)
from xapp_operator.charts.sources.chart_source import (
    MISSING_CHART_RECHECK_SECONDS,
    ArchiveLocation,
    RegistrySignatures,
    cache_source,
    decode_response,
    effective_max_age,
    origin_access,
    version_not_found,
)
from xapp_operator.charts.sources.oci_reference import DIGEST_PATTERN, OciReference, is_tag
from xapp_operator.charts.sources.refreshing_cache import Freshness, RefreshingCache
from xapp_operator.charts.sources.registry_auth import RegistryAuthenticator
from xapp_operator.charts.sources.registry_tags import fetch_versions
from xapp_operator.charts.sources.repository_index import ChartVersion
from xapp_operator.charts.versions import parse_range, parse_version
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import display_url
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import ChartSourceError

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
CONFIG_TYPE: Final = "application/vnd.cncf.helm.config.v1+json"
LAYER_TYPES: Final = ("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip")
PROVENANCE_TYPE: Final = "application/vnd.cncf.helm.chart.provenance.v1.prov"

_MAX_MANIFEST_BYTES: Final = 1024 * 1024
_MAX_CACHED: Final = 1024
_REGISTRY_HOSTS: Final = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}


@dataclass(frozen=True, slots=True)
class ChartLayer:
    """The archive of a chart in a registry: `digest` is its sha256 (64 hex digits), `size` is in bytes.

    `manifest_digest` (`sha256:<hex>`) is computed from the manifest that names the archive. `provenance` is the digest
    of the provenance file, None if the chart has none.
    """

    reference: OciReference
    version: str
    digest: str
    size: int
    manifest_digest: str
    provenance: str | None


class OciRegistries:
    """All OCI registries in use, with one cache of their tags and manifests. Implements ChartSource."""

    def __init__(
        self,
        downloader: Downloader,
        downloads: DownloadSlots,
        *,
        ttl_seconds: float,
        allow_loopback: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._downloader = downloader
        self._downloads = downloads
        self._auth = RegistryAuthenticator(downloader, clock=clock)
        self._ttl_seconds = ttl_seconds
        self._allow_loopback = allow_loopback
        self._layers: RefreshingCache[tuple[OciReference, str], ChartLayer | None] = RefreshingCache(
            downloads, capacity=_MAX_CACHED, clock=clock
        )
        self._tags = RefreshingCache[OciReference, tuple[str, ...]](downloads, capacity=_MAX_CACHED, clock=clock)

    async def find(self, request: ChartRequest, *, revalidate: bool) -> ArchiveLocation:
        max_age = self._max_age(request.repository, None)
        layer = await self._find_layer(request, Freshness(max_age, revalidate=revalidate))
        if layer is None and not revalidate:
            max_age = self._max_age(request.repository, MISSING_CHART_RECHECK_SECONDS)
            layer = await self._find_layer(request, Freshness(max_age, stale_ok=False))
        if layer is None:
            existing = await self.list_versions(
                request.repository, request.chart, max_age=MISSING_CHART_RECHECK_SECONDS, revalidate=False
            )
            raise version_not_found(request, [each.version for each in existing])
        return self.locate(layer)

    async def list_charts(self, repository: Repository, *, revalidate: bool) -> None:
        """Check that the registry responds, without signing in: a registry cannot list its charts."""
        await self._ask_registry(repository, sign_in=False)

    async def check_access(self, repository: Repository) -> None:
        # Without credentials, most registries demand a token even for what is public.
        await self._ask_registry(repository, sign_in=repository.credentials is not None)

    async def _ask_registry(self, repository: Repository, *, sign_in: bool) -> None:
        url, max_bytes = self._registry_url(repository).with_path("/v2/"), _MAX_MANIFEST_BYTES
        try:
            async with self._downloads.slot(repository.namespace):
                if sign_in:
                    response = await self._auth.get(url, repository=repository, name="", max_bytes=max_bytes)
                else:
                    access = origin_access(repository, url)
                    response = await self._downloader.get(url, access=access, max_bytes=max_bytes)
        except BodyTooLarge:
            raise _not_a_registry(url) from None
        if response.status == HTTPStatus.NOT_FOUND:
            raise _not_a_registry(url)
        if response.status != HTTPStatus.OK and (sign_in or response.status != HTTPStatus.UNAUTHORIZED):
            raise unexpected_status(response)

    async def list_versions(
        self, repository: Repository, chart: str, *, max_age: float | None, revalidate: bool
    ) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart (see ChartSource); only the version numbers are known."""
        freshness = Freshness(self._max_age(repository, max_age), revalidate=revalidate, stale_ok=not revalidate)
        for reference in self.references(repository, chart):
            if versions := await self._get_versions(reference, freshness):
                return await run_sized(sum(map(len, versions)), _chart_versions, versions, repository.url)
        return ()

    async def resolve_index_url(self, repository: Repository, version: str, *, revalidate: bool) -> ChartLayer | None:
        """Return the layer behind an `oci://` URL in an index, or None when it does not exist.

        The URL is `oci://host/name:1.2.3`, or has no tag; then `version` is the tag. With `revalidate`, the registry is
        asked; otherwise only if what is known of it is old, or says that the layer does not exist.
        """
        path, colon, tag = repository.location.path.rpartition(":")
        reference = self._reference(repository, (path if colon else tag).strip("/"))
        version = tag.replace("_", "+") if colon else version
        max_age = self._max_age(repository, None)
        layer = await self._get_layer(reference, version, Freshness(max_age, revalidate=revalidate))
        if layer is None and not revalidate:
            max_age = self._max_age(repository, MISSING_CHART_RECHECK_SECONDS)
            layer = await self._get_layer(reference, version, Freshness(max_age, stale_ok=False))
        return layer

    def locate(self, layer: ChartLayer) -> ArchiveLocation:
        reference = layer.reference
        url = reference.blob_url(layer.digest)

        async def download(max_bytes: int) -> bytes:
            if layer.size > max_bytes:
                raise BodyTooLarge
            return await self._get_blob(reference, layer.digest, max_bytes=max_bytes)

        async def get_provenance(max_bytes: int) -> bytes | None:
            if layer.provenance is None:
                return None
            return await self._get_blob(reference, layer.provenance, max_bytes=max_bytes)

        return ArchiveLocation(
            source_type=OCI,
            version=layer.version,
            url=url,
            digest=layer.digest,
            cache_source=cache_source(reference.repository, f"{reference.base} {reference.name}"),
            download=download,
            get_provenance=get_provenance,
            get_signatures=lambda: self._get_signatures(layer),
        )

    async def _get_blob(self, reference: OciReference, digest: str, *, max_bytes: int) -> bytes:
        response = await self._auth.get(
            reference.blob_url(digest),
            repository=reference.repository,
            name=reference.name,
            max_bytes=max_bytes,
        )
        if response.status != HTTPStatus.OK:
            raise unexpected_status(response)
        return response.body

    async def _get_signatures(self, layer: ChartLayer) -> RegistrySignatures:
        reference = layer.reference
        url = reference.manifest_url(signature_tag(layer.manifest_digest))
        response = await self._get(reference, url, headers={"Accept": MANIFEST_TYPE})
        if response.status == HTTPStatus.NOT_FOUND:
            return RegistrySignatures(layer.manifest_digest, ())
        if response.status != HTTPStatus.OK:
            raise unexpected_status(response)
        found: list[CosignSignature] = []
        for digest, signature in await decode_response(response, _signature_layers):
            payload = await self._get_blob(reference, digest, max_bytes=PAYLOAD_MAX_BYTES)
            found.append(CosignSignature(payload, signature))
        return RegistrySignatures(layer.manifest_digest, tuple(found))

    def references(self, repository: Repository, chart: str) -> tuple[OciReference, ...]:
        """Return where a chart may be: below the URL, or at it when the URL already ends in the chart's name."""
        path = repository.location.path.strip("/")
        below = self._reference(repository, f"{path}/{chart}".strip("/"))
        if path.rpartition("/")[2] != chart:
            return (below,)
        return self._reference(repository, path), below

    def _max_age(self, repository: Repository, max_age: float | None) -> float:
        return effective_max_age(repository, max_age, default=self._ttl_seconds)

    def _registry_url(self, repository: Repository) -> URL:
        location = repository.location
        host = _REGISTRY_HOSTS.get(location.host or "", location.host or "")
        scheme = "http" if self._allow_loopback and is_loopback(host) else "https"
        return URL.build(scheme=scheme, host=host, port=location.explicit_port)

    def _reference(self, repository: Repository, name: str) -> OciReference:
        return OciReference(repository, self._registry_url(repository), name)

    async def _find_layer(self, request: ChartRequest, freshness: Freshness) -> ChartLayer | None:
        version = request.version
        may_be_tag = parse_version(version) is not None and is_tag(_tag(version))
        for reference in self.references(request.repository, request.chart):
            if may_be_tag and (layer := await self._get_layer(reference, version, freshness)):
                return layer
            versions = await self._get_versions(reference, freshness)
            if selected := await run_sized(sum(map(len, versions)), parse_range(version).select, versions):
                return await self._get_layer(reference, selected, freshness)
        return None

    async def _get_layer(self, reference: OciReference, version: str, freshness: Freshness) -> ChartLayer | None:
        url = reference.manifest_url(_tag(version))
        return await self._layers.get(
            (reference, version),
            lambda _: self._fetch_layer(reference, version, url),
            freshness,
            namespace=reference.repository.namespace,
        )

    async def _fetch_layer(self, reference: OciReference, version: str, url: URL) -> ChartLayer | None:
        accept = {"Accept": f"{MANIFEST_TYPE}, {INDEX_TYPE}"}
        response = await self._get(reference, url, headers=accept)
        if response.status == HTTPStatus.NOT_FOUND:
            return None
        if response.status != HTTPStatus.OK:
            raise unexpected_status(response)
        return await decode_response(response, lambda manifest: _chart_layer(response, manifest, reference, version))

    async def _get_versions(self, reference: OciReference, freshness: Freshness) -> tuple[str, ...]:
        return await self._tags.get(
            reference,
            lambda _: self._fetch_versions(reference),
            freshness,
            namespace=reference.repository.namespace,
        )

    async def _fetch_versions(self, reference: OciReference) -> tuple[str, ...]:
        first = reference.tags_url()
        return await fetch_versions(first, lambda url: self._get(reference, url), name=str(reference))

    async def _get(
        self, reference: OciReference, url: URL, *, headers: dict[str, str] | None = None
    ) -> DownloadResponse:
        try:
            return await self._auth.get(
                url,
                repository=reference.repository,
                name=reference.name,
                max_bytes=_MAX_MANIFEST_BYTES,
                headers=headers,
            )
        except BodyTooLarge:
            raise _not_a_registry(url) from None

    def forget_failures(self, repository: Repository) -> None:
        self._layers.forget_failures(lambda key: key[0].repository == repository)
        self._tags.forget_failures(lambda key: key.repository == repository)

    async def close(self) -> None:
        await self._layers.close()
        await self._tags.close()


def _tag(version: str) -> str:
    return version.replace("+", "_")


def _chart_layer(response: DownloadResponse, manifest: JsonObject, reference: OciReference, version: str) -> ChartLayer:
    if text(obj(manifest, "config"), "mediaType") != CONFIG_TYPE:
        kind = "an index of several images" if "manifests" in manifest else "something else"
        raise ChartSourceError(
            f"{reference} has {kind} as version {version}, not a Helm chart. Push the chart with 'helm push'.",
            permanent=True,
        )
    layers = [layer for layer in items(manifest, "layers") if text(layer, "mediaType") in LAYER_TYPES]
    match = DIGEST_PATTERN.fullmatch(text(layers[0], "digest")) if len(layers) == 1 else None
    if match is None:
        raise ChartSourceError(
            f"the manifest of version {version} at {reference} must have exactly one chart layer, with a sha256 "
            "digest. Push the chart again with 'helm push'.",
            permanent=True,
        )
    provenance = (text(layer, "digest") for layer in items(manifest, "layers") if _is_provenance(layer))
    signed = DIGEST_PATTERN.fullmatch(next(provenance, ""))
    return ChartLayer(
        reference,
        version,
        match.group(1),
        integer(layers[0], "size"),
        manifest_digest=f"sha256:{hashlib.sha256(response.body).hexdigest()}",
        provenance=signed.group(1) if signed else None,
    )


def _signature_layers(manifest: JsonObject) -> list[tuple[str, str]]:
    """Return the digest of each payload (64 hex digits), and its signature."""
    found: list[tuple[str, str]] = []
    for layer in items(manifest, "layers")[:SIGNATURES_MAX]:
        digest = DIGEST_PATTERN.fullmatch(text(layer, "digest"))
        if text(layer, "mediaType") == PAYLOAD_TYPE and digest is not None:
            found.append((digest.group(1), text(obj(layer, "annotations"), SIGNATURE_ANNOTATION)))
    return found


def _is_provenance(layer: JsonObject) -> bool:
    return text(layer, "mediaType") == PROVENANCE_TYPE


def _chart_versions(versions: Sequence[str], url: str) -> tuple[ChartVersion, ...]:
    return tuple(ChartVersion(version=version, url=url) for version in versions)


def _not_a_registry(url: URL) -> ChartSourceError:
    return ChartSourceError(
        f"{display_url(url)} does not respond like a registry. Check the host and port of the registry.", permanent=True
    )
