"""Text for messages: quoted, shortened, printable, without the parts of a URL that may hold secrets; and times."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from yarl import URL


QUOTED_INPUT_MAX: Final = 80
"""Characters of untrusted text that a message shows."""
LISTED_ITEMS_MAX: Final = 10
RFC3339_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
"""As Kubernetes writes `metav1.Time`: in UTC, with whole seconds."""


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten_line(text: str, limit: int) -> str:
    """Return `text` on one line, with at most `limit` characters."""
    return shorten(" ".join(text[: 4 * limit].split()), limit)


def quote_input(text: str) -> str:
    """Return untrusted text in double quotes, escaped and shortened to QUOTED_INPUT_MAX characters."""
    shortened = shorten(text, QUOTED_INPUT_MAX)
    return json.dumps(shortened, ensure_ascii=any(not char.isprintable() for char in shortened))


def escape_input(text: str) -> str:
    """Return untrusted text like `quote_input`, but without the quotes."""
    return quote_input(text)[1:-1]


def display_url(url: URL) -> str:
    """Return scheme, host, port and path of a URL: user info, query and fragment may hold secrets."""
    without_user = url.with_user(None) if url.host else url
    return escape_input(str(without_user.with_query(None).with_fragment(None)))


def format_bytes(size: int) -> str:
    """Return a size in bytes for people, such as `1,048,576 bytes`."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def explain_disk_error(problem: str, error: OSError, *, place: str) -> str:
    """Return the message for a `problem` because of a disk: why, what to do, and at which `place`."""
    return f"{problem} ({(error.strerror or str(error)).lower()}): make room, or repair the disk, at {place}"


def rfc3339(seconds: float) -> str:
    """Return a time in seconds since the epoch, rounded down to a second, such as `2026-11-20T08:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime(RFC3339_FORMAT)


def timestamp_now() -> str:
    """Return the present as RFC 3339 in UTC, with microseconds, so that two requests have different values."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def format_list(items: Iterable[str], *, total: int) -> str:
    """Return up to LISTED_ITEMS_MAX items joined by commas, and how many more there are."""
    return join_escaped(map(escape_input, items), total=total)


def join_escaped(items: Iterable[str], *, total: int) -> str:
    """Return the same as `format_list` of items that are escaped already."""
    listed = [item for item, _ in zip(items, range(LISTED_ITEMS_MAX), strict=False)]
    more = total - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")
