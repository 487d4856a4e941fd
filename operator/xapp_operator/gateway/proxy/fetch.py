"""What the rest of the gateway asks of an xApp's own API: a small JSON document, or nothing.

Lives above `runtime`, where `service` lives below it.
"""

from __future__ import annotations

from xapp_operator.api.json import JsonObject
from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.proxy.targets import services_of, target_of
from xapp_operator.gateway.records import Entry
from xapp_operator.gateway.runtime import Gateway
from xapp_operator.monitor.live import LiveService


async def fetch_json(  # noqa: PLR0917 - what is asked, in the order of its path
    gateway: Gateway,
    caller: Caller,
    entry: Entry,
    service: str,
    port: str,
    path: str,
    *,
    seconds: float,
    max_bytes: int,
) -> JsonObject | None:
    """Return the JSON object that an xApp's own API answers at `path`, or None where there is none.

    Whether the caller may `get services/proxy` in the namespace is for the one who calls to ask.

    Args:
        service: a Service of the xApp.
        port: one of its ports, by name or number.
        path: absolute, encoded, perhaps with a query.
        seconds: for the whole.
        max_bytes: of the answer; a larger one counts as none.
    """
    try:
        target = target_of(services_for(gateway, entry), service, port, namespace=entry.namespace)
    except XAppError:
        return None
    return await gateway.proxy.fetch_json(caller, target, path, seconds=seconds, max_bytes=max_bytes)


def services_for(gateway: Gateway, entry: Entry) -> list[LiveService]:
    """Return the Services of an xApp in its namespace, as they are now."""
    return services_of(gateway.registry.objects(entry.namespace, entry.release), namespace=entry.namespace)
