"""The files of the built dashboard, read into memory once: index.html with its nonce, and the files that it loads.

Requests look names up in a dictionary, so no request reads the disk or can name a file outside the folder.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

from xapp_operator.gateway.http.requests.media_types import quality
from xapp_operator.telemetry.logs import get_logger

BUILT_FOLDER: Final = Path(__file__).parents[2] / "static"
"""Where `make dashboard` writes; git ignores it."""

INDEX_FILE: Final = "index.html"
ASSETS_FOLDER: Final = "assets"
NONCE_PLACEHOLDER: Final = b"__CSP_NONCE__"
NONCE_BYTES: Final = 16
COMPRESSED_SUFFIX: Final = ".gz"

_DIGEST_BYTES: Final = 12
_OTHER_MEDIA_TYPE: Final = "application/octet-stream"
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""A fixed table: what the machine says about types must not change a response."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file below `/assets/`; `compressed` is the same in gzip, if the build made it."""

    media_type: str
    content: bytes = field(repr=False)
    compressed: bytes | None = field(repr=False)
    tag: str

    @property
    def compressed_tag(self) -> str:
        """Return the entity tag of the compressed file, which is another representation (RFC 9110, 8.8.3.3)."""
        return f"{self.tag}-gzip"


@dataclass(frozen=True, slots=True)
class DashboardFiles:
    """The built dashboard."""

    _page_parts: tuple[bytes, ...] = field(repr=False)
    """index.html, split where the nonce goes."""
    assets: Mapping[str, Asset] = field(repr=False)
    """Path below `/assets/` → file."""

    @classmethod
    def load(cls, folder: Path = BUILT_FOLDER) -> DashboardFiles | None:
        """Return the files in `folder`, or None if no usable dashboard has been built there."""
        try:
            page = (folder / INDEX_FILE).read_bytes()
        except FileNotFoundError:
            return None
        parts = tuple(page.split(NONCE_PLACEHOLDER))
        if len(parts) == 1:
            # Browsers would refuse its styles.
            _log.warning("the dashboard is not served: it has no place for a nonce", file=str(folder / INDEX_FILE))
            return None
        return cls(parts, dict(_read_assets(folder / ASSETS_FOLDER)))

    def page(self, nonce: str) -> bytes:
        """Return index.html with `nonce` in it."""
        return nonce.encode().join(self._page_parts)


def new_nonce() -> str:
    """Return 128 random bits in base64url, as a nonce in a Content-Security-Policy may be written (CSP 3, 2.3.1)."""
    return secrets.token_urlsafe(NONCE_BYTES)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a client accepts gzip, by its Accept-Encoding (RFC 9110, 12.5.3)."""
    accepted = {each.partition(";")[0].strip(): quality(each) > 0 for each in accept_encoding.lower().split(",")}
    return accepted.get("gzip", accepted.get("x-gzip", accepted.get("*", False)))


def _read_assets(folder: Path) -> Iterator[tuple[str, Asset]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == COMPRESSED_SUFFIX or path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        packed = path.with_name(path.name + COMPRESSED_SUFFIX)
        yield (
            path.relative_to(folder).as_posix(),
            Asset(
                media_type=_MEDIA_TYPES.get(path.suffix, _OTHER_MEDIA_TYPE),
                content=content,
                compressed=packed.read_bytes() if packed.is_file() else None,
                tag=blake2b(content, digest_size=_DIGEST_BYTES).hexdigest(),
            ),
        )
