"""Rewrites `Location` and `Content-Location` of xApp responses, so that they stay below the proxy's path. Pure.

A reference to the xApp, absolute or relative and by any name of the Service, becomes a path below the prefix that the
caller used. A reference to another host is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from xapp_operator.gateway.proxy.targets import ProxyTarget

_LOCATION_HEADERS: Final = frozenset({b"location", b"content-location"})
_SCHEMES: Final = frozenset({"", "http", "https"})
_ENCODED_DOT: Final = re.compile("%2e", re.IGNORECASE)
_NOT_VISIBLE_ASCII: Final = re.compile(r"[^!-~]")


@dataclass(frozen=True, slots=True)
class LocationRewriter:
    """Rewrites the URLs in one response.

    `prefix` is the part of the caller's path before the xApp's path, `path` the xApp's. `gateway_hosts` are the host
    and port of the gateway, and `api_server_path` is the prefix that the API server adds to paths, if it is used.
    """

    target: ProxyTarget
    prefix: str
    path: str
    gateway_hosts: Sequence[str]
    api_server_path: str = ""

    def rewrite_header(self, name: bytes, value: bytes) -> bytes:
        """Return the value of a response header, rewritten if it is a URL reference."""
        if name not in _LOCATION_HEADERS:
            return value
        return self.rewrite(value.decode("latin-1")).encode("ascii", "replace")

    def rewrite(self, reference: str) -> str:
        """Return a URL reference (RFC 3986, section 4.1) as the caller must follow it."""
        try:
            parts = urlsplit(reference)
            is_xapp = parts.scheme.lower() in _SCHEMES and (not parts.netloc or self._is_target(parts))
        except ValueError:  # not a URL, so no client can follow it
            return reference
        return self._to_proxy_path(parts) if is_xapp and reference else reference

    def _is_target(self, parts: SplitResult) -> bool:
        if parts.netloc.lower() in self.gateway_hosts:
            return True
        scheme = parts.scheme.lower() or self.target.scheme
        return self.target.is_addressed_by(parts.hostname or "", parts.port, scheme=scheme)

    def _to_proxy_path(self, parts: SplitResult) -> str:
        path = parts.path.replace("\\", "/")
        if not path and not parts.netloc:
            path = self.path  # only a query or a fragment
        elif not path.startswith("/"):
            path = f"{self.path.rpartition('/')[0]}/{path}" if not parts.netloc else f"/{path}"
        path = _remove_dot_segments(path)
        for known in (self.api_server_path, self.prefix):
            if known and (path == known or path.startswith(f"{known}/")):
                path = path[len(known) :] or "/"
        query = f"?{parts.query}" if parts.query else ""
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        url = f"{self.prefix}{path}{query}{fragment}"
        return _NOT_VISIBLE_ASCII.sub(
            lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace")), url
        )


def _remove_dot_segments(path: str) -> str:
    """Return an absolute path without `.` and `..` segments, which clients resolve also when they are encoded."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for at, segment in enumerate(segments):
        plain = _ENCODED_DOT.sub(".", segment)
        if plain not in {".", ".."}:
            kept.append(segment)
            continue
        if plain == ".." and kept:
            kept.pop()
        if at == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)
