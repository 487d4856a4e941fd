"""Keys and certificates of one cluster, signed by an authority that exists only as long as the cluster.

The keys are elliptic, because creating one takes a fraction of a millisecond.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two PEM files: a private key (0600) and its certificate."""

    key: Path
    certificate: Path


class Authority:
    """A certificate authority, with its files and those of the certificates it signed in one folder."""

    def __init__(self, folder: Path, *, addresses: Sequence[str] = ()) -> None:
        """Create it. Its certificates are valid for ``addresses`` and for loopback."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._addresses = [ipaddress.ip_address(address) for address in ("127.0.0.1", *addresses)]
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("xapp-operator local cluster")
        builder = _builder(subject=self._name, issuer=self._name, public_key=self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self._write_certificate(builder, folder / "ca.crt")

    def issue(self, file_name: str, *, common_name: str, organization: str | None = None) -> KeyPair:
        """Create a pair that can serve and identifies a client.

        Kubernetes reads the user from ``common_name`` and the group from ``organization``.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject=_name(common_name, organization), issuer=self._name, public_key=key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(
                x509.SubjectAlternativeName(
                    [
                        *(x509.IPAddress(address) for address in self._addresses),
                        x509.DNSName("localhost"),
                        x509.DNSName("kubernetes.default.svc"),
                    ]
                ),
                critical=False,
            )
        )
        pair = KeyPair(self._folder / f"{file_name}.key", self._folder / f"{file_name}.crt")
        write_key(key, pair.key)
        self._write_certificate(builder, pair.certificate)
        return pair

    def _write_certificate(self, builder: x509.CertificateBuilder, path: Path) -> None:
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def service_account_key(folder: Path) -> KeyPair:
    """Create the pair that signs service account tokens; its second file is the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = KeyPair(folder / "service-account.key", folder / "service-account.pub")
    write_key(key, pair.key)
    pair.certificate.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return pair


def write_key(key: ec.EllipticCurvePrivateKey, path: Path) -> None:
    """Write a private key to a file that only its owner can read."""
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )


def _name(common_name: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _builder(
    *, subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
    )
