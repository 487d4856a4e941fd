"""TLS of the gateway: the certificate and its key, read again when the files change.

Kubernetes replaces the files of a Secret by swapping a symbolic link, so the content is compared, not the path. A pair
that cannot be used is logged, and the last usable one stays in force.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509

from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

RELOAD_SECONDS: Final = 10.0
PEM_MAX_BYTES: Final = 256 * 1024
_ALPN: Final = ["http/1.1"]

_log = get_logger(__name__)


class CertificateUnusable(XAppError):
    """The files of XAPP_TLS_CERT and XAPP_TLS_KEY."""

    title = "Certificate not usable"


class _Pair(NamedTuple):
    certificate: bytes
    key: bytes


class TlsCertificate:
    """A TLS context whose certificate follows the files. New connections use the new one."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files.

        Raises:
            CertificateUnusable: when they cannot be read, or do not belong together.
        """
        self._certificate = certificate
        self._key = key
        self._loaded = self._read()
        self._in_force = _make_context(self._loaded)
        self.context = _make_context(self._loaded)
        # A context that is in use takes certificate and key one after the other: a handshake in between would fail.
        self.context.sni_callback = self._use_certificate_in_force
        _record_expiry(self._loaded)
        self._refused: _Pair | str | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> TlsCertificate | None:
        """Return the certificate of the settings, or None for plain HTTP. Raises as the constructor does."""
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return cls(settings.tls_cert, settings.tls_key)

    async def follow_files(self) -> None:
        """Load the files whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            await asyncio.to_thread(self.reload)

    def reload(self) -> None:
        """Load the files if they have changed; on an error, log it once and keep what is loaded."""
        pair: _Pair | None = None
        try:
            pair = self._read()
            if pair in (self._loaded, self._refused):
                return
            self._in_force = _make_context(pair)
        except CertificateUnusable as error:
            refused = pair or error.message
            if refused != self._refused:
                _log.error("TLS certificate not reloaded, the last one stays in force", error=error.message)
            self._refused = refused
            return
        self._loaded, self._refused = pair, None
        _record_expiry(pair)
        _log.info("TLS certificate reloaded", certificate=str(self._certificate))

    def _use_certificate_in_force(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        """Give a new connection the certificate; the library calls this for clients without a server name too."""
        connection.context = self._in_force

    def _read(self) -> _Pair:
        try:
            return _Pair(_read_pem(self._certificate), _read_pem(self._key))
        except OSError as error:
            raise CertificateUnusable(
                f"the files of XAPP_TLS_CERT and XAPP_TLS_KEY cannot be read ({error.strerror}): name two PEM files "
                "that the gateway may read"
            ) from None


def _read_pem(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(PEM_MAX_BYTES)


def _record_expiry(pair: _Pair) -> None:
    with suppress(ValueError):  # what OpenSSL has loaded may still be unusual
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        METRICS.set_certificate_expiry(timestamp=certificate.not_valid_after_utc.timestamp())


def _make_context(pair: _Pair) -> ssl.SSLContext:
    # The defaults of the library: TLS 1.2 and 1.3, ciphers with forward secrecy, no compression.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(_ALPN)
    _load(context, pair)
    return context


def _load(context: ssl.SSLContext, pair: _Pair) -> None:
    def refuse_password() -> str:
        raise CertificateUnusable("the key in XAPP_TLS_KEY is encrypted: store it without a password")

    try:
        # The library reads files only. These are in memory, so that what was checked is what is loaded.
        with _memory_file(pair.certificate) as certificate, _memory_file(pair.key) as key:
            context.load_cert_chain(certificate, key, refuse_password)
    except (ssl.SSLError, OSError) as error:
        raise CertificateUnusable(
            "the files of XAPP_TLS_CERT and XAPP_TLS_KEY are not a certificate and its key "
            f"({getattr(error, 'reason', None) or 'not PEM'}): both must be PEM, and belong together"
        ) from None


@contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
