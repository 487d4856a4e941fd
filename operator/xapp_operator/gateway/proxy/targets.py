"""Which port of which Service a path means: only Services of that xApp, in its namespace. Pure.

Lives in the gateway beside the registry that tells which Services there are. What a caller sends only picks from that
list; no address is ever made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.models import ServicePort, ServiceStatus
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, RequestRefused
from xapp_operator.monitor.live_objects import LiveObject, LiveService

API_PORT_NAMES: Final = ("http", "rest", "api")
"""Names by which a port is taken for the one of the REST API, the best first."""

_HTTPS_APP_PROTOCOLS: Final = frozenset({"https", "kubernetes.io/wss"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

HostPort: TypeAlias = tuple[str, int]
"""An IP address or a name, and a port."""


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """One TCP port of one Service; `port` is what names it at the API server, `address` where to connect to."""

    namespace: str
    service: str
    port: str
    port_number: int
    https: bool
    address: HostPort | None
    """None where only the API server can tell: a headless Service whose targetPort is a name."""
    cluster_ip: str

    @property
    def scheme(self) -> str:
        """Return `http` or `https`."""
        return "https" if self.https else "http"

    @property
    def host(self) -> str:
        """Return the name of the Service in the cluster."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def authority(self) -> str:
        """Return what stands in the Host header."""
        return self.host if self.port_number == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port_number}"

    def is_addressed_by(self, host: str, port: int | None, *, scheme: str) -> bool:
        """Tell whether a URL of an answer means this port: by a name of the Service, or by its address."""
        if (port or _DEFAULT_PORTS.get(scheme)) != self.port_number:
            return False
        name = host.lower().rstrip(".")
        return name in {self.service, f"{self.service}.{self.namespace}", self.cluster_ip} or (
            name == self.host or name.startswith(f"{self.host}.")
        )


def services_in_namespace(objects: Iterable[LiveObject], *, namespace: str) -> list[LiveService]:
    """Return the Services among the objects of an xApp that lie in its namespace."""
    return [live.service for live in objects if live.service is not None and live.key[1] == namespace]


def select_target(services: Sequence[LiveService], service: str, port: str, *, namespace: str) -> ProxyTarget:
    """Return what `service` and `port` (name or number) mean.

    Raises:
        NotFoundHere: when the xApp has no such Service or port; the message names those that it has.
        RequestRefused: for an ExternalName Service, which leads out of the cluster.
    """
    candidates = _tcp_services(services)
    selected = next((each for each in candidates if each.status.name == service), None)
    if selected is None:
        names = ", ".join(sorted(each.status.name for each in candidates)) or "none"
        raise GatewayNotFound(f"the xApp has no Service {quote_input(service)} in its namespace: it has {names}")
    if selected.is_external:
        raise RequestRefused(
            f"the Service {quote_input(service)} is of type ExternalName, which leads to another host: ask that "
            "host itself"
        )
    found = next((each for each in selected.ports if port in (each.name, str(each.port))), None)
    if found is None:
        known = ", ".join(_format_port(each) for each in selected.ports) or "none"
        raise GatewayNotFound(f"the Service {service} has no TCP port {quote_input(port)}: it has {known}")
    return _proxy_target(selected, found, namespace=namespace)


def select_api_target(services: Sequence[LiveService], *, namespace: str, names: Sequence[str]) -> ProxyTarget:
    """Return the port of the xApp's REST API: the one named http, rest or api, or the only one.

    Where several Services have one, it is that of the Service which is called like the xApp (`names`).

    Raises:
        NotFoundHere: when none or more than one fits; the message names them.
    """
    candidates = [offer for offer in _tcp_services(services) if not offer.is_external]
    # A headless twin of a Service exists for the names of its pods.
    candidates = [offer for offer in candidates if not offer.headless] or candidates
    all_ports = [(offer, port) for offer in candidates for port in offer.ports]
    matching = next(
        (found for name in API_PORT_NAMES if (found := [each for each in all_ports if each[1].name == name])), all_ports
    )
    if len(matching) > 1:
        same_name = ([each for each in matching if each[0].status.name == name] for name in names)
        matching = next((found for found in same_name if found), matching)
    if len(matching) == 1:
        return _proxy_target(*matching[0], namespace=namespace)
    known = ", ".join(f"{offer.status.name}/{port.name or port.port}" for offer, port in all_ports) or "none"
    raise GatewayNotFound(
        "which port is the API of the xApp cannot be told: it must be the only one, or be named http, rest or api; "
        f"there are {known}: ask for one of them with …/proxy/{{service}}/{{port}}/"
    )


@dataclass(frozen=True, slots=True)
class _TcpService:
    """One Service with its TCP ports."""

    status: ServiceStatus
    ports: tuple[ServicePort, ...]
    headless: bool
    is_external: bool


def _tcp_services(services: Iterable[LiveService]) -> list[_TcpService]:
    return [_tcp_service(live, live.status) for live in services]


def _tcp_service(live: LiveService, status: ServiceStatus) -> _TcpService:
    return _TcpService(
        status=status,
        ports=tuple(port for port in status.ports if (port.protocol or "TCP") == "TCP"),
        headless=live.headless,
        is_external=live.external_name is not None or status.type == "ExternalName",
    )


def _format_port(port: ServicePort) -> str:
    return f"{port.port} ({port.name})" if port.name else str(port.port)


def _proxy_target(service: _TcpService, port: ServicePort, *, namespace: str) -> ProxyTarget:
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


def _connect_address(service: _TcpService, port: ServicePort, *, namespace: str) -> HostPort | None:
    if not service.headless:
        return (service.status.cluster_ip, port.port) if service.status.cluster_ip else None
    # Nobody translates ports for a headless Service: its name leads to the pods themselves.
    target = port.target_port if port.target_port is not None else port.port
    return (f"{service.status.name}.{namespace}.svc", int(target)) if str(target).isdecimal() else None
