"""Signs charts as their authors do: provenance files with gpg, and cosign signatures with a key."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SECONDS: Final = 60.0
PROCESS_ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
PAST: Final = "20200101T000000"

CosignPrivateKey: TypeAlias = EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey


class GnuPG:
    """A keyring of its own for gpg; a context manager removes it and stops gpg's agent."""

    def __enter__(self) -> Self:
        if shutil.which("gpg") is None:
            pytest.skip("gpg is not installed (Debian: gnupg)")
        # Not below pytest's folder: the path of the agent's socket may have at most 107 bytes.
        self._home = Path(tempfile.mkdtemp(prefix="gnupg-"))
        self._home.chmod(0o700)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["gpgconf", "--homedir", self._home, "--kill", "all"], check=False, timeout=SECONDS)
        shutil.rmtree(self._home, ignore_errors=True)

    def create_key(self, name: str, *, algorithm: str = "rsa2048", expired: bool = False) -> None:
        """Create the key of `<name@example.com>`; an expired one was valid for a day, long ago."""
        when = ("--faked-system-time", PAST) if expired else ()
        lifetime = "1d" if expired else "never"
        self._gpg(*when, "--quick-gen-key", f"<{name}@example.com>", algorithm, "sign", lifetime)

    def revoke_key(self, name: str) -> None:
        """Publish the revocation certificate that gpg made with the key."""
        path = self._home / "openpgp-revocs.d" / f"{self.fingerprint(name)}.rev"
        self._gpg("--import", data=path.read_text().replace(":-----BEGIN", "-----BEGIN").encode())

    def fingerprint(self, name: str) -> str:
        listed = self._gpg("--list-keys", "--with-colons", f"{name}@example.com").decode()
        return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))

    def public_key(self, *names: str, armored: bool = False) -> bytes:
        """Return the public keys as `gpg --export` writes them."""
        return self._gpg(*(["--armor"] if armored else []), "--export", *(f"{name}@example.com" for name in names))

    def private_key(self, name: str, *, armored: bool = False) -> bytes:
        return self._gpg(*(["--armor"] if armored else []), "--export-secret-keys", f"{name}@example.com")

    def provenance(
        self, archive: bytes, *, key: str, name: str = "hello", version: str = "0.1.0", expired: bool = False
    ) -> bytes:
        """Return the provenance file of an archive, as `helm package --sign` writes it."""
        metadata = yaml.safe_dump({"apiVersion": "v2", "name": name, "version": version})
        digest = hashlib.sha256(archive).hexdigest()
        body = f"{metadata}\n...\nfiles:\n  {name}-{version}.tgz: sha256:{digest}\n".encode()
        when = ("--faked-system-time", PAST, "--ignore-time-conflict") if expired else ()
        return self._gpg(*when, "--local-user", f"{key}@example.com", "--clearsign", data=body)

    def _gpg(self, *arguments: str, data: bytes = b"") -> bytes:
        base = ("gpg", "--homedir", str(self._home), "--batch", "--quiet", "--yes", "--pinentry-mode", "loopback")
        done = subprocess.run(
            [*base, "--passphrase", "", *arguments],
            input=data,
            capture_output=True,
            env=PROCESS_ENVIRONMENT,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout


def cosign_key(algorithm: str = "ecdsa") -> CosignPrivateKey:
    """Return a new key: ecdsa (P-256, cosign's default), ed25519 or rsa."""
    if algorithm == "ed25519":
        return Ed25519PrivateKey.generate()
    if algorithm == "rsa":
        return generate_rsa_key(public_exponent=65537, key_size=2048)
    return generate_private_key(SECP256R1())


def public_pem(key: CosignPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def pem_fingerprint(key: CosignPrivateKey) -> str:
    encoded = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def cosign_payload(manifest_digest: str, **critical: Any) -> bytes:
    """Return what cosign signs."""
    content = {
        "identity": {"docker-reference": "localhost/acme/hello"},
        "image": {"docker-manifest-digest": manifest_digest},
        "type": "cosign container image signature",
        **critical,
    }
    return json.dumps({"critical": content, "optional": None}).encode()


def cosign_signature(key: CosignPrivateKey, payload: bytes) -> str:
    """Return the signature of a payload as the annotation has it."""
    if isinstance(key, EllipticCurvePrivateKey):
        signature = key.sign(payload, ECDSA(SHA256()))
    elif isinstance(key, Ed25519PrivateKey):
        signature = key.sign(payload)
    else:
        signature = key.sign(payload, PKCS1v15(), SHA256())
    return base64.b64encode(signature).decode()
