"""Charts in OCI registries: tags, the manifest of a chart, and the layer that is its archive.

The registry speaks the OCI distribution specification; Helm keeps a chart as an image manifest with its own media types
(https://helm.sh/docs/topics/registries). Tags are versions with `_` for `+`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from yarl import URL

from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.downloader import (
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    OriginAccess,
    origin,
    unexpected_status,
)
from xapp_operator.charts.refreshing_cache import RefreshingCache
from xapp_operator.charts.registry_auth import RegistryAuthenticator
from xapp_operator.charts.versions import parse_range, parse_version
from xapp_operator.common.text import display_url, quote_input
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import ChartNotFound, ChartSourceError, SourceUnavailable

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
CONFIG_TYPE: Final = "application/vnd.cncf.helm.config.v1+json"
LAYER_TYPES: Final = ("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip")

_MAX_MANIFEST_BYTES: Final = 1024 * 1024
_MAX_TAG_PAGES: Final = 20
_TAGS_PER_PAGE: Final = 1000
_MAX_CACHED: Final = 1024
_OK: Final = 200
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_REGISTRY_HOSTS: Final = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}
_NAME_PATTERN: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG_PATTERN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_STRICT_VERSION_PATTERN: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+].*)?")
_DIGEST_PATTERN: Final = re.compile("sha256:([0-9a-f]{64})")
_NEXT_LINK: Final = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')


@dataclass(frozen=True, slots=True)
class OciReference:
    """A chart in a registry: `base` is the registry's URL, `name` the repository in it."""

    repository: Repository
    base: URL
    name: str

    def url(self, *path: str) -> URL:
        """Return a URL of the registry API below the name."""
        return self.base.with_path("/".join(["/v2", self.name, *path]), encoded=True)

    def __str__(self) -> str:
        return f"oci://{self.base.authority}/{self.name}"


@dataclass(frozen=True, slots=True)
class ChartLayer:
    """The archive of a chart in a registry: `digest` 64 hex digits of its sha256, `size` in bytes."""

    reference: OciReference
    version: str
    digest: str
    size: int


