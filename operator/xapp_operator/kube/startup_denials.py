"""Tells a missing permission from the denials of an API server that has just started.

Such a server serves requests before it has read the RBAC rules and service accounts, and denies for a moment (401, 403)
what they allow.
"""

from __future__ import annotations

import time
from typing import Final

from xapp_operator.errors import AccessDenied, KubeError, Unauthenticated

DEFAULT_SECONDS: Final = 15.0


class StartupDenials:
    """The denials in a row that one loop of retries has met."""

    def __init__(self, *, seconds: float = DEFAULT_SECONDS) -> None:
        """Take a permission as missing once it was denied for that many seconds."""
        self._seconds = seconds
        self._since: float | None = None

    def may_pass(self, error: KubeError) -> bool:
        """Note an error, and return whether it is a denial that a retry may still pass."""
        if not isinstance(error, AccessDenied | Unauthenticated):
            return False
        if self._since is None:
            self._since = time.monotonic()
        return time.monotonic() - self._since < self._seconds

    def end(self) -> None:
        """Note that a request was allowed."""
        self._since = None
