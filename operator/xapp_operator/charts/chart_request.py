"""Requests for charts: a chart, in a repository, with credentials."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from yarl import URL

from xapp_operator.api.spec_parts import REPOSITORY_PREFIXES_TEXT, REPOSITORY_SCHEMES
from xapp_operator.charts.signatures.trusted_keys import SignatureDemand
from xapp_operator.common.text import display_url, quote_input
from xapp_operator.errors import AddressRefused, DigestMismatch

OCI: Final = "oci"
_DIGEST_PATTERN: Final = re.compile("(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    username: str
    password: str = field(repr=False)

    @property
    def authorization(self) -> str:
        """Return the value of an Authorization header (RFC 7617)."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class TokenCredentials:
    token: str = field(repr=False)

    @property
    def authorization(self) -> str:
        """Return the value of an Authorization header (RFC 6750)."""
        return f"Bearer {self.token}"


RepositoryCredentials: TypeAlias = BasicCredentials | TokenCredentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The URL of a repository and how to access it; equal repositories share an index.

    `ca_bundle` is PEM and is trusted in addition to the system's CAs. `interval_seconds` is how long an index counts as
    current; None means the setting XAPP_INDEX_TTL_SECONDS. `namespace` is the one on whose behalf it is accessed: it
    has its own share of the downloads. With `allow_plain_http`, credentials are sent over http too.
    """

    url: str
    credentials: RepositoryCredentials | None = None
    ca_bundle: str | None = field(default=None, repr=False)
    insecure_skip_tls_verify: bool = False
    allow_plain_http: bool = False
    interval_seconds: float | None = field(default=None, compare=False)
    signature: SignatureDemand | None = field(default=None, compare=False, repr=False)
    namespace: str = field(default="", compare=False)

    @property
    def is_oci(self) -> bool:
        return self.url.startswith(f"{OCI}://")

    @property
    def location(self) -> URL:
        """Return the parsed URL. Raises AddressRefused when it is not a valid repository URL."""
        return parse_repository_url(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRequest:
    """A chart by name, and the requested version or range."""

    repository: Repository
    chart: str
    version: str


def parse_repository_url(text: str) -> URL:
    """Return the URL of a repository or an archive.

    Raises AddressRefused unless it is http, https or oci, with a host and without user name and password.
    """
    try:
        url = URL(text)
        host, _ = url.host, url.port
    except ValueError:
        raise AddressRefused(f"{quote_input(text)} is not a URL. Use a URL like https://charts.example.com.") from None
    if url.scheme not in REPOSITORY_SCHEMES or not host:
        raise AddressRefused(
            f"{quote_input(display_url(url))} is refused: it must start with {REPOSITORY_PREFIXES_TEXT}."
        )
    if url.user is not None or url.password is not None:
        raise AddressRefused(
            f"{quote_input(display_url(url))} is refused: it contains a user name or a password. "
            "Enter them as the credentials of the repository (in the API, fields of their own; in a ChartRepository, "
            "a Secret that secretRef names)."
        )
    return url


def origin(url: URL) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port, to which credentials are limited."""
    return url.scheme, url.host, url.port


def format_origin(url: URL) -> str:
    """Return scheme, host and port as text, such as `https://charts.example.com` or `http://10.0.0.1:8080`."""
    return str(url.origin())


def plain_http_refused(url: URL) -> AddressRefused:
    """Return the error for credentials that would go over plain http."""
    return AddressRefused(
        f"{display_url(url)} is not https, so the credentials of the repository are not sent to it: others could read "
        "them. Use https, or let them be sent over http (allowPlainHTTP of the ChartRepository)."
    )


def sha256_digits(text: str) -> str | None:
    """Return the 64 hex digits of `sha256:<hex>` or `<hex>` in lower case, or None for anything else."""
    match = _DIGEST_PATTERN.fullmatch(text.lower())
    return match.group(1) if match else None


def parse_digest(text: str) -> str:
    """Return the result of `sha256_digits`. Raises DigestMismatch where that is None."""
    digits = sha256_digits(text)
    if digits is None:
        raise DigestMismatch(f"{quote_input(text)} is not the digest of an archive. Write sha256: and 64 hex digits.")
    return digits