class OciRegistries:
    """The charts of all registries that are in use."""

    def __init__(
        self,
        downloader: Downloader,
        *,
        ttl_seconds: float,
        allow_loopback: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._downloader = downloader
        self._auth = RegistryAuthenticator(downloader, clock=clock)
        self._ttl_seconds = ttl_seconds
        self._allow_loopback = allow_loopback
        self._layers: RefreshingCache[tuple[OciReference, str], ChartLayer | None] = RefreshingCache(
            capacity=_MAX_CACHED, clock=clock
        )
        self._tags: RefreshingCache[OciReference, tuple[str, ...]] = RefreshingCache(capacity=_MAX_CACHED, clock=clock)

    async def find_layer(
        self,
        repository: Repository,
        chart: str,
        version: str,
        *,
        max_age: float | None = None,
        revalidate: bool = False,
        stale_ok: bool = True,
    ) -> ChartLayer | None:
        """Return the layer of the version, or of the newest in the range; None when there is no such version.

        Raises ChartSourceError and its kinds, FormInvalid for what is no version.
        """
        max_age_seconds = self._max_age(repository, max_age)
        version_range = parse_range(version)
        for reference in self.references(repository, chart):
            tag = version.replace("+", "_")
            if parse_version(version) is not None and _TAG_PATTERN.fullmatch(tag):
                layer = await self._get_layer(
                    reference, version, max_age_seconds, revalidate=revalidate, stale_ok=stale_ok
                )
                if layer:
                    return layer
            chosen = version_range.select(
                await self._get_versions(reference, max_age_seconds, revalidate=revalidate, stale_ok=stale_ok)
            )
            if chosen:
                return await self._get_layer(
                    reference, chosen, max_age_seconds, revalidate=revalidate, stale_ok=stale_ok
                )
        return None

    async def list_versions(
        self, repository: Repository, chart: str, *, max_age: float | None = None, revalidate: bool = False
    ) -> tuple[str, ...]:
        """Return the versions of a chart, newest first; none when the chart is not there."""
        for reference in self.references(repository, chart):
            age = self._max_age(repository, max_age)
            if found := await self._get_versions(reference, age, revalidate=revalidate, stale_ok=not revalidate):
                return found
        return ()

    async def resolve_index_url(self, repository: Repository, version: str) -> ChartLayer | None:
        """Return the layer that an address in an index stands for: `oci://host/name:1.2.3`, or the version without tag.

        None when it is not there.
        """
        path, colon, tag = repository.location.path.rpartition(":")
        reference = self._reference(repository, (path if colon else tag).strip("/"))
        wanted = tag.replace("_", "+") if colon else version
        return await self._get_layer(reference, wanted, self._ttl_seconds, revalidate=False, stale_ok=True)

    async def check_registry(self, repository: Repository) -> None:
        """Look whether a registry answers; raises ChartSourceError when not. Whether it lets one in is not tried."""
        url = self._registry_url(repository).with_path("/v2/")
        access = OriginAccess(
            origin_url=url, ca_bundle=repository.ca_bundle, insecure=repository.insecure_skip_tls_verify
        )
        try:
            answer = await self._downloader.get(url, access=access, max_bytes=_MAX_MANIFEST_BYTES)
        except BodyTooLarge:
            raise _not_a_registry(url) from None
        if answer.status == _NOT_FOUND:
            raise _not_a_registry(url)
        if answer.status not in (_OK, _UNAUTHORIZED):
            raise unexpected_status(answer)

    async def download_layer(self, layer: ChartLayer, *, max_bytes: int) -> bytes:
        """Return the archive; its digest has not been looked at. Raises CapExceeded."""
        if layer.size > max_bytes:
            raise BodyTooLarge
        url = layer.reference.url("blobs", f"sha256:{layer.digest}")
        answer = await self._auth.get(
            url, repository=layer.reference.repository, name=layer.reference.name, max_bytes=max_bytes
        )
        if answer.status != _OK:
            raise unexpected_status(answer)
        return answer.body

    def references(self, repository: Repository, chart: str) -> tuple[OciReference, ...]:
        """Return where a chart may lie: below the address, or at it when it ends in the chart's name already."""
        path = repository.location.path.strip("/")
        below = self._reference(repository, f"{path}/{chart}".strip("/"))
        if path.rpartition("/")[2] != chart:
            return (below,)
        return self._reference(repository, path), below

    def _max_age(self, repository: Repository, max_age: float | None) -> float:
        interval = self._ttl_seconds if repository.interval_seconds is None else repository.interval_seconds
        return interval if max_age is None else min(max_age, interval)

    def _registry_url(self, repository: Repository) -> URL:
        location = repository.location
        host = _REGISTRY_HOSTS.get(location.host or "", location.host or "")
        scheme = "http" if self._allow_loopback and is_loopback(host) else "https"
        return URL.build(scheme=scheme, host=host, port=location.explicit_port)

    def _reference(self, repository: Repository, name: str) -> OciReference:
        if not _NAME_PATTERN.fullmatch(name):
            raise ChartNotFound(
                f"{quote_input(name)} is not a valid chart name in a registry: use lower-case letters and digits, "
                "with '.', '_' or '-' between them, in parts separated by '/'. Correct chartName or url."
            )
        return OciReference(repository, self._registry_url(repository), name)

    async def _get_layer(
        self, reference: OciReference, version: str, max_age: float, *, revalidate: bool, stale_ok: bool
    ) -> ChartLayer | None:
        return await self._layers.get(
            (reference, version),
            lambda _: self._fetch_layer(reference, version),
            max_age=max_age,
            revalidate=revalidate,
            stale_ok=stale_ok,
        )

    async def _fetch_layer(self, reference: OciReference, version: str) -> ChartLayer | None:
        url = reference.url("manifests", version.replace("+", "_"))
        accept = {"Accept": f"{MANIFEST_TYPE}, {INDEX_TYPE}"}
        answer = await self._get(reference, url, max_bytes=_MAX_MANIFEST_BYTES, headers=accept)
        if answer.status == _NOT_FOUND:
            return None
        if answer.status != _OK:
            raise unexpected_status(answer)
        return _chart_layer(_decode_json(answer), reference, version)

    async def _get_versions(
        self, reference: OciReference, max_age: float, *, revalidate: bool, stale_ok: bool
    ) -> tuple[str, ...]:
        return await self._tags.get(
            reference,
            lambda _: self._fetch_versions(reference),
            max_age=max_age,
            revalidate=revalidate,
            stale_ok=stale_ok,
        )

    async def _fetch_versions(self, reference: OciReference) -> tuple[str, ...]:
        tags: list[str] = []
        url = reference.url("tags", "list").with_query(n=str(_TAGS_PER_PAGE))
        for _ in range(_MAX_TAG_PAGES):
            answer = await self._get(reference, url, max_bytes=_MAX_MANIFEST_BYTES)
            if answer.status == _NOT_FOUND:
                break
            if answer.status != _OK:
                raise unexpected_status(answer)
            page = _decode_json(answer).get("tags") or []
            tags.extend(tag for tag in (page if isinstance(page, list) else []) if isinstance(tag, str))
            following = _NEXT_LINK.search(answer.headers.get("Link", ""))
            if not following:
                break
            url = url.join(URL(following.group(1)))
            if origin(url) != origin(reference.base):
                break
        return _sort_newest_first(tags)

    async def _get(
        self, reference: OciReference, url: URL, *, max_bytes: int, headers: dict[str, str] | None = None
    ) -> DownloadResponse:
        try:
            return await self._auth.get(
                url, repository=reference.repository, name=reference.name, max_bytes=max_bytes, headers=headers
            )
        except BodyTooLarge:
            raise _not_a_registry(url) from None

    async def close(self) -> None:
        """End what is under way."""
        await self._layers.close()
        await self._tags.close()


def _chart_layer(manifest: JsonObject, reference: OciReference, version: str) -> ChartLayer:
    if text(obj(manifest, "config"), "mediaType") != CONFIG_TYPE:
        kind = "an index of several images" if "manifests" in manifest else "something else"
        raise ChartSourceError(
            f"{reference} has {kind} under version {version}, not a Helm chart. Push the chart with 'helm push'.",
            permanent=True,
        )
    layers = [layer for layer in items(manifest, "layers") if text(layer, "mediaType") in LAYER_TYPES]
    match = _DIGEST_PATTERN.fullmatch(text(layers[0], "digest")) if len(layers) == 1 else None
    if match is None:
        raise ChartSourceError(
            f"the manifest of version {version} at {reference} has not exactly one chart layer with a sha256 digest. "
            "Push the chart again with 'helm push'.",
            permanent=True,
        )
    return ChartLayer(reference, version, match.group(1), integer(layers[0], "size"))


def _sort_newest_first(tags: list[str]) -> tuple[str, ...]:
    versions = [tag.replace("_", "+") for tag in tags]
    parsed = [(parse_version(text_), text_) for text_ in versions if _STRICT_VERSION_PATTERN.fullmatch(text_)]
    known = sorted(((version, text_) for version, text_ in parsed if version), key=lambda pair: pair[0], reverse=True)
    return tuple(text_ for _, text_ in known)


def _decode_json(response: DownloadResponse) -> JsonObject:
    try:
        value: Json = json.loads(response.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SourceUnavailable(f"{display_url(response.url)} did not answer with a JSON object. It is tried again.")
    return value


def _not_a_registry(url: URL) -> ChartSourceError:
    return ChartSourceError(
        f"{display_url(url)} does not answer as a registry does. Check host and port of the registry.", permanent=True
    )
