"""What an address says about where it leads."""

from __future__ import annotations

import httpx

from xapp_operator.domain.address_rule import is_loopback


def leads_to_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    try:
        return is_loopback(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False
