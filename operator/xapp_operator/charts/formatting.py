"""How charts, addresses and sizes are spelled in errors: short, printable, and without anything secret."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from yarl import URL

MAX_QUOTED_CHARACTERS: Final = 80
MAX_LISTED_ITEMS: Final = 10


def quote_text(text: str) -> str:
    """Return untrusted text in double quotes, escaped and at most MAX_SHOWN characters long."""
    shortened = text if len(text) <= MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 1] + "…"
    return json.dumps(shortened, ensure_ascii=any(not char.isprintable() for char in shortened))


def display_url(url: URL) -> str:
    """Return scheme, host, port and path of a URL: user info, query and fragment may hold secrets."""
    without_user = url.with_user(None) if url.host else url
    return quote_text(str(without_user.with_query(None).with_fragment(None)))[1:-1]


def format_bytes(size: int) -> str:
    """Return a size in bytes as a person reads it, such as `1,048,576 bytes`."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def format_list(items: Iterable[str], *, total: int) -> str:
    """Return up to MAX_LISTED items joined by commas, and how many more there are."""
    listed = [quote_text(item)[1:-1] for item, _ in zip(items, range(MAX_LISTED_ITEMS), strict=False)]
    more = total - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")
