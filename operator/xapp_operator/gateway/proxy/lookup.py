"""Which port of an xApp is meant, among the Services that it has at this moment.

Lives above `runtime`, whose registry knows the Services; the rules of choosing are those of `targets`.
"""

from __future__ import annotations

from xapp_operator.gateway.proxy.targets import Target, api_target, services_of, target_of
from xapp_operator.gateway.records import Entry
from xapp_operator.gateway.runtime import Gateway
from xapp_operator.monitor.live import LiveService


def api_of(gateway: Gateway, entry: Entry) -> Target:
    """Return the port of the xApp's REST API. Raises NotFoundHere as `api_target`."""
    return api_target(_services(gateway, entry), namespace=entry.namespace, names=(entry.name, entry.release))


def port_of(gateway: Gateway, entry: Entry, service: str, port: str) -> Target:
    """Return what `service` and `port` (name or number) mean. Raises NotFoundHere and RequestRefused as `target_of`."""
    return target_of(_services(gateway, entry), service, port, namespace=entry.namespace)


def _services(gateway: Gateway, entry: Entry) -> list[LiveService]:
    return services_of(gateway.registry.objects(entry.namespace, entry.release), namespace=entry.namespace)
