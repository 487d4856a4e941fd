"""Public keys that sign charts: OpenPGP keys (RFC 9580) for provenance files, PEM keys for cosign. Pure.

helm checks OpenPGP signatures. Here the key blocks are only split into packets, to name their fingerprints and to
refuse private keys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from xapp_operator.common.text import quote_input
from xapp_operator.errors import SignatureInvalid

KEYS_MAX: Final = 100
RSA_MAX_BITS: Final = 4096
RSA_EXPONENT_MAX_BITS: Final = 32
FINGERPRINTS_SHOWN: Final = 5

CosignKey: TypeAlias = EllipticCurvePublicKey | Ed25519PublicKey | RSAPublicKey

_PGP_PUBLIC: Final = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_PGP_PRIVATE: Final = b"-----BEGIN PGP PRIVATE KEY BLOCK-----"
_PEM_PUBLIC: Final = b"-----BEGIN PUBLIC KEY-----"
_PEM_PRIVATE: Final = re.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_PGP_BLOCK: Final = re.compile(
    rb"-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(?P<headers>(?:[!-9;-~]{1,100}: [^\r\n]{0,1000}\r?\n){0,20})"
    rb"[ \t]{0,20}\r?\n(?P<body>[A-Za-z0-9+/=\r\n]*?)(?:=[A-Za-z0-9+/]{4}\r?\n)?-----END PGP PUBLIC KEY BLOCK-----"
)
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]{1,8000}-----END PUBLIC KEY-----")
_CURVES: Final = frozenset({"secp256r1", "secp384r1", "secp521r1"})
_KEYBOX_MAGIC: Final = b"KBXf"
_PUBLIC_KEY, _PRIVATE_PACKETS = 6, frozenset({5, 7})
_V4, _V5, _V6 = 4, 5, 6
_PACKET_BIT, _NEW_FORMAT_BIT = 0x80, 0x40
_ONE_OCTET_MAX, _TWO_OCTETS_MAX, _FIVE_OCTETS = 191, 223, 255


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """Keys of one origin; `origin` names it in messages, as in `the Secret keys`.

    `openpgp` is a binary keyring; `cosign` are keys with their fingerprints.
    """

    origin: str
    openpgp: bytes = field(repr=False)
    openpgp_fingerprints: tuple[str, ...]
    cosign: tuple[tuple[str, CosignKey], ...] = field(compare=False, repr=False)
    digest: str
    """Identifies the set of keys."""

    def describe(self, *, openpgp: bool = True, cosign: bool = True) -> str:
        """Return the fingerprints of the keys of these kinds, and where they are."""
        prints = [*(self.openpgp_fingerprints if openpgp else ()), *(name for name, _ in self.cosign if cosign)]
        more = f" and {len(prints) - FINGERPRINTS_SHOWN} more" if len(prints) > FINGERPRINTS_SHOWN else ""
        return f"{', '.join(prints[:FINGERPRINTS_SHOWN]) or 'none'}{more} ({self.origin})"


@dataclass(frozen=True, slots=True)
class SignatureDemand:
    """An archive must be signed with one of the keys, in one of the ways `provenance` and `cosign`."""

    keys: TrustedKeys
    providers: frozenset[str]


def read_trusted_keys(files: Mapping[str, bytes], *, origin: str) -> TrustedKeys:
    """Return the keys in `files`, name → content: OpenPGP keys, binary or armored, and PEM public keys.

    Raises:
        SignatureInvalid: naming a file that is no public key, or when there is none.
    """
    keyring, prints, cosign = bytearray(), list[str](), list[tuple[str, CosignKey]]()
    for name, content in sorted(files.items()):
        where = f"{quote_input(name)} in {origin}"
        if _PGP_PRIVATE in content or _PEM_PRIVATE.search(content):
            raise _not_a_key(where, "is a private key: keep it secret, and put the public key here")
        if _PEM_PUBLIC in content:
            cosign += [_read_pem(block.group(), where) for block in _PEM_BLOCK.finditer(content)]
        else:
            packets = _dearmor(content, where) if _PGP_PUBLIC in content else content
            prints += _fingerprints(packets, where)
            keyring += packets
    if not prints and not cosign:
        raise _not_a_key(origin, "has no key: add the public key of whoever signs the charts")
    if len(prints) + len(cosign) > KEYS_MAX:
        raise _not_a_key(origin, f"has more than {KEYS_MAX} keys: remove those that are not used")
    identity = hashlib.sha256(b"\0".join((bytes(keyring), *sorted(name.encode() for name, _ in cosign)))).hexdigest()
    return TrustedKeys(origin, bytes(keyring), tuple(prints), tuple(cosign), identity)


def _read_pem(block: bytes, where: str) -> tuple[str, CosignKey]:
    try:
        key = load_pem_public_key(block)
    except (ValueError, UnsupportedAlgorithm):
        raise _not_a_key(where, "is not a PEM public key: write it again, as 'cosign public-key' prints it") from None
    if not isinstance(key, EllipticCurvePublicKey | Ed25519PublicKey | RSAPublicKey):
        raise _not_a_key(where, "is a key of another kind: use an ECDSA, Ed25519 or RSA key")
    _check_cost(key, where)
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}", key


def _check_cost(key: CosignKey, where: str) -> None:
    """Refuse a key that makes verifying slow: anybody may bring one, and others wait meanwhile."""
    if isinstance(key, EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        raise _not_a_key(where, f"is a key of the elliptic curve {key.curve.name}: use P-256, P-384 or P-521")
    if not isinstance(key, RSAPublicKey):
        return
    if key.key_size > RSA_MAX_BITS:
        raise _not_a_key(where, f"is an RSA key of {key.key_size:,} bits: use one of at most {RSA_MAX_BITS:,} bits")
    if key.public_numbers().e.bit_length() > RSA_EXPONENT_MAX_BITS:
        raise _not_a_key(
            where,
            f"is an RSA key with a public exponent of more than {RSA_EXPONENT_MAX_BITS} bits: use one with the usual "
            "exponent 65537",
        )


def _dearmor(content: bytes, where: str) -> bytes:
    try:
        blocks = [
            base64.b64decode(b"".join(block["body"].split()), validate=True) for block in _PGP_BLOCK.finditer(content)
        ]
    except binascii.Error:
        blocks = []
    if not blocks or len(blocks) != content.count(_PGP_PUBLIC):
        raise _not_a_key(where, "is a damaged OpenPGP key block: export it again with 'gpg --armor --export'")
    return b"".join(blocks)


def _fingerprints(keyring: bytes, where: str) -> Iterator[str]:
    if keyring[8:12] == _KEYBOX_MAGIC:
        raise _not_a_key(where, "is a keybox, which helm cannot read: export the keys with 'gpg --export'")
    found = False
    for tag, body in _packets(keyring, where):
        if tag in _PRIVATE_PACKETS:
            raise _not_a_key(where, "has a private key: keep it secret, and export the public one with 'gpg --export'")
        if tag == _PUBLIC_KEY:
            found = True
            yield _fingerprint(body, where)
    if not found:
        raise _no_openpgp_key(where)


def _fingerprint(body: bytes, where: str) -> str:
    """Return the fingerprint of a key packet (RFC 9580, section 5.5.4)."""
    version = body[0] if body else 0
    if version == _V4:
        return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False).hexdigest().upper()
    if version in (_V5, _V6):
        prefix = bytes([0x95 + version]) + len(body).to_bytes(4, "big")
        return hashlib.sha256(prefix + body).hexdigest().upper()
    raise _not_a_key(where, f"has an OpenPGP key of version {version}: use a key of version 4 or 6")


def _packets(data: bytes, where: str) -> Iterator[tuple[int, bytes]]:
    """Yield tag and body of each packet (RFC 9580, section 4.2); keys have no partial lengths."""
    at = 0
    while at < len(data):
        header, at = data[at], at + 1
        if not header & _PACKET_BIT:
            raise _no_openpgp_key(where)
        if header & _NEW_FORMAT_BIT:
            tag = header & 0x3F
            first = data[at] if at < len(data) else _FIVE_OCTETS
            if first <= _ONE_OCTET_MAX:
                size, at = first, at + 1
            elif first <= _TWO_OCTETS_MAX:
                size, at = ((first - 192) << 8) + int.from_bytes(data[at + 1 : at + 2], "big") + 192, at + 2
            elif first == _FIVE_OCTETS:
                size, at = int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
            else:
                raise _no_openpgp_key(where)
        else:
            tag, octets = header >> 2 & 0x0F, 1 << (header & 3)
            size, at = int.from_bytes(data[at : at + octets], "big"), at + octets
        if at + size > len(data):
            raise _no_openpgp_key(where)
        yield tag, data[at : at + size]
        at += size


def _no_openpgp_key(where: str) -> SignatureInvalid:
    return _not_a_key(where, "is neither an OpenPGP public key ('gpg --export') nor a PEM public key")


def _not_a_key(where: str, problem: str) -> SignatureInvalid:
    return SignatureInvalid(f"signatures cannot be checked: {where} {problem}")
