"""The events about one xApp, read with the caller's token among a bounded number of its namespace's."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.event_times import last_seen
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.events import XAppObjectMatcher
from xapp_operator.kube.resources import EVENTS

EVENTS_READ_MAX: Final = 5000
EVENTS_PAGE_SIZE: Final = 500


async def read_xapp_events(context: XAppContext) -> list[JsonObject]:
    """Return the events about the xApp among the first EVENTS_READ_MAX of its namespace, newest first."""
    entry = context.entry
    objects = context.gateway.registry.objects(entry.namespace, entry.release)
    matcher = XAppObjectMatcher(objects, namespace=entry.namespace, name=entry.name)
    found: list[JsonObject] = []
    read_count = 0
    pages = context.caller.client.list_pages(EVENTS, namespace=entry.namespace, limit=EVENTS_PAGE_SIZE)
    async with aclosing(pages):
        async for page in pages:
            read_count += len(page.items)
            for event in page.items:
                involved_object = obj(event, "involvedObject")
                if matcher.matches(text(involved_object, "kind"), text(involved_object, "name")):
                    found.append(event)
            if read_count >= EVENTS_READ_MAX:
                break
    return sorted(found, key=last_seen, reverse=True)
