"""The Events about an xApp: the XApp itself, its objects, and what they made, told from other objects by name. Pure.

Events name the object that they are about. Of what a workload made (ReplicaSets, Pods, claims) nothing is in memory,
and much of it is gone when its Events are read; but Kubernetes names it after its maker in a fixed way, with letters
from an alphabet without vowels (apimachinery, `rand.SafeEncodeString`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from xapp_operator.api.json import JsonObject, integer, obj
from xapp_operator.api.names import XAPP_KIND
from xapp_operator.domain.event_times import last_seen
from xapp_operator.monitor.live_objects import LiveObject

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
"""Kind → kinds that it makes, and what follows its own name in theirs."""


class XAppObjectMatcher:
    """Tells whether an object is one of an xApp."""

    def __init__(self, objects: Iterable[LiveObject], *, namespace: str, name: str) -> None:
        self._objects = {(XAPP_KIND, name)}
        patterns: dict[str, list[str]] = {}
        for live in objects:
            kind, object_namespace, object_name = live.key
            if object_namespace not in {"", namespace}:
                continue
            self._objects.add((kind, object_name))
            for created_kind, pattern in _created_name_patterns(kind, object_name):
                patterns.setdefault(created_kind, []).append(pattern)
        self._created_patterns = {kind: re.compile("|".join(found)) for kind, found in patterns.items()}

    def matches(self, kind: str, name: str) -> bool:
        """Return whether the object is the xApp, one of its objects, or made by one."""
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
    """Return an Event as the API shows it; `lastSeen` is null where the reporter said no time."""
    involved_object, series = obj(event, "involvedObject"), obj(event, "series")
    return {
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "object": {"kind": involved_object.get("kind"), "name": involved_object.get("name")},
        "count": max(integer(event, "count"), integer(series, "count"), 1),
        "lastSeen": last_seen(event) or None,
    }
