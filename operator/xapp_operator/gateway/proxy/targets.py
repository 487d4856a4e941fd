"""Which port of which Service a path means: only Services of that xApp, in its namespace. Pure.

Lives in the gateway beside the registry that tells which Services there are. What a caller sends only picks from that
list; no address is ever made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.models import ServicePort, ServiceStatus
from xapp_operator.errors import NotFoundHere, RequestRefused
from xapp_operator.gateway.query import shown
from xapp_operator.monitor.live import LiveObject, LiveService

API_PORTS: Final = ("http", "rest", "api")
"""Names by which a port is taken for the one of the REST API, the best first."""

_HTTPS: Final = frozenset({"https", "kubernetes.io/wss"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

Address: TypeAlias = tuple[str, int]
"""An IP address or a name, and a port."""


@dataclass(frozen=True, slots=True)
class Target:
    """One TCP port of one Service; `port` is what names it at the API server, `address` where to connect to."""

    namespace: str
    service: str
    port: str
    number: int
    https: bool
    address: Address | None
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
        return self.host if self.number == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.number}"

    def is_named_by(self, host: str, port: int | None, *, scheme: str) -> bool:
        """Tell whether a URL of an answer means this port: by a name of the Service, or by its address."""
        if (port or _DEFAULT_PORTS.get(scheme)) != self.number:
            return False
        name = host.lower().rstrip(".")
        return name in {self.service, f"{self.service}.{self.namespace}", self.cluster_ip} or (
            name == self.host or name.startswith(f"{self.host}.")
        )


def services_of(objects: Iterable[LiveObject], *, namespace: str) -> list[LiveService]:
    """Return the Services among the objects of an xApp that lie in its namespace."""
    return [live.service for live in objects if live.service is not None and live.key[1] == namespace]


def target_of(services: Sequence[LiveService], service: str, port: str, *, namespace: str) -> Target:
    """Return what `service` and `port` (name or number) mean.

    Raises:
        NotFoundHere: when the xApp has no such Service or port; the message names those that it has.
        RequestRefused: for an ExternalName Service, which leads out of the cluster.
    """
    offers = _offers(services)
    offer = next((each for each in offers if each.status.name == service), None)
    if offer is None:
        names = ", ".join(sorted(each.status.name for each in offers)) or "none"
        raise NotFoundHere(f"the xApp has no Service {shown(service)} in its namespace: it has {names}")
    if offer.leads_out:
        raise RequestRefused(
            f"the Service {shown(service)} is of type ExternalName, which leads to another host: ask that host itself"
        )
    found = next((each for each in offer.ports if port in (each.name, str(each.port))), None)
    if found is None:
        known = ", ".join(_spelled(each) for each in offer.ports) or "none"
        raise NotFoundHere(f"the Service {service} has no TCP port {shown(port)}: it has {known}")
    return _target(offer, found, namespace=namespace)


def api_target(services: Sequence[LiveService], *, namespace: str, names: Sequence[str]) -> Target:
    """Return the port of the xApp's REST API: the one named http, rest or api, or the only one.

    Where several Services have one, it is that of the Service which is called like the xApp (`names`).

    Raises:
        NotFoundHere: when none or more than one fits; the message names them.
    """
    offers = [offer for offer in _offers(services) if not offer.leads_out]
    # A headless twin of a Service exists for the names of its pods.
    offers = [offer for offer in offers if not offer.headless] or offers
    every = [(offer, port) for offer in offers for port in offer.ports]
    fitting = next((found for name in API_PORTS if (found := [each for each in every if each[1].name == name])), every)
    if len(fitting) > 1:
        own = ([each for each in fitting if each[0].status.name == name] for name in names)
        fitting = next((found for found in own if found), fitting)
    if len(fitting) == 1:
        return _target(*fitting[0], namespace=namespace)
    known = ", ".join(f"{offer.status.name}/{port.name or port.port}" for offer, port in every) or "none"
    raise NotFoundHere(
        "which port is the API of the xApp cannot be told: it must be the only one, or be named http, rest or api; "
        f"there are {known}: ask for one of them with …/proxy/{{service}}/{{port}}/"
    )


@dataclass(frozen=True, slots=True)
class _Offer:
    """One Service with its TCP ports."""

    status: ServiceStatus
    ports: tuple[ServicePort, ...]
    headless: bool
    leads_out: bool


def _offers(services: Iterable[LiveService]) -> list[_Offer]:
    return [_offer(live, live.status) for live in services]


def _offer(live: LiveService, status: ServiceStatus) -> _Offer:
    return _Offer(
        status=status,
        ports=tuple(port for port in status.ports if (port.protocol or "TCP") == "TCP"),
        headless=live.headless,
        leads_out=live.external_name is not None or status.type == "ExternalName",
    )


def _spelled(port: ServicePort) -> str:
    return f"{port.port} ({port.name})" if port.name else str(port.port)


def _target(offer: _Offer, port: ServicePort, *, namespace: str) -> Target:
    name = port.name or ""
    https = port.app_protocol in _HTTPS if port.app_protocol else name == "https" or name.startswith("https-")
    return Target(
        namespace=namespace,
        service=offer.status.name,
        port=name or str(port.port),
        number=port.port,
        https=https,
        address=_address(offer, port, namespace=namespace),
        cluster_ip=offer.status.cluster_ip or "",
    )


def _address(offer: _Offer, port: ServicePort, *, namespace: str) -> Address | None:
    if not offer.headless:
        return (offer.status.cluster_ip, port.port) if offer.status.cluster_ip else None
    # Nobody translates ports for a headless Service: its name leads to the pods themselves.
    target = port.target_port if port.target_port is not None else port.port
    return (f"{offer.status.name}.{namespace}.svc", int(target)) if str(target).isdecimal() else None
