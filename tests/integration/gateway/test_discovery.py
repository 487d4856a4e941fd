"""The list of the cluster's Services over REST: records, filters and permissions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer, JsonObject
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

PATH: Final = "/api/discovery/services"
SERVICES: Final = "/api/v1/namespaces/{}/services"
SECONDS: Final = 60.0
NETCONF: Final = {"name": "netconf", "port": 830, "targetPort": "ncd", "appProtocol": "example.com/netconf"}


def service(
    name: str, *ports: JsonObject, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> JsonObject:
    """Return a Service that needs no pod."""
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"ports": list(ports) or [{"port": 80}]}}


def list_services(http: httpx.Client, **query: Any) -> list[JsonObject]:
    answer = http.get(PATH, params={"per_page": 100, **query})
    assert answer.status_code == 200, answer.text
    content: list[JsonObject] = answer.json()["content"]
    return content


def names(http: httpx.Client, **query: Any) -> list[str]:
    return [each["name"] for each in list_services(http, **query)]


def wait_for_services(client: GatewayClient, *wanted: str) -> list[JsonObject]:
    """Wait until the namespace's list equals `wanted`."""
    wait_until(
        lambda: names(client.http, namespace=client.namespace) == list(wanted),
        timeout=SECONDS,
        what=f"Services {wanted}",
    )
    return list_services(client.http, namespace=client.namespace)


def xapp_of(client: GatewayClient, name: str) -> object:
    found: object = next(
        each["xApp"] for each in list_services(client.http, namespace=client.namespace) if each["name"] == name
    )
    return found


def wait_for_xapp(client: GatewayClient, name: str, wanted: str | None) -> None:
    """Wait until a Service belongs to the xApp `wanted`."""
    expected = {"namespace": client.namespace, "name": wanted} if wanted else None
    wait_until(lambda: xapp_of(client, name) == expected, timeout=SECONDS, what=f"{name} to be of {wanted}")


def test_a_service_is_listed_as_it_is_created_changed_and_deleted(client: GatewayClient) -> None:
    path = SERVICES.format(client.namespace)
    made = client.api.create(path, service("e2-node", NETCONF, labels={"app": "ric"}))
    (found,) = wait_for_services(client, "e2-node")
    port = {**NETCONF, "nodePort": None, "protocol": "TCP"}
    assert found == {
        "name": "e2-node",
        "namespace": client.namespace,
        "type": "ClusterIP",
        "clusterIP": made["spec"]["clusterIP"],
        "externalName": None,
        "labels": {"app": "ric"},
        "ports": [port],
        "xApp": None,
    }
    change = {"metadata": {"labels": {"app": None, "tier": "edge"}}, "spec": {"type": "NodePort"}}
    changed = client.api.patch(f"{path}/e2-node", change)
    wait_until(
        lambda: names(client.http, namespace=client.namespace, label="tier=edge") == ["e2-node"],
        timeout=SECONDS,
        what="the change",
    )
    (found,) = list_services(client.http, namespace=client.namespace)
    assert (found["type"], found["labels"]) == ("NodePort", {"tier": "edge"})
    assert found["ports"] == [{**port, "nodePort": changed["spec"]["ports"][0]["nodePort"]}]
    client.api.delete(f"{path}/e2-node")
    outside = {"type": "ExternalName", "externalName": "e2.example.com"}
    client.api.create(path, {"metadata": {"name": "outside"}, "spec": outside})
    (found,) = wait_for_services(client, "outside")
    assert (found["clusterIP"], found["externalName"]) == (None, "e2.example.com")
    client.api.delete(f"{path}/outside")
    wait_for_services(client)


@dataclass(frozen=True, slots=True)
class ManyServices:
    """Services in the namespaces `a` and `b`, all with one label whose value is unique to this run."""

    http: httpx.Client
    label_value: str
    a: str
    b: str


@pytest.fixture(scope="module")
def services(gateway: GatewayServer, api: ApiServer) -> Iterator[ManyServices]:
    mark = secrets.token_hex(4)
    a, b = (f"discovery-{mark}-{letter}" for letter in "ab")
    metrics, ours = {"name": "metrics", "port": 9090}, {"crowd": mark}
    placed = {
        a: [
            service("e2t", NETCONF, metrics, labels={**ours, "tier": "core", "ric/zone": "north"}),
            service("message-bus", {"port": 9092}, labels={**ours, "tier": "core", "ric/zone": "south"}),
            service("broker", {"name": "amqp", "port": 5672}, labels={**ours, "tier": ""}),
        ],
        b: [service("e2t", metrics, {"name": "80", "port": 8080}, labels={**ours, "ric/zone": "west"})],
    }
    for namespace, services in placed.items():
        api.create(NAMESPACES, {"metadata": {"name": namespace}})
        for each in services:
            api.create(SERVICES.format(namespace), each)
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        wait_until(lambda: len(names(http, label=f"crowd={mark}")) == 4, timeout=SECONDS, what="the crowd")
        yield ManyServices(http, mark, a, b)
    for namespace in placed:
        api.delete(f"{NAMESPACES}/{namespace}")


