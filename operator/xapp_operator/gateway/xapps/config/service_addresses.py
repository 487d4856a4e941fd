"""The URLs at which the ports of Services can be reached: from outside, in the cluster, and through the gateway. Pure.

The addresses follow from the Service and the Ingresses of the same xApp; nothing is probed. The scheme comes from
`appProtocol`, else from the port's name (`http`, `grpc-api`), else it is http.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote, urlsplit

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import ServicePort
from xapp_operator.gateway.http.requests.origins import host_without_port
from xapp_operator.monitor.live_objects import ADDRESSES_MAX, IngressBackend, LiveIngress, LiveObject, LiveService

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
"""First word of appProtocol or port name → URL scheme; None means the word itself."""


def services_with_addresses(
    objects: Iterable[LiveObject], *, namespace: str, name: str, advertise_address: str | None, gateway_host: str
) -> list[JsonObject]:
    """Return the Services among an xApp's objects in the shape of the API, each with its addresses.

    Args:
        objects: the objects of the xApp, including Ingresses.
        namespace: the namespace of the xApp; the gateway's proxy serves only Services in it.
        name: the name of the xApp in API paths.
        advertise_address: the cluster advertise address, or None.
        gateway_host: the Host header with which the caller reached the gateway. Addresses of the same host are marked:
            a browser sends the cookies of one port of a host to all of them (RFC 6265, 8.5).
    """
    live_objects = tuple(objects)
    found: list[JsonObject] = []
    for live in live_objects:
        if live.service is None:
            continue
        service_namespace = live.key[1]
        addresses = _service_addresses(
            live.service,
            namespace=service_namespace,
            ingresses=[each.ingress for each in live_objects if each.ingress and each.key[1] == service_namespace],
            advertise_address=advertise_address,
            proxy_path=f"/api/xapps/{quote(namespace)}/{quote(name)}/proxy" if service_namespace == namespace else None,
        )
        record: JsonObject = orjson.loads(live.service.status_json)
        record["addresses"] = [
            {"url": url, "via": via, "sameHost": _is_same_host(url, gateway_host)} for url, via in addresses
        ]
        found.append(record)
    return found


def port_scheme(port: ServicePort) -> str:
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
        scheme, is_tcp = port_scheme(port), (port.protocol or "TCP") == "TCP"
        # The name of a headless Service resolves to its pods, so the target port counts.
        port_number = port.target_port if service.headless and isinstance(port.target_port, int) else port.port
        urls = {
            "nodePort": [_url(scheme, advertise_address, port.node_port)]
            if status.type in _NODE_PORT_TYPES and port.node_port and advertise_address
            else [],
            "loadBalancer": [_url(scheme, address, port.port) for address in service.addresses],
            "ingress": _ingress_urls(ingresses, status.name, port),
            "clusterDNS": [_url(scheme, f"{status.name}.{namespace}.svc", port_number)],
            "proxy": [f"{proxy_path}/{quote(status.name)}/{port.port}/"] if proxy_path is not None and is_tcp else [],
        }
        found.update(((url, kind), None) for kind in ADDRESS_KINDS for url in urls[kind])
    return sorted(found, key=lambda each: ADDRESS_KINDS.index(each[1]))[:ADDRESSES_MAX]


def _ingress_urls(ingresses: Sequence[LiveIngress], service: str, port: ServicePort) -> Iterator[str]:
    for ingress in ingresses:
        for backend in ingress.backends:
            if backend.service == service and backend.port in {str(port.port), port.name or ""}:
                yield from _backend_urls(backend, ingress.addresses)


def _backend_urls(backend: IngressBackend, addresses: Sequence[str]) -> Iterator[str]:
    if backend.host.startswith("*"):
        return
    # Some controllers accept regular expressions: the text before the first special character is a path.
    path = quote(backend.path.split("(")[0].split("*")[0].split("$")[0] or "/", safe="/-._~!&'+,;=:@%")
    for host in (backend.host,) if backend.host else addresses:
        yield f"{'https' if backend.tls else 'http'}://{_bracketed(host)}{path}"


def _is_same_host(url: str, gateway_host: str) -> bool:
    host = urlsplit(url).netloc
    return bool(host) and _normalize_host(host) == _normalize_host(gateway_host)


def _normalize_host(authority: str) -> str:
    name = host_without_port(authority.lower()).rstrip(".")
    try:
        return str(ipaddress.ip_address(name.removeprefix("[").removesuffix("]")))
    except ValueError:
        return name


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
