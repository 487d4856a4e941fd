"""Server-Sent Events (WHATWG HTML, section 9.2), as the gateway sends them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; `id` is None if it has none of its own."""

    kind: str
    data: str
    id: str | None


def parse_events(lines: Iterable[str]) -> Iterator[ServerEvent]:
    """Yield the events of a stream whose lines have no line breaks. Comments are dropped."""
    kind, event_id = "message", None
    data: list[str] = []
    for line in lines:
        if not line:
            if data or kind != "message":
                yield ServerEvent(kind, "\n".join(data), event_id)
            kind, data, event_id = "message", [], None
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            kind = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            event_id = value
