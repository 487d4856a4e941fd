"""Where the ports of Services can be reached, as URLs: from outside, inside the cluster, through the gateway. Pure.

What is listed follows from the Service and the Ingresses of the same xApp; nothing is connected to. The scheme is that
of `appProtocol` (Kubernetes, Service ports), else of the port's name (`http`, `grpc-api`), else http.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import ServicePort
from xapp_operator.monitor.live import Backend, LiveIngress, LiveObject, LiveService

ADDRESSES_MAX: Final = 500
VIA: Final = ("nodePort", "loadBalancer", "ingress", "clusterDNS", "proxy")

_HTTPS_PORTS: Final = frozenset({443, 8443})
_NODE_PORT_TYPES: Final = frozenset({"NodePort", "LoadBalancer"})
_SCHEMES: Final = {
    **dict.fromkeys(("http", "http2", "h2c", "rest", "api", "web"), "http"),
    **dict.fromkeys(("https", "tls"), "https"),
    **dict.fromkeys(("ws", "wss", "grpc"), None),
    **dict.fromkeys(
        ("amqp", "e2", "kafka", "ldap", "mongo", "mqtt", "mysql", "nats", "netconf", "postgres", "postgresql", "redis"),
        "tcp",
    ),
    **dict.fromkeys(("rmr", "sip", "smtp", "sql", "ssh", "tcp"), "tcp"),
}
"""Scheme by the first word of appProtocol or name; None: the word itself."""


def services_with_addresses(
    objects: Iterable[LiveObject], *, namespace: str, name: str, advertised: str | None
) -> list[JsonObject]:
    """Return the Services among the objects of an xApp, each with the addresses at which it can be reached.

    Args:
        objects: of the xApp, Ingresses too.
        namespace: of the xApp; the gateway passes requests on to Services in it only.
        name: of the xApp, as in every path.
        advertised: the address of the cluster, or None where it has none.
    """
    live = tuple(objects)
    ingresses = [(each.key[1], each.ingress) for each in live if each.ingress is not None]
    found: list[JsonObject] = []
    for each in live:
        if each.service is None:
            continue
        lies_in = each.key[1]
        beside = [ingress for where, ingress in ingresses if where == lies_in]
        through = f"/api/xapps/{quote(namespace)}/{quote(name)}/proxy" if lies_in == namespace else None
        listed = _addresses(each.service, namespace=lies_in, beside=beside, advertised=advertised, through=through)
        told: JsonObject = orjson.loads(each.service.packed)
        told["addresses"] = [{"url": url, "via": via} for url, via in listed]
        found.append(told)
    return found


def scheme_of(port: ServicePort) -> str:
    """Return the scheme of a URL of this port."""
    if (port.protocol or "TCP") != "TCP":
        return (port.protocol or "").lower()
    for word in (port.app_protocol, port.name):
        first = (word or "").lower().rpartition("/")[2].split("-")[0]
        if first in _SCHEMES:
            return _SCHEMES[first] or first
    return "https" if port.port in _HTTPS_PORTS else "http"


def _addresses(
    service: LiveService,
    *,
    namespace: str,
    beside: Sequence[LiveIngress],
    advertised: str | None,
    through: str | None,
) -> list[tuple[str, str]]:
    status = service.status
    if service.external_name is not None:
        return []
    found: dict[tuple[str, str], None] = {}
    for port in status.ports:
        for address in _of_port(service, port, namespace=namespace, advertised=advertised, through=through):
            found.setdefault(address)
        for url in _ingress_urls(beside, status.name, port):
            found.setdefault((url, "ingress"))
    return sorted(found, key=lambda each: VIA.index(each[1]))[:ADDRESSES_MAX]


def _of_port(
    service: LiveService, port: ServicePort, *, namespace: str, advertised: str | None, through: str | None
) -> Iterator[tuple[str, str]]:
    status, scheme = service.status, scheme_of(port)
    if status.type in _NODE_PORT_TYPES and port.node_port and advertised:
        yield _url(scheme, advertised, port.node_port), "nodePort"
    for address in service.addresses:
        yield _url(scheme, address, port.port), "loadBalancer"
    # A headless Service is nothing but names of its pods: no port is translated.
    direct = port.target_port if service.headless and isinstance(port.target_port, int) else port.port
    yield _url(scheme, f"{status.name}.{namespace}.svc", direct), "clusterDNS"
    if through is not None and (port.protocol or "TCP") == "TCP":
        yield f"{through}/{quote(status.name)}/{port.port}/", "proxy"


def _ingress_urls(ingresses: Sequence[LiveIngress], service: str, port: ServicePort) -> Iterator[str]:
    for ingress in ingresses:
        for backend in ingress.backends:
            if backend.service == service and backend.port in {str(port.port), port.name or ""}:
                yield from _backend_urls(backend, ingress.addresses)


def _backend_urls(backend: Backend, addresses: Sequence[str]) -> Iterator[str]:
    if backend.host.startswith("*"):
        return
    # Of a regular expression, as some controllers take, what comes before its first sign is a path.
    path = quote(backend.path.split("(")[0].split("*")[0].split("$")[0] or "/", safe="/-._~!&'+,;=:@%")
    for host in (backend.host,) if backend.host else addresses:
        yield f"{'https' if backend.tls else 'http'}://{_bracketed(host)}{path}"


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
