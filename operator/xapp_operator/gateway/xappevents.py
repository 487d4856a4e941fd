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
from xapp_operator.domain.events import last_seen
from xapp_operator.monitor.live import LiveObject

_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_POD: Final = f"-{_SAFE}{{5}}"
_HASH: Final = f"-{_SAFE}{{1,10}}"
_CUT: Final = "[-0-9bcdfghjklmnpqrstvwxz]"
_BETWEEN_MAX: Final = 12
_GENERATED_MAX: Final = 58
"""A name that gets five random characters is cut to this length first (apiserver, names.SimpleNameGenerator)."""

_MADE: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "Deployment": (("ReplicaSet", _HASH), ("Pod", _HASH + _POD)),
    "ReplicaSet": (("Pod", _POD),),
    "StatefulSet": (("Pod", "-[0-9]+"),),
    "DaemonSet": (("Pod", _POD),),
    "Job": (("Pod", f"(-[0-9]+)?{_POD}"),),
    "CronJob": (("Job", "-[0-9]+"), ("Pod", f"-[0-9]+(-[0-9]+)?{_POD}")),
}
"""Kind → kinds that it makes, and what follows its own name in theirs."""


class About:
    """Tells whether an object is one of an xApp."""

    def __init__(self, objects: Iterable[LiveObject], *, namespace: str, name: str) -> None:
        self._named = {(XAPP_KIND, name)}
        patterns: dict[str, list[str]] = {}
        for live in objects:
            kind, lies_in, own = live.key
            if lies_in not in {"", namespace}:
                continue
            self._named.add((kind, own))
            for made, pattern in _made_by(kind, own):
                patterns.setdefault(made, []).append(pattern)
        self._made = {kind: re.compile("|".join(found)) for kind, found in patterns.items()}

    def covers(self, kind: str, name: str) -> bool:
        """Return whether the object is the xApp, one of its objects, or made by one."""
        made = self._made.get(kind)
        return (kind, name) in self._named or (made is not None and made.fullmatch(name) is not None)


def _made_by(kind: str, name: str) -> Iterator[tuple[str, str]]:
    for made, suffix in _MADE.get(kind, ()):
        yield made, re.escape(name) + suffix
        if made == "Pod" and len(name) > _GENERATED_MAX - _BETWEEN_MAX:
            kept = name[:_GENERATED_MAX]
            yield made, re.escape(kept) + f"{_CUT}{{0,{_GENERATED_MAX - len(kept)}}}{_SAFE}{{5}}"
    if kind == "StatefulSet":
        yield "PersistentVolumeClaim", f".+-{re.escape(name)}-[0-9]+"


def event_json(event: JsonObject) -> JsonObject:
    """Return an Event as the API shows it; `lastSeen` is null where the reporter said no time."""
    about, series = obj(event, "involvedObject"), obj(event, "series")
    return {
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "object": {"kind": about.get("kind"), "name": about.get("name")},
        "count": max(integer(event, "count"), integer(series, "count"), 1),
        "lastSeen": last_seen(event) or None,
    }
