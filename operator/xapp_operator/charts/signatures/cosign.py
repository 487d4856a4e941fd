"""Signatures that cosign stores in a registry, made with a key (not keyless). Pure.

The signature of a manifest with digest `sha256:<hex>` is an image with the tag `sha256-<hex>.sig`. Each of its layers
is a payload in JSON that names the digest, and an annotation has the signature of the payload. See "Simple Signing" in
https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.charts.signatures.trusted_keys import CosignKey

PAYLOAD_TYPE: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_ANNOTATION: Final = "dev.cosignproject.cosign/signature"
SIGNATURES_MAX: Final = 20
PAYLOAD_MAX_BYTES: Final = 64 * 1024
_TYPES: Final = frozenset({"cosign container image signature", "atomic container signature"})


@dataclass(frozen=True, slots=True)
class CosignSignature:
    """A payload and its signature, as the registry returned them."""

    payload: bytes = field(repr=False)
    signature: str


def signature_tag(manifest_digest: str) -> str:
    """Return the tag of the signatures of a manifest; `manifest_digest` is `sha256:<hex>`."""
    return manifest_digest.replace(":", "-") + ".sig"


def find_signer(
    signatures: Iterable[CosignSignature], *, manifest_digest: str, keys: Iterable[tuple[str, CosignKey]]
) -> str | None:
    """Return the fingerprint of the first key that signed the manifest, or None."""
    known = tuple(keys)
    for each in signatures:
        signer = next((name for name, key in known if _is_signed(each, key)), None)
        if signer is not None and _signed_digest(each.payload) == manifest_digest:
            return signer
    return None


def _is_signed(signed: CosignSignature, key: CosignKey) -> bool:
    try:
        signature = base64.b64decode(signed.signature, validate=True)
        if isinstance(key, EllipticCurvePublicKey):
            key.verify(signature, signed.payload, ECDSA(SHA256()))
        elif isinstance(key, Ed25519PublicKey):
            key.verify(signature, signed.payload)
        else:
            key.verify(signature, signed.payload, PKCS1v15(), SHA256())
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def _signed_digest(payload: bytes) -> str | None:
    try:
        decoded: Json = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    critical: JsonObject = obj(decoded, "critical") if isinstance(decoded, dict) else {}
    if text(critical, "type") not in _TYPES:
        return None
    return text(obj(critical, "image"), "docker-manifest-digest") or None
