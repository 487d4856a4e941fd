"""Tokens that end within seconds. The API server issues none below 600 seconds, but accepts those of its own key."""

from __future__ import annotations

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.localcluster import Cluster
from tests.localcluster.layout import ClusterLayout

_COORDINATE_BYTES = 32
"""Of the curve P-256 (RFC 7518, 3.4)."""


def shorten(cluster: Cluster, token: str, *, seconds: int) -> str:
    """Return a service account's token with another end, signed again by the cluster's own key."""
    file = ClusterLayout(cluster.kubeconfig.parent).service_account_key
    if not file.exists():
        pytest.skip("needs the key with which the cluster signs tokens: CLUSTER=local")
    key = load_pem_private_key(file.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    head, claims, _ = token.split(".")
    changed = {**json.loads(_decode(claims)), "exp": int(time.time()) + seconds}
    signed = f"{head}.{_encode(json.dumps(changed).encode())}"
    numbers = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_encode(b''.join(each.to_bytes(_COORDINATE_BYTES) for each in numbers))}"


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
