"""The URLs of the ports of Services."""

from __future__ import annotations

from typing import Any

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import ServicePort
from xapp_operator.gateway.xapps.config.service_addresses import port_scheme, services_with_addresses
from xapp_operator.monitor.live_objects import LiveObject, to_live_object
from xapp_operator.monitor.object_labels import read_labels

ADVERTISED = "192.0.2.7"


def live(kind: str, spec: dict[str, Any], *, namespace: str = "ran", name: str = "web", **status: Any) -> LiveObject:
    body: JsonObject = {
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }
    return to_live_object(body, kind=kind, owner=("ran", "hello"), labels=read_labels({}, ()))


def service(*ports: dict[str, Any], **spec: Any) -> LiveObject:
    given = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": list(ports), **spec}
    return live("Service", given)


def addresses(*objects: LiveObject, advertised: str | None = ADVERTISED) -> list[tuple[str, str]]:
    (found,) = services_with_addresses(
        objects, namespace="ran", name="hello", advertise_address=advertised, gateway_host="localhost:31315"
    )
    listed = found["addresses"]
    assert isinstance(listed, list)
    return [(each["url"], each["via"]) for each in listed]  # type: ignore[misc, index, call-overload]


HTTP = {"name": "http", "port": 8080, "targetPort": 80}
DNS = ("http://web.ran.svc:8080", "clusterDNS")
PROXY = ("/api/xapps/ran/hello/proxy/web/8080/", "proxy")


def test_a_service_has_addresses_in_the_cluster_and_through_the_gateway() -> None:
    assert addresses(service(HTTP)) == [DNS, PROXY]


def test_a_service_keeps_the_fields_of_its_record() -> None:
    (found,) = services_with_addresses(
        [service(HTTP)], namespace="ran", name="hello", advertise_address=None, gateway_host=""
    )
    assert (found["name"], found["type"], found["clusterIP"]) == ("web", "ClusterIP", "10.0.0.1")
    assert found["ports"] == [{**HTTP, "nodePort": None, "protocol": None, "appProtocol": None}]


def test_a_node_port_uses_the_address_of_the_cluster() -> None:
    exposed = service({**HTTP, "nodePort": 30080}, type="NodePort")
    assert addresses(exposed) == [("http://192.0.2.7:30080", "nodePort"), DNS, PROXY]
    assert addresses(exposed, advertised="2001:db8::1")[0] == ("http://[2001:db8::1]:30080", "nodePort")
    assert addresses(exposed, advertised=None) == [DNS, PROXY]


def test_a_load_balancer_uses_its_assigned_address() -> None:
    spec = {"type": "LoadBalancer", "ports": [{**HTTP, "nodePort": 30080}]}
    given = {"ingress": [{"ip": "198.51.100.4"}, {"hostname": "lb.example.com"}]}
    assert addresses(live("Service", spec, loadBalancer=given))[1:3] == [
        ("http://198.51.100.4:8080", "loadBalancer"),
        ("http://lb.example.com:8080", "loadBalancer"),
    ]


def rule(path: str, port: dict[str, Any], *, host: str | None = "web.example.com", to: str = "web") -> dict[str, Any]:
    backend = {"service": {"name": to, "port": port}}
    return {"host": host, "http": {"paths": [{"path": path, "backend": backend}]}}


def test_an_ingress_adds_addresses_to_the_ports_that_it_names() -> None:
    rules = [
        rule("/api", {"name": "http"}),
        rule("/x(/|$)(.*)", {"number": 8080}),
        rule("/other", {"number": 9}),
        rule("/elsewhere", {"number": 8080}, to="another"),
        rule("/", {"number": 8080}, host="*.example.com"),
    ]
    spec = {"rules": rules, "tls": [{"hosts": ["web.example.com"]}]}
    found = addresses(service(HTTP), live("Ingress", spec))
    assert found == [("https://web.example.com/api", "ingress"), ("https://web.example.com/x", "ingress"), DNS, PROXY]


