"""How charts, addresses and sizes are spelled in errors: short, printable, and without anything secret."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from yarl import URL

MAX_SHOWN: Final = 80
MAX_LISTED: Final = 10


def quoted(text: str) -> str:
    """Return untrusted text in double quotes, escaped and at most MAX_SHOWN characters long."""
    shown = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    return json.dumps(shown, ensure_ascii=any(not char.isprintable() for char in shown))


def address(url: URL) -> str:
    """Return scheme, host, port and path of a URL: user info, query and fragment may hold secrets."""
    named = url.with_user(None) if url.host else url
    return quoted(str(named.with_query(None).with_fragment(None)))[1:-1]


def byte_count(size: int) -> str:
    """Return a size in bytes as a person reads it, such as `1,048,576 bytes`."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def some_of(items: Iterable[str], *, total: int) -> str:
    """Return up to MAX_LISTED items joined by commas, and how many more there are."""
    listed = [quoted(item)[1:-1] for item, _ in zip(items, range(MAX_LISTED), strict=False)]
    more = total - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")
