"""Paths as the log may show them."""

from __future__ import annotations

import re
from typing import Final

_PROXY_ROUTE: Final = re.compile(r"(/api(?:/v1)?/xapps/[^/]*/[^/]*/(?:proxy/[^/]*/[^/]*|api)/).+", re.DOTALL)


def redact_path(path: str) -> str:
    """Return a decoded path without the part that is passed on to an xApp, which may hold a secret of the caller."""
    return _PROXY_ROUTE.sub(r"\1…", path)
