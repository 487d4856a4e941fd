"""Which port of an xApp is meant, among the Services that it has at this moment.

Lives above `runtime`, whose registry knows the Services; the rules of choosing are those of `targets`.
"""

from __future__ import annotations

from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.proxy.targets import ProxyTarget, select_api_target, select_target, services_in_namespace
from xapp_operator.monitor.live_objects import LiveService
from xapp_operator.monitor.registry import XAppRegistry


def find_api_target(registry: XAppRegistry, entry: XAppEntry) -> ProxyTarget:
    """Return the port of the xApp's REST API. Raises NotFoundHere as `api_target`."""
    return select_api_target(
        _xapp_services(registry, entry), namespace=entry.namespace, names=(entry.name, entry.release)
    )


def find_port_target(registry: XAppRegistry, entry: XAppEntry, service: str, port: str) -> ProxyTarget:
    """Return what `service` and `port` (name or number) mean. Raises NotFoundHere and RequestRefused as `target_of`."""
    return select_target(_xapp_services(registry, entry), service, port, namespace=entry.namespace)


def _xapp_services(registry: XAppRegistry, entry: XAppEntry) -> list[LiveService]:
    return services_in_namespace(registry.objects(entry.namespace, entry.release), namespace=entry.namespace)
