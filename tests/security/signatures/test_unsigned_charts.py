"""A chart is used only if a trusted key signed these bytes, under this name and version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from tests.support.chart_server import ChartServer
from tests.support.chart_signing import (
    CosignPrivateKey,
    GnuPG,
    cosign_key,
    cosign_payload,
    cosign_signature,
    pem_fingerprint,
    public_pem,
)
from tests.support.charts import chart_archive
from tests.support.oci_registry import LocalRegistry
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources, ResolvedChart
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.signatures.trusted_keys import SignatureDemand, read_trusted_keys
from xapp_operator.config.settings import Settings
from xapp_operator.errors import SignatureInvalid
from xapp_operator.helm.engine import HelmEngine

pytestmark = pytest.mark.integration

ARCHIVE: Final = chart_archive()
OTHER: Final = chart_archive({"values.yaml": "greeting: bye\n"})
PROVENANCE: Final = frozenset({"provenance"})
COSIGN: Final = frozenset({"cosign"})


@dataclass(frozen=True, slots=True)
class Kit:
    """A checker, and what it needs."""

    settings: Settings
    sources: ChartSources
    engine: HelmEngine

    def checker(self, **keys: bytes) -> SignatureChecker:
        """Return a checker; with `keys`, signatures of the cluster's keys are required."""
        for name, content in keys.items():
            (self.settings.signature_keys / name).write_bytes(content)
        settings = self.settings.model_copy(update={"require_signatures": bool(keys)})
        return SignatureChecker(settings, charts=self.sources, verifier=self.engine)

    async def resolve(self, url: str, demand: SignatureDemand | None, *, version: str = "0.1.0") -> ResolvedChart:
        repository = Repository(url=url, signature=demand)
        return await self.sources.resolve(ChartRequest(repository=repository, chart="hello", version=version))


@pytest.fixture
def kit(settings: Settings, sources: ChartSources, engine: HelmEngine) -> Kit:
    return Kit(settings, sources, engine)


def demand(providers: frozenset[str], **files: bytes) -> SignatureDemand:
    return SignatureDemand(read_trusted_keys(files, origin="Secret keys"), providers)


Provenance = Callable[[GnuPG], bytes | None]
FORGED: Final[dict[str, tuple[Provenance, str]]] = {
    "none": (lambda _: None, "has no provenance file"),
    "empty": (lambda _: b"", "has no provenance file"),
    "garbage": (lambda _: b"\0" * 100, "signature block not found"),
    "too large": (lambda _: b"x" * 300_000, "more than 262,144 bytes"),
    "by a stranger": (lambda gpg: gpg.provenance(ARCHIVE, key="stranger"), "unknown entity"),
    "by an expired key": (lambda gpg: gpg.provenance(ARCHIVE, key="expired", expired=True), "expired"),
    "by a revoked key": (lambda gpg: gpg.provenance(ARCHIVE, key="revoked"), "revoked"),
    "of another archive": (lambda gpg: gpg.provenance(OTHER, key="author"), "sha256 sum does not match"),
    "of another version": (lambda gpg: gpg.provenance(ARCHIVE, key="author", version="0.2.0"), "helm refuses"),
    "of another chart": (lambda gpg: gpg.provenance(ARCHIVE, key="author", name="other"), "helm refuses"),
    "changed": (lambda gpg: gpg.provenance(OTHER, key="author").replace(b"hello", b"hallo"), "helm refuses"),
    "unsigned text": (
        lambda gpg: b"files:\n  hello-0.1.0.tgz: sha256:0\n" + gpg.provenance(OTHER, key="author"),
        "helm refuses",
    ),
}


