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
from xapp_operator.monitor.live_objects import IngressBackend, LiveIngress, LiveObject, LiveService

SERVICE_ADDRESSES_MAX: Final = 500
ADDRESS_KINDS: Final = ("nodePort", "loadBalancer", "ingress", "clusterDNS", "proxy")

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
    objects: Iterable[LiveObject], *, namespace: str, name: str, advertise_address: str | None
) -> list[JsonObject]:
    """Return the Services among the objects of an xApp, each with the addresses at which it can be reached.

    Args:
        objects: of the xApp, Ingresses too.
        namespace: of the xApp; the gateway passes requests on to Services in it only.
        name: of the xApp, as in every path.
        advertised: the address of the cluster, or None where it has none.
    """
    live_objects = tuple(objects)
    ingresses = [(each.key[1], each.ingress) for each in live_objects if each.ingress is not None]
    found: list[JsonObject] = []
    for each in live_objects:
        if each.service is None:
            continue
        service_namespace = each.key[1]
        same_namespace = [ingress for where, ingress in ingresses if where == service_namespace]
        proxy_path = f"/api/xapps/{quote(namespace)}/{quote(name)}/proxy" if service_namespace == namespace else None
        addresses = _service_addresses(
            each.service,
            namespace=service_namespace,
            ingresses=same_namespace,
            advertise_address=advertise_address,
            proxy_path=proxy_path,
        )
        record: JsonObject = orjson.loads(each.service.status_json)
        record["addresses"] = [{"url": url, "via": via} for url, via in addresses]
        found.append(record)
    return found


def port_scheme(port: ServicePort) -> str:
    """Return the scheme of a URL of this port."""
    if (port.protocol or "TCP") != "TCP":
        return (port.protocol or "").lower()
    for word in (port.app_protocol, port.name):
        first = (word or "").lower().rpartition("/")[2].split("-")[0]
        if first in _SCHEMES:
            return _SCHEMES[first] or first
    return "https" if port.port in _HTTPS_PORTS else "http"


def _service_addresses(
    service: LiveService,
    *,
    namespace: str,
    ingresses: Sequence[LiveIngress],
    advertise_address: str | None,
    proxy_path: str | None,
) -> list[tuple[str, str]]:
    status = service.status
    if service.external_name is not None:
        return []
    found: dict[tuple[str, str], None] = {}
    for port in status.ports:
        for address in _port_addresses(
            service, port, namespace=namespace, advertise_address=advertise_address, proxy_path=proxy_path
        ):
            found.setdefault(address)
        for url in _ingress_urls(ingresses, status.name, port):
            found.setdefault((url, "ingress"))
    return sorted(found, key=lambda each: ADDRESS_KINDS.index(each[1]))[:SERVICE_ADDRESSES_MAX]


def _port_addresses(
    service: LiveService, port: ServicePort, *, namespace: str, advertise_address: str | None, proxy_path: str | None
) -> Iterator[tuple[str, str]]:
    status, scheme = service.status, port_scheme(port)
    if status.type in _NODE_PORT_TYPES and port.node_port and advertise_address:
        yield _url(scheme, advertise_address, port.node_port), "nodePort"
    for address in service.addresses:
        yield _url(scheme, address, port.port), "loadBalancer"
    # A headless Service is nothing but names of its pods: no port is translated.
    port_number = port.target_port if service.headless and isinstance(port.target_port, int) else port.port
    yield _url(scheme, f"{status.name}.{namespace}.svc", port_number), "clusterDNS"
    if proxy_path is not None and (port.protocol or "TCP") == "TCP":
        yield f"{proxy_path}/{quote(status.name)}/{port.port}/", "proxy"


def _ingress_urls(ingresses: Sequence[LiveIngress], service: str, port: ServicePort) -> Iterator[str]:
    for ingress in ingresses:
        for backend in ingress.backends:
            if backend.service == service and backend.port in {str(port.port), port.name or ""}:
                yield from _backend_urls(backend, ingress.addresses)


def _backend_urls(backend: IngressBackend, addresses: Sequence[str]) -> Iterator[str]:
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
