"""What an address says about where it leads."""

from __future__ import annotations

import ipaddress

import httpx


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    try:
        host = httpx.URL(url).host
    except httpx.InvalidURL:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