def test_the_list_is_paginated_and_sorted_by_namespace_and_name(services: ManyServices) -> None:
    query: dict[str, Any] = {"label": f"crowd={services.label_value}"}
    expected = [(services.a, "broker"), (services.a, "e2t"), (services.a, "message-bus"), (services.b, "e2t")]
    assert [(each["namespace"], each["name"]) for each in list_services(services.http, **query)] == expected
    answer = services.http.get(PATH, params={**query, "per_page": 3, "page": 2})
    body = answer.json()
    assert (body["page"], body["total_count"], body["last_page"], body["is_last_page"]) == (2, 4, 2, True)
    assert [(each["namespace"], each["name"]) for each in body["content"]] == expected[3:]
    assert 'page=1>; rel="prev"' in answer.headers["Link"]
    assert f"label=crowd%3D{services.label_value}" in answer.headers["Link"]
    again = services.http.get(answer.url, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert services.http.get(PATH, params={**query, "page": 2}).status_code == 400


MATCHING_NAMES: Final[dict[str, list[str]]] = {
    "label=tier=core": ["a/e2t", "a/message-bus"],
    "label=tier==core,ric/zone!=south": ["a/e2t"],
    "label=tier": ["a/broker", "a/e2t", "a/message-bus"],
    "label=tier=": ["a/broker"],
    "label=!tier": ["b/e2t"],
    "label=tier!=core": ["a/broker", "b/e2t"],
    "label=ric/zone in (north, west)": ["a/e2t", "b/e2t"],
    "label=ric/zone notin (north,south)": ["a/broker", "b/e2t"],
    "label=tier, ric/zone in (south)": ["a/message-bus"],
    "label=": ["a/broker", "a/e2t", "a/message-bus", "b/e2t"],
    "port=metrics": ["a/e2t", "b/e2t"],
    "port=9092": ["a/message-bus"],
    "port=80": ["b/e2t"],
    "port=830": ["a/e2t"],
    "port=netconf&label=tier=core": ["a/e2t"],
    "port=9999": [],
    "search=E2": ["a/e2t", "b/e2t"],
    "search=BUS": ["a/message-bus"],
    "search=e2&port=netconf": ["a/e2t"],
    "search=discovery": [],
}


@pytest.mark.parametrize("query", MATCHING_NAMES)
def test_services_are_found_by_label_port_and_name(services: ManyServices, query: str) -> None:
    parameters = dict(each.split("=", 1) for each in query.split("&"))
    places = {services.a: "a", services.b: "b"}
    found: list[str] = []
    for namespace, place in places.items():
        found += [f"{place}/{name}" for name in names(services.http, namespace=namespace, **parameters)]
    assert found == MATCHING_NAMES[query]
    everywhere = list_services(services.http, **parameters)
    here = [f"{places[each['namespace']]}/{each['name']}" for each in everywhere if each["namespace"] in places]
    assert here == MATCHING_NAMES[query]


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ({"label": "tier=core,"}, "a term is missing at its end"),
        ({"label": ","}, 'at ","'),
        ({"label": "tier in north"}, 'at "tier in north"'),
        ({"label": "a,tier in (north"}, 'at "tier in (north"'),
        ({"label": "port>80"}, 'at "port>80"'),
        ({"label": "a=b=c"}, 'at "a=b=c"'),
        ({"label": "Über=alles"}, 'at "Über=alles"'),
        ({"label": "/x"}, '"/x" is not a label key'),
        ({"label": "!-x"}, '"-x" is not a label key'),
        ({"label": f"{'x' * 64}=a"}, "is not a label key"),
        ({"label": "tier=-core"}, '"-core" is not a label value ("tier")'),
        ({"label": f"tier in (a,{'x' * 64})"}, 'is not a label value ("tier")'),
        ({"label": "x" * 2001}, "at most 2000 characters, not 2001"),
        ({"port": "Metrics"}, "lower-case"),
        ({"port": "x" * 64}, "1 to 63"),
        ({"sort": "name"}, "is not a parameter here"),
        ({"labels": "a=b"}, "did you mean 'label'?"),
    ],
)
def test_an_invalid_search_is_refused(services: ManyServices, query: dict[str, str], expected_message: str) -> None:
    answer = services.http.get(PATH, params=query)
    assert answer.status_code == 400, answer.text
    (error,) = answer.json()["errors"]
    assert error["field"] == next(iter(query))
    assert expected_message in error["message"]


