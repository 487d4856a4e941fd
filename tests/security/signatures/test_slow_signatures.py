"""Threat: a tenant brings keys and signatures that take long to verify, and the lease of the operator is lost."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, SECP521R1, BrainpoolP512R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec_key
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.chart_signing import cosign_payload, cosign_signature, public_pem
from tests.support.charts import chart_archive
from tests.support.event_loop import LoopWork
from tests.unit.charts.http_site import Reply
from tests.unit.charts.sources.test_oci_registry import Registry
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.cosign import PAYLOAD_TYPE, SIGNATURE_ANNOTATION, CosignSignature
from xapp_operator.charts.signatures.cosign_verifier import CosignVerifier
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.signatures.trusted_keys import KEYS_MAX, SignatureDemand, TrustedKeys, read_trusted_keys
from xapp_operator.charts.sources.chart_source import RegistrySignatures
from xapp_operator.config.settings import Settings
from xapp_operator.errors import SignatureInvalid
from xapp_operator.helm.engine import HelmEngine

SLACK_SECONDS: Final = 0.1
MANIFEST: Final = f"sha256:{'0' * 64}"


def slow_key() -> EllipticCurvePrivateKey:
    """Return a key of the kind whose signatures take longest to verify."""
    return generate_ec_key(SECP521R1())


def slow_keys() -> TrustedKeys:
    return read_trusted_keys({"keys": b"".join(public_pem(slow_key()) for _ in range(KEYS_MAX))}, origin="here")


def signatures(count: int, *, key: EllipticCurvePrivateKey) -> RegistrySignatures:
    payloads = [cosign_payload(MANIFEST, nonce=number) for number in range(count)]
    signed = [CosignSignature(payload, cosign_signature(key, payload)) for payload in payloads]
    return RegistrySignatures(MANIFEST, tuple(signed))


def rsa_key(bits: int, *, exponent_bits: int) -> bytes:
    modulus, exponent = ((1 << size - 1) | secrets.randbits(size - 1) | 1 for size in (bits, exponent_bits))
    return (
        RSAPublicNumbers(exponent, modulus).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )


@pytest.mark.parametrize(
    ("content", "rule", "mend"),
    [
        (rsa_key(4097, exponent_bits=17), "RSA key of 4,097 bits", "at most 4,096 bits"),
        (rsa_key(2048, exponent_bits=33), "public exponent of more than 32 bits", "exponent 65537"),
        (rsa_key(3072, exponent_bits=3070), "public exponent of more than 32 bits", "exponent 65537"),
        (public_pem(generate_ec_key(BrainpoolP512R1())), "curve brainpoolP512r1", "P-256, P-384 or P-521"),
        (public_pem(generate_ec_key(SECP256K1())), "curve secp256k1", "P-256, P-384 or P-521"),
    ],
)
def test_a_key_that_makes_verifying_slow_is_refused(content: bytes, rule: str, mend: str) -> None:
    with pytest.raises(SignatureInvalid) as refused:
        read_trusted_keys({"a.pub": content}, origin="Secret keys")
    for part in ('"a.pub" in Secret keys', rule, mend):
        assert part in refused.value.message


def test_the_largest_keys_are_accepted() -> None:
    keys = read_trusted_keys({"rsa": rsa_key(4096, exponent_bits=32), "ec": public_pem(slow_key())}, origin="here")
    assert len(keys.cosign) == 2


def publish(registry: Registry, name: str, found: RegistrySignatures) -> None:
    """Serve a chart with these signatures."""
    registry.push(f"acme/{name}", "0.1.0", chart_archive(name=name))
    chart = registry.routes[f"/v2/acme/{name}/manifests/0.1.0"]
    assert isinstance(chart, Reply)
    layers = []
    for each in found.signatures:
        digest = f"sha256:{hashlib.sha256(each.payload).hexdigest()}"
        registry.routes[f"/v2/acme/{name}/blobs/{digest}"] = Reply(each.payload)
        annotations = {SIGNATURE_ANNOTATION: each.signature}
        layers.append({"mediaType": PAYLOAD_TYPE, "digest": digest, "annotations": annotations})
    registry.manifest(f"acme/{name}", f"sha256-{hashlib.sha256(chart.body).hexdigest()}.sig", {"layers": layers})


async def test_many_slow_signatures_do_not_stall_the_loop(tmp_path: Path) -> None:
    settings = Settings(helm="true", cache_dir=tmp_path, allow_loopback_repositories=True)
    engine, keys, stranger = HelmEngine(settings), slow_keys(), slow_key()
    spent = []
    async with Registry() as registry, ChartSources(settings) as sources:
        checker = SignatureChecker(settings, charts=sources, verifier=engine)
        for name, count in (("few", 0), ("many", 8)):
            publish(registry, name, signatures(count, key=stranger))
            request = registry.request(name)
            repository = replace(request.repository, signature=SignatureDemand(keys, frozenset({"cosign"})))
            chart = await sources.resolve(replace(request, repository=repository))
            with LoopWork() as work, pytest.raises(SignatureInvalid, match="no cosign signature"):
                await checker.check_remote(chart)
            spent.append(work.longest_seconds)
    engine.close()
    assert spent[1] < spent[0] + SLACK_SECONDS


async def test_refused_signatures_are_not_verified_again() -> None:
    verifier, keys, stranger = CosignVerifier(), slow_keys(), slow_key()
    found = signatures(4, key=stranger)
    spent = []
    for _ in range(2):
        before = time.process_time()
        assert not await verifier.is_signed(found, keys, namespace="noisy")
        spent.append(time.process_time() - before)
    assert spent[1] < spent[0] / 4

    trusted = read_trusted_keys({"key": public_pem(stranger)}, origin="here")
    assert await verifier.is_signed(found, trusted, namespace="noisy")


async def test_a_signature_that_was_added_is_seen() -> None:
    verifier, key = CosignVerifier(), slow_key()
    trusted = read_trusted_keys({"key": public_pem(key)}, origin="here")
    refused, added = signatures(1, key=slow_key()), signatures(1, key=key)
    assert not await verifier.is_signed(refused, trusted, namespace="quiet")
    both = RegistrySignatures(MANIFEST, refused.signatures + added.signatures)
    assert await verifier.is_signed(both, trusted, namespace="quiet")


async def test_slow_signatures_of_one_namespace_do_not_delay_another() -> None:
    verifier, keys = CosignVerifier(), slow_keys()
    slow = [signatures(2, key=slow_key()) for _ in range(8)]
    key = slow_key()
    trusted, good = read_trusted_keys({"key": public_pem(key)}, origin="here"), signatures(1, key=key)
    noisy = [asyncio.create_task(verifier.is_signed(found, keys, namespace="noisy")) for found in slow]
    quiet = asyncio.create_task(verifier.is_signed(good, trusted, namespace="quiet"))
    assert await quiet
    assert sum(task.done() for task in noisy) < len(noisy) / 2
    assert not any(await asyncio.gather(*noisy))
