"""Which port of which Service a proxy path selects."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.proxied_xapp import NAMESPACE, PORT, SERVICE, service_object
from xapp_operator.errors import GatewayNotFound, RequestRefused
from xapp_operator.gateway.proxy.targets import select_api_target, select_target
from xapp_operator.monitor.live_objects import LiveObject, to_live_object
from xapp_operator.monitor.object_labels import read_labels

UNKNOWN_TARGETS = [
    ("kubernetes", "443"),
    ("kubernetes.default", "443"),
    ("evil.example.com", "80"),
    ("127.0.0.1", "80"),
    ("localhost", "80"),
    ("hello@evil.example.com", "80"),
    ("http:hello", "80"),
    ("https:hello:80", "80"),
    ("hello:80", "80"),
    ("hello%2f..%2fkubernetes", "443"),
    ("hello", "443"),
    ("hello", "0"),
    ("hello", "-80"),
    ("hello", "080"),
    ("hello", "80.0"),
    ("hello", "٨٠"),
    ("hello", "%D9%A8%D9%A0"),
    ("hello", "80@evil.example.com"),
    ("hello", "80%40evil.example.com"),
    ("hello", "80%2f..%2f..%2f"),
    ("hello", "http%00"),
    ("hello", "HTTP"),
    ("HELLO", "80"),
    ("..", "80"),
    ("%2e%2e", "80"),
    ("hello", ".."),
    ("hello%20", "80"),
    ("", "80"),
    ("hello", ""),
]


def live_service(name: str = SERVICE, *, namespace: str = NAMESPACE, **spec: Any) -> LiveObject:
    body = service_object(name, namespace=namespace, **spec)
    return to_live_object(body, kind="Service", owner=(NAMESPACE, "hello"), labels=read_labels({}, ()))


def ports(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "port": PORT + at, "protocol": "TCP"} for at, name in enumerate(names)]


@pytest.mark.parametrize(("service", "port"), UNKNOWN_TARGETS)
def test_only_services_and_ports_of_the_xapp_can_be_selected(service: str, port: str) -> None:
    with pytest.raises(GatewayNotFound, match=r"its (Services|ports) are"):
        select_target([live_service()], unquote(service), unquote(port), namespace=NAMESPACE)


@pytest.mark.parametrize("port", ["80", "http"])
def test_a_port_is_selected_by_number_or_name(port: str) -> None:
    target = select_target([live_service()], SERVICE, port, namespace=NAMESPACE)
    assert (target.service, target.port, target.port_number) == (SERVICE, "http", PORT)
    assert (target.address, target.authority) == (("10.0.0.7", PORT), f"{SERVICE}.{NAMESPACE}.svc")


def test_a_service_in_another_namespace_cannot_be_selected() -> None:
    with pytest.raises(GatewayNotFound, match="its Services are none"):
        select_target([live_service(namespace="elsewhere")], SERVICE, "80", namespace=NAMESPACE)


def test_an_external_name_is_refused() -> None:
    outside = live_service(type="ExternalName", externalName="evil.example.com")
    with pytest.raises(RequestRefused, match="ExternalName"):
        select_target([outside], SERVICE, "80", namespace=NAMESPACE)


def test_a_headless_service_is_selected_by_its_name_and_target_port() -> None:
    headless = live_service(clusterIP="None")
    assert select_target([headless], SERVICE, "80", namespace=NAMESPACE).address == (f"{SERVICE}.{NAMESPACE}.svc", 8080)


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([live_service(ports=ports("metrics"))], (SERVICE, "metrics")),
        ([live_service(ports=ports("metrics", "api"))], (SERVICE, "api")),
        ([live_service(ports=ports("api", "rest", "http"))], (SERVICE, "http")),
        ([live_service("other"), live_service()], (SERVICE, "http")),
        ([live_service(), live_service("twin", clusterIP="None")], (SERVICE, "http")),
    ],
)
def test_the_api_is_at_the_port_named_for_it_or_at_the_only_one(
    services: list[LiveObject], expected: tuple[str, str]
) -> None:
    target = select_api_target(services, namespace=NAMESPACE, names=("unused", SERVICE))
    assert (target.service, target.port) == expected


@pytest.mark.parametrize(
    ("services", "listed"),
    [
        ([], "the ports are none"),
        ([live_service(ports=ports("one", "two"))], "hello/one, hello/two"),
        ([live_service("a"), live_service("b")], "a/http, b/http"),
    ],
)
def test_an_ambiguous_api_is_not_found_and_its_ports_are_listed(services: list[LiveObject], listed: str) -> None:
    with pytest.raises(GatewayNotFound, match=listed):
        select_api_target(services, namespace=NAMESPACE, names=(SERVICE,))