def test_an_ingress_without_a_host_uses_its_own_address() -> None:
    spec = {"defaultBackend": {"service": {"name": "web", "port": {"number": 8080}}}}
    ingress = live("Ingress", spec, loadBalancer={"ingress": [{"ip": "198.51.100.4"}]})
    assert addresses(service(HTTP), ingress)[0] == ("http://198.51.100.4/", "ingress")


def test_a_headless_service_uses_its_target_port() -> None:
    found = addresses(service(HTTP, clusterIP="None"))
    assert found == [("http://web.ran.svc:80", "clusterDNS"), PROXY]
    named = addresses(service({**HTTP, "targetPort": "http"}, clusterIP="None"))
    assert named == [DNS, PROXY]


def test_the_proxy_supports_only_tcp() -> None:
    found = addresses(service({"name": "e2", "port": 36421, "protocol": "SCTP"}))
    assert found == [("sctp://web.ran.svc:36421", "clusterDNS")]


def test_a_service_of_another_namespace_has_no_address_through_the_gateway() -> None:
    elsewhere = live("Service", {"ports": [HTTP]}, namespace="shared")
    assert addresses(elsewhere) == [("http://web.shared.svc:8080", "clusterDNS")]


def test_an_external_name_has_no_address() -> None:
    assert addresses(service(HTTP, type="ExternalName", externalName="example.com")) == []


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"name": "http"}, "http"),
        ({"name": "rest"}, "http"),
        ({"name": "prometheus"}, "http"),
        ({}, "http"),
        ({"name": "https"}, "https"),
        ({"name": "https-admin"}, "https"),
        ({"port": 8443}, "https"),
        ({"name": "grpc"}, "grpc"),
        ({"name": "grpc-web"}, "grpc"),
        ({"name": "gnmi", "app_protocol": "grpc"}, "grpc"),
        ({"name": "x", "app_protocol": "HTTPS"}, "https"),
        ({"name": "x", "app_protocol": "kubernetes.io/h2c"}, "http"),
        ({"name": "x", "app_protocol": "kubernetes.io/wss"}, "wss"),
        ({"name": "x", "app_protocol": "example.com/own"}, "http"),
        ({"name": "rmr-data"}, "tcp"),
        ({"name": "redis"}, "tcp"),
        ({"name": "dns", "protocol": "UDP"}, "udp"),
    ],
)
def test_the_scheme_follows_the_protocol_of_the_port(port: dict[str, Any], expected: str) -> None:
    assert port_scheme(ServicePort(**{"port": 8080, **port})) == expected


@pytest.mark.parametrize(
    ("advertised", "gateway_host", "marked"),
    [
        ("192.0.2.7", "192.0.2.7:31315", {"nodePort"}),
        ("192.0.2.7", "192.0.2.7", {"nodePort"}),
        ("node1.example.com", "Node1.Example.com.:31315", {"nodePort"}),
        ("2001:db8::1", "[2001:DB8:0::1]:31315", {"nodePort"}),
        ("192.0.2.7", "gateway.example.com", set()),
        ("192.0.2.7", "192.0.2.70:31315", set()),
        ("192.0.2.7", "", set()),
        ("192.0.2.7", "web.ran.svc:31315", {"clusterDNS"}),
    ],
)
def test_addresses_on_the_host_of_the_gateway_are_marked(advertised: str, gateway_host: str, marked: set[str]) -> None:
    exposed = service({**HTTP, "nodePort": 30080}, type="NodePort")
    (found,) = services_with_addresses(
        [exposed], namespace="ran", name="hello", advertise_address=advertised, gateway_host=gateway_host
    )
    listed = found["addresses"]
    assert isinstance(listed, list)
    assert {each["via"] for each in listed if each["sameHost"]} == marked  # type: ignore[index, call-overload]
