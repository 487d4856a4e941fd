"""Who shares what one tenant gets. A tenant can have as many service accounts in a namespace as they like. Pure."""

from __future__ import annotations

from typing import Final

_SERVICE_ACCOUNT_PARTS: Final = 4


def group_of_user(user: str) -> str:
    """Return whose share a user takes: service accounts share that of their namespace, others have their own."""
    parts = user.split(":")
    if len(parts) == _SERVICE_ACCOUNT_PARTS and parts[:2] == ["system", "serviceaccount"]:
        return ":".join(parts[:3])
    return user
