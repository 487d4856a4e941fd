"""What containers said before they crashed: the end of their logs, for callers who may read these.

An application may write anything into its log, so this never goes into status, conditions or events, and is read for
each request with the caller's token. Lives in the gateway, below the health of an xApp.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, text
from xapp_operator.domain.containers import Container, containers_of
from xapp_operator.errors import KubeError
from xapp_operator.gateway.asked import Asked
from xapp_operator.gateway.pods import name_of
from xapp_operator.kube.logs import LogOptions
from xapp_operator.kube.resources import PODS

CONTAINERS_MAX: Final = 3
LINES: Final = 10
WORDS_MAX_BYTES: Final = 2000

LastWords: TypeAlias = dict[tuple[str, str], str]
"""The last lines by pod and container."""


async def last_words(asked: Asked, pods: list[JsonObject]) -> LastWords:
    """Return the last lines of the first containers that crash, or nothing for who may not read logs there."""
    crashed = [(name_of(pod), each) for pod in pods for each in containers_of(pod) if _crashed(each)][:CONTAINERS_MAX]
    if not crashed:
        return {}
    if not await asked.caller.may("get", namespace=asked.entry.namespace, resource=PODS, subresource="log"):
        return {}
    said = await asyncio.gather(*(_said(asked, pod, container) for pod, container in crashed))
    return {(pod, container.name): words for (pod, container), words in zip(crashed, said, strict=True)}


def _crashed(container: Container) -> bool:
    return container.crash_loops or (container.state == "terminated" and bool(container.exit_code))


async def _said(asked: Asked, pod: str, container: Container) -> str:
    # The kubelet has kept the end of the log already, where terminationMessagePolicy is FallbackToLogsOnError.
    kept = text(container.last_end, "message")
    return _last_lines(kept or await _logged(asked, pod, container.name))


async def _logged(asked: Asked, pod: str, container: str) -> str:
    options = LogOptions(container=container, tail=LINES, limit_bytes=WORDS_MAX_BYTES)
    read = b""
    try:
        async with (
            asked.caller.client.log(pod, options, namespace=asked.entry.namespace) as log,
            aclosing(log.chunks()) as chunks,
        ):
            async for chunk in chunks:
                read += chunk
    except KubeError:
        return ""  # there is none (yet)
    return read.decode("utf-8", "replace")


def _last_lines(said: str) -> str:
    return "\n".join(said[-WORDS_MAX_BYTES:].strip().splitlines()[-LINES:])
