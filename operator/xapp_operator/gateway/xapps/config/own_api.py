"""Where the API of an xApp is below the gateway, and whether it has a run-time configuration.

An xApp is asked with the token of a caller who may use the proxy. The answer is kept for a while, so that a page that
many people read does not become requests to the xApp.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from cachetools import TLRUCache

from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.proxy.targets import ProxyTarget
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.xapps.context import XAppContext

CONFIG_PATH: Final = "/config"
SCHEMA_PATH: Final = "/config/schema"
PROBE_SECONDS: Final = 1.5
KEPT_SECONDS: Final = 60.0
UNKNOWN_KEPT_SECONDS: Final = 10.0
"""An xApp that did not answer may have been starting."""
PROBES_KEPT_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class _Found:
    config: bool | None
    schema: bool | None

    @property
    def kept_seconds(self) -> float:
        return UNKNOWN_KEPT_SECONDS if None in (self.config, self.schema) else KEPT_SECONDS


class OwnApis:
    """What is known of the APIs of xApps."""

    def __init__(self, proxy: XAppProxy) -> None:
        self._proxy = proxy
        self._found: TLRUCache[tuple[str, ProxyTarget], _Found] = TLRUCache(
            PROBES_KEPT_MAX, ttu=lambda _key, found, now: now + found.kept_seconds, timer=time.monotonic
        )

    async def describe(self, context: XAppContext, target: ProxyTarget | None, *, may_ask: bool) -> JsonObject:
        """Return the member `ownApi` of a configuration.

        Args:
            context: the request; its caller asks.
            target: the port of the API, or None if it is not clear which one that is.
            may_ask: whether the caller may use the proxy; otherwise all that is known by asking is null.
        """
        if target is None:
            return {"base": None, "config": None, "schema": None}
        found = _Found(None, None) if not may_ask else await self._ask(context.caller, context.entry.uid, target)
        base = f"/api/xapps/{context.namespace}/{context.entry.name}/api"
        return {"base": base, "config": found.config, "schema": found.schema}

    async def _ask(self, caller: Caller, uid: str, target: ProxyTarget) -> _Found:
        known = self._found.get((uid, target))
        if known is None:
            known = _Found(
                *await asyncio.gather(
                    *(
                        self._proxy.serves_json(caller, target, path, seconds=PROBE_SECONDS)
                        for path in (CONFIG_PATH, SCHEMA_PATH)
                    )
                )
            )
            self._found[uid, target] = known
        return known