def of_release(name: str, *, namespace: str, release: str, labels: dict[str, str] | None = None) -> JsonObject:
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    return service(name, labels=labels, annotations=annotations)


def test_a_service_belongs_to_the_xapp_of_its_release(client: GatewayClient) -> None:
    path, labels = SERVICES.format(client.namespace), {"drax/role": "xapp", "drax/xapp-name": "hello"}
    client.api.create(path, of_release("api", namespace=client.namespace, release="by-hand", labels=labels))
    client.api.create(path, of_release("unlabelled", namespace=client.namespace, release="by-hand"))
    client.api.create(path, service("bystander", labels={"app": "ric"}))
    wait_for_services(client, "api", "bystander", "unlabelled")
    wait_for_xapp(client, "api", "by-hand")
    wait_for_xapp(client, "unlabelled", "by-hand")
    client.api.create(
        XAPPS.format(client.namespace),
        xapp_manifest("adopted", namespace=client.namespace, releaseName="by-hand", adopt=True),
    )
    wait_for_xapp(client, "api", "adopted")
    wait_for_xapp(client, "unlabelled", "adopted")
    assert xapp_of(client, "bystander") is None
    client.api.delete(f"{XAPPS.format(client.namespace)}/adopted")
    wait_for_xapp(client, "api", "by-hand")


def test_the_operators_label_names_the_xapp_without_helm(client: GatewayClient) -> None:
    path = SERVICES.format(client.namespace)
    client.api.create(
        XAPPS.format(client.namespace), xapp_manifest("mine", namespace=client.namespace, releaseName="another")
    )
    labels = {"xapp-operator.io/xapp": "mine"}
    client.api.create(path, service("made-later", labels=labels))
    # Helm's annotation takes precedence over a label, and this release belongs to no xApp.
    client.api.create(path, of_release("of-nobody", namespace=client.namespace, release="mine"))
    client.api.create(path, of_release("of-elsewhere", namespace="default", release="another", labels=labels))
    wait_for_services(client, "made-later", "of-elsewhere", "of-nobody")
    wait_for_xapp(client, "made-later", "mine")
    assert (xapp_of(client, "of-nobody"), xapp_of(client, "of-elsewhere")) == (None, None)


def granted(caller_factory: CallerFactory, name: str, **rights: list[str]) -> str:
    """Create an account that may `resource=verbs` of the core group in the namespace; return its token."""
    token = caller_factory.create_account(name)
    caller_factory.grant(name, group="", **rights)
    return token


def test_callers_see_services_only_where_they_may_list_them(caller_factory: CallerFactory) -> None:
    caller_factory.api.create(SERVICES.format(caller_factory.namespace), service("api"))
    with (
        caller_factory.client_with_token(granted(caller_factory, "lister", services=["list"])) as lister,
        caller_factory.client_with_token(granted(caller_factory, "getter", services=["get"])) as getter,
    ):
        wait_until(lambda: names(lister.http) == ["api"], timeout=SECONDS, what="the right and the Service")
        assert names(lister.http, namespace=caller_factory.namespace) == ["api"]
        answer = getter.http.get(PATH)
        assert (answer.status_code, answer.json()["total_count"]) == (200, 0)
        refusals = [getter.http.get(PATH, params={"namespace": caller_factory.namespace, "label": ","})]
        refusals += [
            each.http.get(PATH, params={"namespace": namespace})
            for each in (lister, getter)
            for namespace in ("default", "nowhere-at-all")
        ]
        for refusal in refusals:
            assert refusal.status_code == 403, refusal.text
            assert "you may not list services" in refusal.json()["detail"]


def test_an_xapp_is_named_only_to_callers_who_may_list_xapps(caller_factory: CallerFactory) -> None:
    caller_factory.api.create(
        XAPPS.format(caller_factory.namespace),
        xapp_manifest("hidden", namespace=caller_factory.namespace, releaseName="r"),
    )
    caller_factory.api.create(
        SERVICES.format(caller_factory.namespace), of_release("api", namespace=caller_factory.namespace, release="r")
    )
    with (
        caller_factory.client_with_token(granted(caller_factory, "lister", services=["list"])) as desk,
        caller_factory.client_with_token(caller_factory.create_account("v", "view")) as v,
    ):
        expected_xapp = {"namespace": caller_factory.namespace, "name": "hidden"}
        wait_until(
            lambda: [each["xApp"] for each in list_services(v.http)] == [expected_xapp],
            timeout=SECONDS,
            what="the viewer",
        )
        wait_until(lambda: names(desk.http) == ["api"], timeout=SECONDS, what="the lister's right")
        for query in ({}, {"namespace": caller_factory.namespace}):
            assert [each["xApp"] for each in list_services(desk.http, **query)] == [None]
