"""Which log a request means: of which pod and container of an xApp, and which part of it.

A pod or container that the request leaves out is selected, and response headers name the selection.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.rules import parse_duration
from xapp_operator.common.text import quote_input, rfc3339
from xapp_operator.errors import GatewayNotFound, MalformedRequest, NextRequest
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.xapps.context import XAppContext, xapp_path
from xapp_operator.gateway.xapps.logs.log_responses import LOG_TEXT_MAX_BYTES
from xapp_operator.gateway.xapps.pods import POD_NAME, container_names, pod_name, read_pods
from xapp_operator.kube.request_encoding import PodLogOptions

LOG_PARAMETERS: Final = ("pod", "container", "tail", "since", "previous", "follow")
TAIL_DEFAULT: Final = 500
TAIL_MAX: Final = 10_000
SINCE_MAX_SECONDS: Final = 366 * 24 * 3600
PODS_HEADER_MAX: Final = 20

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[-+ ]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The query of a request for a log. `since` is a number of seconds before now, or an RFC 3339 time in UTC."""

    pod: str | None
    container: str | None
    tail: int
    since: int | str | None
    previous: bool
    follow: bool

    @classmethod
    def from_query(cls, query: StrictQuery) -> LogRequest:
        """Read the query.

        Raises:
            MalformedRequest: for a value outside its bounds; the message names them.
        """
        tail = query.integer("tail", default=TAIL_DEFAULT, low=0, high=TAIL_MAX, bound=f"between 0 and {TAIL_MAX}")
        return cls(
            pod=query.text("pod"),
            container=query.text("container"),
            tail=tail,
            since=_parse_since(query.text("since")),
            previous=query.boolean("previous"),
            follow=query.boolean("follow"),
        )

    def log_options(self, container: str) -> PodLogOptions:
        return PodLogOptions(
            container=container,
            tail_lines=self.tail,
            since_seconds=self.since if isinstance(self.since, int) else None,
            since_time=self.since if isinstance(self.since, str) else None,
            previous=self.previous,
            # A run that is over writes no more; not every kubelet ends its log then by itself.
            follow=self.follow and not self.previous,
            timestamps=self.follow,
            # A byte more than is sent tells that there is more.
            limit_bytes=None if self.follow else LOG_TEXT_MAX_BYTES + 1,
        )


@dataclass(frozen=True, slots=True)
class LogTarget:
    """The selected pod and container, and the names of the xApp's pods when the request named none."""

    pod: str
    container: str
    pods: tuple[str, ...]

    @property
    def headers(self) -> dict[str, str]:
        """Return the response headers that name the selection."""
        headers = {"X-Pod": self.pod, "X-Container": self.container}
        return headers | ({"X-Pods": ", ".join(self.pods)} if self.pods else {})


async def find_log_target(context: XAppContext, log_request: LogRequest) -> LogTarget:
    """Return the pod and container that `log_request` names or, by default, the first ready pod's main container.

    Raises:
        GatewayNotFound: when the xApp has no such pod or container; the message lists its containers.
        AccessDenied: when the caller may not read pods.
    """
    pods = await _find_pods(context, log_request.pod)
    if not pods:
        which = f"no pod {quote_input(log_request.pod)}" if log_request.pod is not None else "no pods"
        raise GatewayNotFound(
            f"the xApp {quote_input(context.entry.name)} has {which} in its namespace. Leave out pod to "
            "read its newest ready pod, or look at the health of the xApp"
        ).with_next(NextRequest("GET", xapp_path(context.entry.namespace, context.entry.name, "health")))
    if log_request.previous:
        pods.sort(key=lambda pod: not _restart_count(pod))
    pod = pods[0]
    names = container_names(pod)
    default_container = text(obj(obj(pod, "metadata"), "annotations"), _DEFAULT_CONTAINER)
    container = log_request.container or (default_container if default_container in names else names[0])
    if container not in names:
        raise GatewayNotFound(
            f"the pod {pod_name(pod)} has no container {quote_input(container)}: choose one of {', '.join(names)}"
        )
    pod_names = tuple(pod_name(each) for each in pods[:PODS_HEADER_MAX]) if log_request.pod is None else ()
    return LogTarget(pod_name(pod), container, pod_names)


async def _find_pods(context: XAppContext, name: str | None) -> list[JsonObject]:
    if name is not None and POD_NAME.fullmatch(name) is None:
        return []
    return await read_pods(
        context.caller.client,
        context.live_objects,
        namespace=context.namespace,
        name=name,
        hook=context.entry.hook,
    )


def _restart_count(pod: JsonObject) -> int:
    return sum(integer(each, "restartCount") for each in items(obj(pod, "status"), "containerStatuses"))


def _parse_since(value: str | None) -> int | str | None:
    if value is None:
        return None
    try:
        if _RFC3339.fullmatch(value):
            # An unencoded `+` in a query string is a space.
            at = datetime.fromisoformat(value.replace(" ", "+").upper())
            return rfc3339(at.timestamp())
        seconds = float(value) if value.isascii() and value.isdigit() else parse_duration(value)
        if 0 < seconds <= SINCE_MAX_SECONDS:
            return math.ceil(seconds)
    except (ValueError, OverflowError):
        pass
    raise MalformedRequest.for_field(
        "since",
        "must be a duration such as 90s, 10m or 1h30m, a number of seconds from 1 to a year, or a time such as "
        f"2026-11-20T08:00:00Z, not {quote_input(value)}",
    )
