"""Parses Server-Sent Events as a browser does. Unlike there, an event without data is returned too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; `id` is the last id sent. A comment has the name `:`, an id alone has the empty name."""

    name: str
    id: str
    data: Any


def parse_events(lines: Iterable[str]) -> Iterator[ServerSentEvent]:
    """Yield the events as they arrive."""
    name, event_id, data = "", "", ""
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield ServerSentEvent(name, event_id, json.loads(data) if data else None)
            name, data = "", ""
        elif not field:
            name = ":"
        elif field == "event":
            name = value
        elif field == "id":
            event_id = value
        elif field == "data":
            data += value
