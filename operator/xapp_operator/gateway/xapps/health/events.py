"""The Events about an xApp: about the XApp, its objects, and the objects that its workloads created.

An Event names its object. The objects that a workload creates (ReplicaSets, Pods, volume claims) are not in memory, and
many are gone when their Events are read. They are recognised by name: Kubernetes derives it from the owner's name with
characters from an alphabet without vowels (apimachinery, `rand.SafeEncodeString`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from typing import Final

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.api.names import XAPP_KIND
from xapp_operator.domain.health.pod_health import last_seen, last_seen_at
from xapp_operator.gateway.catalog.records import HookObject
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.kube.resources import EVENTS
from xapp_operator.monitor.live_objects import LiveObject

EVENTS_READ_MAX: Final = 5000
EVENTS_PAGE_SIZE: Final = 500

_SAFE_CHARACTER: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_POD_SUFFIX: Final = f"-{_SAFE_CHARACTER}{{5}}"
_HASH_SUFFIX: Final = f"-{_SAFE_CHARACTER}{{1,10}}"
_NAME_CHARACTER: Final = "[-0-9bcdfghjklmnpqrstvwxz]"
_INFIX_MAX: Final = 12
_GENERATED_BASE_MAX: Final = 58
"""A name that gets five random characters is cut to this length first (apiserver, names.SimpleNameGenerator)."""

_CREATED_KINDS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "Deployment": (("ReplicaSet", _HASH_SUFFIX), ("Pod", _HASH_SUFFIX + _POD_SUFFIX)),
    "ReplicaSet": (("Pod", _POD_SUFFIX),),
    "StatefulSet": (("Pod", "-[0-9]+"),),
    "DaemonSet": (("Pod", _POD_SUFFIX),),
    "Job": (("Pod", f"(-[0-9]+)?{_POD_SUFFIX}"),),
    "CronJob": (("Job", "-[0-9]+"), ("Pod", f"-[0-9]+(-[0-9]+)?{_POD_SUFFIX}")),
}
"""Kind → the kinds that it creates, each with the pattern that follows the owner's name."""


async def read_xapp_events(context: XAppContext) -> list[JsonObject]:
    """Return the Events about the xApp among the first EVENTS_READ_MAX of its namespace, newest first.

    They are read with the caller's token.
    """
    entry = context.entry
    matcher = XAppObjectMatcher(context.live_objects, namespace=context.namespace, name=entry.name, hook=entry.hook)
    found: list[JsonObject] = []
    read_count = 0
    pages = context.caller.client.list_pages(EVENTS, namespace=context.namespace, limit=EVENTS_PAGE_SIZE)
    async with aclosing(pages):
        async for page in pages:
            read_count += len(page.items)
            for event in page.items:
                involved_object = obj(event, "involvedObject")
                if matcher.matches(text(involved_object, "kind"), text(involved_object, "name")):
                    found.append(event)
            if read_count >= EVENTS_READ_MAX:
                break
    return newest_first(found)


def newest_first(events: Iterable[JsonObject]) -> list[JsonObject]:
    return sorted(events, key=last_seen_at, reverse=True)


class XAppObjectMatcher:
    """Recognises the objects of one xApp by kind and name."""

    def __init__(
        self, objects: Iterable[LiveObject], *, namespace: str, name: str, hook: HookObject | None = None
    ) -> None:
        self._objects = {(XAPP_KIND, name)}
        patterns: dict[str, list[str]] = {}
        own = [(live.key[0], live.key[2]) for live in objects if live.key[1] in {"", namespace}]
        for kind, object_name in own if hook is None else (*own, hook):
            self._objects.add((kind, object_name))
            for created_kind, pattern in _created_name_patterns(kind, object_name):
                patterns.setdefault(created_kind, []).append(pattern)
        self._created_patterns = {kind: re.compile("|".join(found)) for kind, found in patterns.items()}

    def matches(self, kind: str, name: str) -> bool:
        """Return whether the object is the XApp, one of its objects, or an object that one of them created."""
        pattern = self._created_patterns.get(kind)
        return (kind, name) in self._objects or (pattern is not None and pattern.fullmatch(name) is not None)


def _created_name_patterns(kind: str, name: str) -> Iterator[tuple[str, str]]:
    for created_kind, suffix in _CREATED_KINDS.get(kind, ()):
        yield created_kind, re.escape(name) + suffix
        if created_kind == "Pod" and len(name) > _GENERATED_BASE_MAX - _INFIX_MAX:
            base = name[:_GENERATED_BASE_MAX]
            yield (
                created_kind,
                re.escape(base) + f"{_NAME_CHARACTER}{{0,{_GENERATED_BASE_MAX - len(base)}}}{_SAFE_CHARACTER}{{5}}",
            )
    if kind == "StatefulSet":
        yield "PersistentVolumeClaim", f".+-{re.escape(name)}-[0-9]+"


def event_json(event: JsonObject) -> JsonObject:
    """Return an Event in the shape of the API; `lastSeen` is null when the reporter gave no time."""
    involved_object, series = obj(event, "involvedObject"), obj(event, "series")
    return {
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "object": {"kind": involved_object.get("kind"), "name": involved_object.get("name")},
        "count": max(integer(event, "count"), integer(series, "count"), 1),
        "lastSeen": last_seen(event) or None,
    }
