"""Which port of which Service a proxy path means: only Services of that xApp, in its namespace. Pure.

A caller's input only selects from that list; no address is ever built from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.models import ServicePort
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, RequestRefused
from xapp_operator.monitor.live_objects import LiveObject, LiveService

API_PORT_NAMES: Final = ("http", "rest", "api")
"""Names of the port that serves the REST API, in order of preference."""

_HTTPS_APP_PROTOCOLS: Final = frozenset({"https", "kubernetes.io/wss"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

HostPort: TypeAlias = tuple[str, int]
"""An IP address or a host name, and a port."""


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """One TCP port of one Service. `port` is its name at the API server, `address` the destination of a connection."""

    namespace: str
    service: str
    port: str
    port_number: int
    https: bool
    address: HostPort | None
    """None when only the API server can resolve it: a headless Service whose targetPort is a name."""
    cluster_ip: str

    @property
    def scheme(self) -> str:
        return "https" if self.https else "http"

    @property
    def host(self) -> str:
        """Return the DNS name of the Service in the cluster."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        return self.host if self.port_number == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port_number}"

    def is_addressed_by(self, host: str, port: int | None, *, scheme: str) -> bool:
        """Tell whether a URL in a response means this port, by a name of the Service or its address."""
        if (port or _DEFAULT_PORTS.get(scheme)) != self.port_number:
            return False
        name = host.lower().rstrip(".")
        return name in {self.service, f"{self.service}.{self.namespace}", self.cluster_ip} or (
            name == self.host or name.startswith(f"{self.host}.")
        )


def select_target(objects: Iterable[LiveObject], service: str, port: str, *, namespace: str) -> ProxyTarget:
    """Return the port (name or number) of the Service among an xApp's objects.

    Raises:
        GatewayNotFound: when the xApp has no such Service or port; the message lists those that it has.
        RequestRefused: for an ExternalName Service, which leads out of the cluster.
    """
    candidates = _services(objects, namespace=namespace)
    selected = next((each for each in candidates if each.status.name == service), None)
    if selected is None:
        names = ", ".join(sorted(each.status.name for each in candidates)) or "none"
        raise GatewayNotFound(
            f"the xApp has no Service {quote_input(service)} in its namespace: its Services are {names}"
        )
    if _is_external(selected):
        raise RequestRefused(
            f"the Service {quote_input(service)} is of type ExternalName, which leads to another host: call that host "
            "directly"
        )
    ports = _tcp_ports(selected)
    found = next((each for each in ports if port in (each.name, str(each.port))), None)
    if found is None:
        known = ", ".join(f"{each.port} ({each.name})" if each.name else str(each.port) for each in ports) or "none"
        raise GatewayNotFound(f"the Service {service} has no TCP port {quote_input(port)}: its ports are {known}")
    return _proxy_target(selected, found, namespace=namespace)


def select_api_target(objects: Iterable[LiveObject], *, namespace: str, names: Sequence[str]) -> ProxyTarget:
    """Return the port of the xApp's REST API: the port named http, rest or api, or the only port.

    When several Services have such a port, the Service with one of `names`, the names of the xApp, is selected.

    Raises:
        GatewayNotFound: when no port or more than one qualifies; the message lists them.
    """
    services = [each for each in _services(objects, namespace=namespace) if not _is_external(each)]
    # The headless twin of a Service exists only for the DNS names of its pods.
    services = [each for each in services if not each.headless] or services
    all_ports = [(service, port) for service in services for port in _tcp_ports(service)]
    matching = next(
        (found for name in API_PORT_NAMES if (found := [each for each in all_ports if each[1].name == name])), all_ports
    )
    if len(matching) > 1:
        same_name = ([each for each in matching if each[0].status.name == name] for name in names)
        matching = next((found for found in same_name if found), matching)
    if len(matching) == 1:
        return _proxy_target(*matching[0], namespace=namespace)
    known = ", ".join(f"{service.status.name}/{port.name or port.port}" for service, port in all_ports) or "none"
    raise GatewayNotFound(
        "the gateway cannot tell which port serves the API of the xApp: it must be the only port, or be named http, "
        f"rest or api; the ports are {known}: call one of them by its Service and port"
    )


def _services(objects: Iterable[LiveObject], *, namespace: str) -> list[LiveService]:
    return [live.service for live in objects if live.service is not None and live.key[1] == namespace]


def _tcp_ports(service: LiveService) -> list[ServicePort]:
    return [port for port in service.status.ports if (port.protocol or "TCP") == "TCP"]


def _is_external(service: LiveService) -> bool:
    return service.external_name is not None or service.status.type == "ExternalName"


def _proxy_target(service: LiveService, port: ServicePort, *, namespace: str) -> ProxyTarget:
    name = port.name or ""
    https = (
        port.app_protocol in _HTTPS_APP_PROTOCOLS if port.app_protocol else name == "https" or name.startswith("https-")
    )
    return ProxyTarget(
        namespace=namespace,
        service=service.status.name,
        port=name or str(port.port),
        port_number=port.port,
        https=https,
        address=_connect_address(service, port, namespace=namespace),
        cluster_ip=service.status.cluster_ip or "",
    )


def _connect_address(service: LiveService, port: ServicePort, *, namespace: str) -> HostPort | None:
    status = service.status
    if not service.headless:
        return (status.cluster_ip, port.port) if status.cluster_ip else None
    # The DNS name of a headless Service leads to the pods themselves, so the target port counts.
    target = port.target_port if port.target_port is not None else port.port
    return (f"{status.name}.{namespace}.svc", int(target)) if str(target).isdecimal() else None
