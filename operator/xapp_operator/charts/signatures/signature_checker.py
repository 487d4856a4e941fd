"""Refuses charts that are not signed as their repository (`spec.verify`) and this cluster demand.

`XAPP_REQUIRE_SIGNATURES` demands a signature with a key of the cluster for every chart, also for an uploaded one. A
repository's own keys never meet it: anyone who may write a ChartRepository can choose them.

A check is about the bytes of an archive: helm gets the file whose digest was checked. What passed is remembered for
SIGNED_SECONDS by that digest, the place of the signature and the keys, so all else is checked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from cachetools import TTLCache

from xapp_operator.api.chart_archive import PROVENANCE_MAX
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.chart_sources import ChartSources, ResolvedChart
from xapp_operator.charts.downloader import BodyTooLarge
from xapp_operator.charts.signatures.cosign_verifier import CosignVerifier
from xapp_operator.charts.signatures.trusted_keys import SignatureDemand, TrustedKeys, read_trusted_keys
from xapp_operator.charts.sources.chart_source import RegistrySignatures
from xapp_operator.charts.versions import parse_version
from xapp_operator.common.text import format_bytes, quote_input
from xapp_operator.config.settings import Settings
from xapp_operator.errors import SignatureInvalid
from xapp_operator.helm.requests import VerifiedArchive, VerifyRequest

PROVENANCE: Final = "provenance"
COSIGN: Final = "cosign"
SIGNED_SECONDS: Final = 3600.0
KEYS_REREAD_SECONDS: Final = 5.0
KEY_FILE_MAX_BYTES: Final = 1024 * 1024
CLUSTER_KEYS: Final = "the keys of this cluster (XAPP_SIGNATURE_KEYS)"
_FILE_NAME_MAX: Final = 240  # of the 255 bytes of a file system, with room for .prov
_REMEMBERED_MAX: Final = 4096


class ProvenanceVerifier(Protocol):
    """Checks a provenance file; `HelmEngine` does."""

    async def verify(self, request: VerifyRequest) -> VerifiedArchive:
        """Return who signed the archive; raises SignatureInvalid if nobody trusted has."""


class PackedChart(Protocol):
    """A chart on disk whose archive passed every check."""

    @property
    def path(self) -> Path:
        """Return where the archive is."""

    @property
    def info(self) -> ChartInfo:
        """Return what is in it."""


@dataclass(frozen=True, slots=True)
class _Signed:
    """An archive, and how to get its signatures; `evidence` identifies where they are, or what they are."""

    info: ChartInfo
    namespace: str
    evidence: str
    read_archive: Callable[[], Awaitable[bytes]]
    get_provenance: Callable[[int], Awaitable[bytes | None]]
    get_signatures: Callable[[], Awaitable[RegistrySignatures]] | None = None


class SignatureChecker:
    """Checks the charts of one process; the settings `require_signatures` and `signature_keys` are used."""

    def __init__(self, settings: Settings, *, charts: ChartSources, verifier: ProvenanceVerifier) -> None:
        self._cluster_keys = _ClusterKeys(settings.signature_keys) if settings.require_signatures else None
        self._charts = charts
        self._verifier = verifier
        self._cosign = CosignVerifier()
        self._signed: TTLCache[tuple[str, str, str, frozenset[str]], bool] = TTLCache(_REMEMBERED_MAX, SIGNED_SECONDS)

    async def check_remote(self, chart: ResolvedChart) -> None:
        """Refuse a chart of a repository that is not signed as the repository and the cluster demand.

        Raises:
            SignatureInvalid: naming the expected keys.
            ChartSourceError: when a signature cannot be downloaded.
        """
        own = chart.request.repository.signature
        demands = [*([own] if own is not None else ()), *await self._cluster_demands()]
        if not demands:
            return
        _check_identity(chart)

        async def read_archive() -> bytes:
            return await _read(await self._charts.fetch(chart))

        location = chart.location
        evidence = f"{location.cache_source} {location.url}"
        signed = _Signed(
            chart.info,
            chart.request.repository.namespace,
            evidence,
            read_archive,
            location.get_provenance,
            location.get_signatures,
        )
        for demand in demands:
            await self._check(demand, signed)

    async def is_known(self, digest: str, *, provenance_digest: str) -> bool:
        """Return whether an uploaded archive has passed with that provenance (see `digest_of`) and the present keys."""
        demands = await self._cluster_demands()
        return all((digest, provenance_digest, each.keys.digest, each.providers) in self._signed for each in demands)

    async def check_uploaded(self, chart: PackedChart, *, namespace: str, provenance: bytes | None) -> None:
        """Refuse an uploaded chart that is not signed as the cluster demands.

        Raises:
            SignatureInvalid: naming the expected keys.
        """

        async def get_provenance(max_bytes: int) -> bytes | None:
            if provenance is not None and len(provenance) > max_bytes:
                raise BodyTooLarge
            return provenance

        for demand in await self._cluster_demands():
            evidence = digest_of(provenance)
            await self._check(demand, _Signed(chart.info, namespace, evidence, lambda: _read(chart), get_provenance))

    async def _cluster_demands(self) -> tuple[SignatureDemand, ...]:
        if self._cluster_keys is None:
            return ()
        return (SignatureDemand(await self._cluster_keys.get(), frozenset({PROVENANCE, COSIGN})),)

    async def _check(self, demand: SignatureDemand, signed: _Signed) -> None:
        key = (signed.info.digest, signed.evidence, demand.keys.digest, demand.providers)
        if key in self._signed:
            return
        problems: list[str] = []
        if COSIGN in demand.providers and signed.get_signatures is not None:
            problem = await self._cosign_problem(await signed.get_signatures(), demand.keys, signed.namespace)
            if problem is None:
                self._signed[key] = True
                return
            problems.append(problem)
        if PROVENANCE in demand.providers:
            problem = await self._provenance_problem(signed, demand.keys)
            if problem is None:
                self._signed[key] = True
                return
            problems.append(problem)
        expected = demand.keys.describe(openpgp=PROVENANCE in demand.providers, cosign=COSIGN in demand.providers)
        raise SignatureInvalid(
            f"the chart {signed.info.name} {signed.info.version} is not signed with a trusted key: "
            f"{'; '.join(problems)}. Trusted keys: {expected}. "
            "Sign the chart with one of them, or use a signed version."
        )

    async def _cosign_problem(self, found: RegistrySignatures, keys: TrustedKeys, namespace: str) -> str | None:
        if not keys.cosign:
            return "none of the trusted keys is a PEM key, which cosign signatures need"
        if not found.signatures:
            return f"the registry has no cosign signature of {found.manifest_digest}"
        if not await self._cosign.is_signed(found, keys, namespace=namespace):
            return f"no cosign signature of {found.manifest_digest} is made with a trusted key"
        return None

    async def _provenance_problem(self, signed: _Signed, keys: TrustedKeys) -> str | None:
        if not keys.openpgp_fingerprints:
            return "none of the trusted keys is an OpenPGP key, which provenance files need"
        try:
            provenance = await signed.get_provenance(PROVENANCE_MAX)
        except BodyTooLarge:
            return f"its provenance file has more than {format_bytes(PROVENANCE_MAX)}"
        if not provenance:
            return "it has no provenance file (.prov)"
        file_name = f"{signed.info.name}-{signed.info.version}.tgz"
        if len(file_name.encode()) > _FILE_NAME_MAX:
            return f"its name and version have more than {_FILE_NAME_MAX} characters"
        request = VerifyRequest(
            namespace=signed.namespace,
            file_name=file_name,
            archive=await signed.read_archive(),
            provenance=provenance,
            keyring=keys.openpgp,
        )
        try:
            found = await self._verifier.verify(request)
        except SignatureInvalid as error:
            return f"helm refuses its provenance file ({error.message})"
        return None if found.digest == signed.info.digest else "its provenance file is for another archive"


def digest_of(provenance: bytes | None) -> str:
    """Return the sha256 of a provenance file, in hex digits."""
    return hashlib.sha256(provenance or b"").hexdigest()


class _ClusterKeys:
    """The key files in a folder, read again when they may have changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cached: tuple[float, TrustedKeys] | None = None

    async def get(self) -> TrustedKeys:
        """Return the keys. Raises SignatureInvalid when there is none, or a file is not a key."""
        now = time.monotonic()
        if self._cached is None or now - self._cached[0] > KEYS_REREAD_SECONDS:
            self._cached = None
            self._cached = now, await asyncio.to_thread(self._read)
        return self._cached[1]

    def _read(self) -> TrustedKeys:
        files: dict[str, bytes] = {}
        try:
            # A mounted Secret has links to its entries, and hidden folders with the files.
            paths = [path for path in self._folder.iterdir() if not path.name.startswith(".") and path.is_file()]
            for path in paths:
                with path.open("rb") as file:
                    files[path.name] = file.read(KEY_FILE_MAX_BYTES)
        except OSError:
            files = {}
        return read_trusted_keys(files, origin=CLUSTER_KEYS)


def _check_identity(chart: ResolvedChart) -> None:
    """Refuse an archive that is signed, but as another chart or version than the repository says it is."""
    name, version = chart.info.name, chart.info.version
    same_version = version == chart.version or parse_version(version) == parse_version(chart.version)
    if name != chart.request.chart or not same_version:
        raise SignatureInvalid(
            f"the repository delivers the chart {quote_input(name)} {quote_input(version)} as "
            f"{quote_input(chart.request.chart)} {quote_input(chart.version)}, so a signature of it proves nothing. "
            "Push the right archive, or correct the index."
        )


async def _read(file: PackedChart) -> bytes:
    return await asyncio.to_thread(file.path.read_bytes)