@pytest.mark.parametrize("case", FORGED)
async def test_a_chart_without_a_valid_provenance_is_refused(
    kit: Kit, server: ChartServer, gpg: GnuPG, case: str
) -> None:
    provenance, word = FORGED[case]
    if case == "by a revoked key":
        signed = provenance(gpg)
        gpg.revoke_key("revoked")
    else:
        signed = provenance(gpg)
    server.add("hello", "0.1.0", ARCHIVE)
    if signed is not None:
        server.files["/hello-0.1.0.tgz.prov"] = signed
    trusted = demand(PROVENANCE, keys=gpg.public_key("author", "expired", "revoked"))
    chart = await kit.resolve(server.url, trusted)
    with pytest.raises(SignatureInvalid) as refused:
        await kit.checker().check_remote(chart)
    assert word in refused.value.message
    assert gpg.fingerprint("author") in refused.value.message
    assert "Secret keys" in refused.value.message
    assert (refused.value.permanent, refused.value.reason) == (True, "ChartInvalid")


@pytest.mark.parametrize("armored", [False, True])
@pytest.mark.parametrize("key", ["author", "second"])
async def test_a_chart_signed_by_gpg_passes(kit: Kit, server: ChartServer, gpg: GnuPG, key: str, armored: bool) -> None:
    server.add("hello", "0.1.0", ARCHIVE)
    server.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key=key)
    keys = {name: gpg.public_key(name, armored=armored) for name in ("author", "second")}
    checker = kit.checker()
    for _ in range(2):
        await checker.check_remote(await kit.resolve(server.url, demand(PROVENANCE, **keys)))
    assert server.requests["/hello-0.1.0.tgz.prov"] == 1


async def test_a_signed_archive_under_another_version_is_refused(kit: Kit, server: ChartServer, gpg: GnuPG) -> None:
    server.add("hello", "9.0.0", ARCHIVE)  # an old archive, offered as the newest one
    server.files["/hello-9.0.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="author")
    trusted = demand(PROVENANCE, keys=gpg.public_key("author"))
    chart = await kit.resolve(server.url, trusted, version=">=0")
    with pytest.raises(SignatureInvalid, match=r'"0\.1\.0" as "hello" "9\.0\.0"'):
        await kit.checker().check_remote(chart)


async def test_a_cached_archive_is_checked_too(kit: Kit, server: ChartServer, gpg: GnuPG) -> None:
    server.add("hello", "0.1.0", ARCHIVE)
    unchecked = await kit.resolve(server.url, None)
    await kit.checker().check_remote(unchecked)
    await kit.sources.fetch(unchecked)
    with pytest.raises(SignatureInvalid):
        await kit.checker().check_remote(
            await kit.resolve(server.url, demand(PROVENANCE, keys=gpg.public_key("author")))
        )


async def test_what_passed_with_other_keys_is_checked_again(kit: Kit, server: ChartServer, gpg: GnuPG) -> None:
    server.add("hello", "0.1.0", ARCHIVE)
    server.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="author")
    checker = kit.checker()
    await checker.check_remote(await kit.resolve(server.url, demand(PROVENANCE, keys=gpg.public_key("author"))))
    with pytest.raises(SignatureInvalid):
        await checker.check_remote(await kit.resolve(server.url, demand(PROVENANCE, keys=gpg.public_key("second"))))


async def test_a_tenants_own_key_does_not_meet_the_demand_of_the_cluster(
    kit: Kit, server: ChartServer, gpg: GnuPG
) -> None:
    server.add("hello", "0.1.0", ARCHIVE)
    server.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="stranger")
    own = demand(PROVENANCE, keys=gpg.public_key("stranger"))
    await kit.checker().check_remote(await kit.resolve(server.url, own))
    checker = kit.checker(cluster=gpg.public_key("author"))
    for mine in (own, None):
        with pytest.raises(SignatureInvalid, match="keys of this cluster"):
            await checker.check_remote(await kit.resolve(server.url, mine))
    server.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="author")
    await checker.check_remote(await kit.resolve(server.url, None))


async def test_without_keys_of_the_cluster_no_chart_passes(kit: Kit, server: ChartServer, gpg: GnuPG) -> None:
    server.add("hello", "0.1.0", ARCHIVE)
    server.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="author")
    checker = kit.checker(cluster=gpg.public_key("author"))
    (kit.settings.signature_keys / "cluster").unlink()
    with pytest.raises(SignatureInvalid, match="has no key"):
        await checker.check_remote(await kit.resolve(server.url, None))


