"""Which log is asked for: of which pod and container of an xApp, and which part of it.

A person mostly wants the log of the one pod there is. So what is left out is chosen, and the answer's headers say what.
Lives in the gateway, below the answers that carry the log (`logstream`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.models import parse_duration
from xapp_operator.errors import NotFoundHere
from xapp_operator.gateway.asked import Asked
from xapp_operator.gateway.pods import container_names, name_of, pods_of
from xapp_operator.gateway.query import Query, refused, shown
from xapp_operator.kube.logs import LogOptions

PARAMETERS: Final = ("pod", "container", "tail", "since", "previous", "follow")
TAIL_DEFAULT: Final = 500
TAIL_MAX: Final = 10_000
LOG_MAX_BYTES: Final = 10 * 1024 * 1024
SINCE_MAX_SECONDS: Final = 366 * 24 * 3600
PODS_NAMED_MAX: Final = 20

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_POD_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[-+ ]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The query of a request for a log; `since` is seconds back from now, or RFC 3339 in UTC."""

    pod: str | None
    container: str | None
    tail: int
    since: int | str | None
    previous: bool
    follow: bool

    @classmethod
    def of(cls, query: Query) -> LogRequest:
        """Read the query.

        Raises:
            MalformedRequest: for a value out of its bounds, naming them.
        """
        tail = query.integer("tail", default=TAIL_DEFAULT, low=0, high=TAIL_MAX, bound=f"between 0 and {TAIL_MAX}")
        return cls(
            pod=query.text("pod"),
            container=query.text("container"),
            tail=tail,
            since=_since(query.text("since")),
            previous=query.boolean("previous"),
            follow=query.boolean("follow"),
        )

    def options(self, container: str) -> LogOptions:
        """Return what is asked of the API server."""
        return LogOptions(
            container=container,
            tail=self.tail,
            since_seconds=self.since if isinstance(self.since, int) else None,
            since_time=self.since if isinstance(self.since, str) else None,
            previous=self.previous,
            follow=self.follow,
            timestamps=self.follow,
            limit_bytes=None if self.follow else LOG_MAX_BYTES,
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The log that a request means, and the names of the xApp's pods, when it could have meant others."""

    pod: str
    container: str
    pods: tuple[str, ...]

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that tell it."""
        told = {"X-Pod": self.pod, "X-Container": self.container}
        return told | ({"X-Pods": ", ".join(self.pods)} if self.pods else {})


async def chosen_log(asked: Asked, wanted: LogRequest) -> Chosen:
    """Return the log that is meant: of the best pod there is, and of its main container, where none is named.

    Raises:
        NotFoundHere: for a pod or container that the xApp has not; the message names those that it has.
        AccessDenied: when the caller may not read pods.
    """
    pods = await _pods(asked, wanted.pod)
    if not pods:
        which = f"no pod {shown(wanted.pod)}" if wanted.pod is not None else "no pods"
        raise NotFoundHere(
            f"the xApp {shown(asked.entry.name)} has {which} in its namespace: leave pod out for the newest that is "
            "ready, or look at GET …/health"
        )
    if wanted.previous:
        pods.sort(key=lambda pod: not _restarts(pod))
    pod = pods[0]
    names = container_names(pod)
    main = text(obj(obj(pod, "metadata"), "annotations"), _DEFAULT_CONTAINER)
    container = wanted.container or (main if main in names else names[0])
    if container not in names:
        raise NotFoundHere(
            f"the pod {name_of(pod)} has no container {shown(container)}: choose one of {', '.join(names)}"
        )
    others = tuple(name_of(each) for each in pods[:PODS_NAMED_MAX]) if wanted.pod is None else ()
    return Chosen(name_of(pod), container, others)


async def _pods(asked: Asked, name: str | None) -> list[JsonObject]:
    if name is not None and _POD_NAME.fullmatch(name) is None:
        return []
    entry = asked.entry
    objects = asked.gateway.registry.objects(entry.namespace, entry.release)
    return await pods_of(asked.caller.client, objects, namespace=entry.namespace, only=name)


def _restarts(pod: JsonObject) -> int:
    return sum(integer(each, "restartCount") for each in items(obj(pod, "status"), "containerStatuses"))


def _since(value: str | None) -> int | str | None:
    if value is None:
        return None
    if _RFC3339.fullmatch(value):
        # A `+` in a query string is a space, unless it was encoded.
        try:
            at = datetime.fromisoformat(value.replace(" ", "+").upper())
            return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, OverflowError):
            raise _no_since(value) from None
    try:
        seconds = float(value) if value.isascii() and value.isdigit() else parse_duration(value)
    except ValueError:
        raise _no_since(value) from None
    if not 0 < seconds <= SINCE_MAX_SECONDS:
        raise _no_since(value)
    return math.ceil(seconds)


def _no_since(value: str) -> Exception:
    return refused(
        "since",
        "must be a duration such as 90s, 10m or 1h30m, a number of seconds from 1 to a year, or a time such as "
        f"2026-11-20T08:00:00Z, not {shown(value)}",
    )
