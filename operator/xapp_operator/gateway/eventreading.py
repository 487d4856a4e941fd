"""The events about one xApp, read with the caller's token among a bounded number of its namespace's."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.events import last_seen
from xapp_operator.gateway.asked import Asked
from xapp_operator.gateway.xappevents import About
from xapp_operator.kube.resources import EVENTS

EVENTS_READ_MAX: Final = 5000
EVENTS_PAGE: Final = 500


async def events_about(asked: Asked) -> list[JsonObject]:
    """Return the events about the xApp among the first EVENTS_READ_MAX of its namespace, newest first."""
    entry = asked.entry
    objects = asked.gateway.registry.objects(entry.namespace, entry.release)
    about = About(objects, namespace=entry.namespace, name=entry.name)
    found: list[JsonObject] = []
    read = 0
    pages = asked.caller.client.pages(EVENTS, namespace=entry.namespace, limit=EVENTS_PAGE)
    async with aclosing(pages):
        async for page in pages:
            read += len(page.items)
            for event in page.items:
                involved = obj(event, "involvedObject")
                if about.covers(text(involved, "kind"), text(involved, "name")):
                    found.append(event)
            if read >= EVENTS_READ_MAX:
                break
    return sorted(found, key=last_seen, reverse=True)