def cosign_demand(*keys: CosignPrivateKey) -> SignatureDemand:
    return demand(COSIGN, **{f"key{index}": public_pem(key) for index, key in enumerate(keys)})


@pytest.mark.parametrize("algorithm", ["ecdsa", "ed25519", "rsa"])
async def test_a_chart_with_a_cosign_signature_passes(kit: Kit, registry: LocalRegistry, algorithm: str) -> None:
    key = cosign_key(algorithm)
    registry.push("acme/hello", "0.1.0", ARCHIVE)
    manifest = registry.manifest_digests["acme/hello", "0.1.0"]
    payload = cosign_payload(manifest)
    registry.push_signatures("acme/hello", manifest, [(payload, cosign_signature(key, payload))])
    chart = await kit.resolve(f"{registry.url}/acme", cosign_demand(cosign_key(), key))
    await kit.checker().check_remote(chart)


TRUSTED: Final = cosign_key()
STRANGER: Final = cosign_key()
FOREIGN_DIGEST: Final = f"sha256:{'0' * 64}"


def signed(key: CosignPrivateKey, payload: bytes) -> tuple[bytes, str]:
    return payload, cosign_signature(key, payload)


FORGED_COSIGN: Final[dict[str, Callable[[str], list[tuple[bytes, str]] | None]]] = {
    "none": lambda _: None,
    "no layers": lambda _: [],
    "by a stranger": lambda digest: [signed(STRANGER, cosign_payload(digest))],
    "of another manifest": lambda _: [signed(TRUSTED, cosign_payload(FOREIGN_DIGEST))],
    "of another payload": lambda digest: [
        (cosign_payload(digest), cosign_signature(TRUSTED, cosign_payload(FOREIGN_DIGEST)))
    ],
    "not base64": lambda digest: [(cosign_payload(digest), "%%%")],
    "of another type": lambda digest: [signed(TRUSTED, cosign_payload(digest, type="attestation"))],
    "no JSON": lambda digest: [signed(TRUSTED, digest.encode())],
    "deep JSON": lambda _: [signed(TRUSTED, b"[" * 60_000)],
    "too many": lambda digest: [
        *(signed(STRANGER, cosign_payload(digest, nonce=n)) for n in range(20)),
        signed(TRUSTED, cosign_payload(digest)),
    ],
}


@pytest.mark.parametrize("case", FORGED_COSIGN)
async def test_a_chart_without_a_valid_cosign_signature_is_refused(
    kit: Kit, registry: LocalRegistry, case: str
) -> None:
    registry.push("acme/hello", "0.1.0", ARCHIVE)
    manifest = registry.manifest_digests["acme/hello", "0.1.0"]
    signatures = FORGED_COSIGN[case](manifest)
    if signatures is not None:
        registry.push_signatures("acme/hello", manifest, signatures)
    chart = await kit.resolve(f"{registry.url}/acme", cosign_demand(TRUSTED))
    with pytest.raises(SignatureInvalid) as refused:
        await kit.checker().check_remote(chart)
    assert pem_fingerprint(TRUSTED) in refused.value.message


async def test_a_registry_may_have_either_signature_for_the_cluster(
    kit: Kit, registry: LocalRegistry, gpg: GnuPG
) -> None:
    checker = kit.checker(cluster=gpg.public_key("author"), cosign=public_pem(TRUSTED))
    registry.push("acme/hello", "0.1.0", ARCHIVE)
    with pytest.raises(SignatureInvalid):
        await checker.check_remote(await kit.resolve(f"{registry.url}/acme", None))
    registry.push("other/hello", "0.1.0", ARCHIVE, provenance=gpg.provenance(ARCHIVE, key="author"))
    await checker.check_remote(await kit.resolve(f"{registry.url}/other", None))
    registry.push("third/hello", "0.1.0", OTHER)
    manifest = registry.manifest_digests["third/hello", "0.1.0"]
    registry.push_signatures("third/hello", manifest, [signed(TRUSTED, cosign_payload(manifest))])
    await checker.check_remote(await kit.resolve(f"{registry.url}/third", None))
