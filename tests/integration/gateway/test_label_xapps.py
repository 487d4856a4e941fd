"""xApps without an XApp object, found by their labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS, ApiServer, JsonObject
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.helm_user import HelmUser
from tests.support.openapi_contract import OpenApiContract
from tests.support.vendor_charts import DRAX_STATEFULSET, drax_chart, sdran_chart
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
LABELLED: Final = 3
"""So many objects of drax_chart() carry labels."""

SERVICES: Final = "/api/v1/namespaces/{}/services"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"


@pytest.fixture
def helm_user(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[HelmUser]:
    one = HelmUser(cluster, namespace, tmp_path)
    yield one
    for release in ("by-hand", "other"):
        if any(each.startswith(release) for each in _releases(one)):
            one.uninstall(release)


def _releases(helm_user: HelmUser) -> list[str]:
    return helm_user.cluster.kubectl(
        "-n",
        helm_user.namespace,
        "get",
        "secrets",
        "-l",
        "owner=helm",
        "-o",
        "jsonpath={.items[*].metadata.labels.name}",
    ).split()


def list_xapps(client: GatewayClient, **query: Any) -> list[JsonObject]:
    answer = client.http.get("/api/xapps", params={"namespace": client.namespace, "per_page": 100, **query})
    assert answer.status_code == 200, answer.text
    found: list[JsonObject] = answer.json()["content"]
    return found


def wait_for_sources(client: GatewayClient, wanted: dict[str, str], *, what: str) -> list[JsonObject]:
    """Wait until the list of the namespace equals `wanted`, name → source."""

    def listed() -> list[list[JsonObject]]:
        found = list_xapps(client)
        return [found] if [(each["name"], each["source"]) for each in found] == list(wanted.items()) else []

    return wait_until(listed, timeout=WAIT_SECONDS, what=what)[0]


def wait_until_healthy(client: GatewayClient, name: str, *, objects: int = LABELLED) -> JsonObject:
    """Wait until the gateway knows this many objects of the xApp, and all are healthy."""

    def found() -> JsonObject | None:
        answer = client.http.get(f"/api/xapps/{client.namespace}/{name}")
        record: JsonObject = answer.json()
        known = answer.status_code == 200 and record["resources"]["total"] == objects
        return record if known and record["ready"] else None

    return wait_until(found, timeout=WAIT_SECONDS, what=f"{name} to be healthy")


def test_a_chart_with_labels_of_the_drax_kind_registers_itself(client: GatewayClient, helm_user: HelmUser) -> None:
    began = time.time()
    helm_user.install("by-hand", drax_chart())
    wait_for_sources(client, {"by-hand": "labels"}, what="the chart to register itself")
    record = wait_until_healthy(client, "by-hand")
    assert record["uid"] == f"{client.namespace}/by-hand"
    assert (record["xAppName"], record["version"], record["phase"]) == ("hello-world", "0.2.1", "Deployed")
    assert (record["organization"], record["team"], record["owner"], record["method"]) == (None, None, None, None)
    assert record["release"] == {
        "name": "by-hand",
        "revision": None,
        "chart": "hello-world",
        "chartVersion": "0.2.1",
        "appVersion": "7.1",
        "lastDeployed": None,
    }
    assert record["resources"] == {"total": 3, "ready": 3}
    assert [service["name"] for service in record["services"]] == ["by-hand-api"]
    assert [port["name"] for port in record["services"][0]["ports"]] == ["http"]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began - 2))
    assert created <= record["createdAt"] <= record["updatedAt"]


def test_a_registered_xapp_is_removed_with_its_release_although_claims_remain(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install("by-hand", drax_chart(store=DRAX_STATEFULSET))
    wait_for_sources(client, {"by-hand": "labels"}, what="the chart to register itself")
    claims = f"/api/v1/namespaces/{client.namespace}/persistentvolumeclaims"
    wait_until(lambda: client.api.names(claims), timeout=WAIT_SECONDS, what="the StatefulSet's claim")
    helm_user.uninstall("by-hand")
    wait_for_sources(client, {}, what="the xApp to leave the list")
    assert client.api.names(claims)
    assert client.http.get(f"/api/xapps/{client.namespace}/by-hand").status_code == 404


def test_objects_with_a_role_and_no_name_are_one_xapp_by_their_release(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install("by-hand", drax_chart(), name="")
    wait_for_sources(client, {"by-hand": "labels"}, what="the chart to register itself")
    assert wait_until_healthy(client, "by-hand")["xAppName"] == "by-hand"


def test_labels_without_helm_register_the_xapp_under_their_name(client: GatewayClient) -> None:
    labels = {"drax/role": "xapp", "drax/xapp-name": "Plain_one"}
    client.api.create(SERVICES.format(client.namespace), service("plain", labels))
    wait_for_sources(client, {"Plain_one": "labels"}, what="the Service to register itself")
    record = wait_until_healthy(client, "Plain_one", objects=1)
    assert (record["uid"], record["release"]["name"]) == (f"{client.namespace}/Plain_one", None)
    client.api.create(SERVICES.format(client.namespace), service("nameless", {"drax/role": "xapp"}))
    client.api.create(SERVICES.format(client.namespace), service("second", labels))

    def services() -> list[list[str]]:
        return [[service["name"] for service in each["services"]] for each in list_xapps(client)]

    wait_until(lambda: services() == [["plain", "second"]], timeout=WAIT_SECONDS, what="the second Service")


def test_an_unhealthy_labelled_deployment_shows_its_cause(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    wait_until_healthy(client, "by-hand")
    body = {"spec": {"selector": {"app": "x"}, "type": "LoadBalancer"}}
    client.api.patch(f"{SERVICES.format(client.namespace)}/by-hand-api", body)

    def unhealthy_record() -> JsonObject | None:
        (record,) = list_xapps(client)
        return record if record["phase"] == "Deploying" else None

    record = wait_until(unhealthy_record, timeout=WAIT_SECONDS, what="the Service to become unhealthy")
    assert (record["health"], record["ready"]) == ("Progressing", False)
    assert "Service by-hand-api: no load balancer" in record["message"]


def test_labels_register_an_object_in_its_own_namespace_only(client: GatewayClient, api: ApiServer) -> None:
    body = service("foreign", {"drax/role": "xapp", "drax/xapp-name": "foreign"})
    body["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "foreign",
        "meta.helm.sh/release-namespace": "default",
    }
    client.api.create(SERVICES.format(client.namespace), body)
    body = service("honest", {"drax/role": "xapp", "drax/xapp-name": "honest"})
    client.api.create(SERVICES.format(client.namespace), body)
    wait_for_sources(client, {"honest": "labels"}, what="the other Service to register itself")
    assert client.http.get("/api/xapps/default/foreign").status_code == 404


def test_the_release_of_an_xapp_is_listed_once(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart())
    wait_for_sources(client, {"by-hand": "labels"}, what="the chart to register itself")
    path = XAPPS.format(client.namespace)
    seen: list[list[tuple[str, str]]] = []
    client.api.create(path, xapp_manifest("adopted", namespace=client.namespace, releaseName="by-hand", adopt=True))

    def turned() -> bool:
        seen.append([(each["name"], each["source"]) for each in list_xapps(client)])
        return seen[-1] == [("adopted", "xapp")]

    wait_until(turned, timeout=WAIT_SECONDS, what="the XApp to stand for its release")
    assert all(len(listed) == 1 for listed in seen)
    client.api.delete(f"{path}/adopted")
    wait_for_sources(client, {"by-hand": "labels"}, what="the labels to speak again")


def test_an_xapp_that_comes_first_is_listed_once(client: GatewayClient, helm_user: HelmUser) -> None:
    path = XAPPS.format(client.namespace)
    client.api.create(path, xapp_manifest("first", namespace=client.namespace, releaseName="by-hand"))
    wait_for_sources(client, {"first": "xapp"}, what="the XApp")
    helm_user.install("by-hand", drax_chart())
    helm_user.install("other", drax_chart())
    wait_for_sources(client, {"first": "xapp", "other": "labels"}, what="the other chart to register itself")
    client.api.delete(f"{path}/first")
    wait_for_sources(client, {"by-hand": "labels", "other": "labels"}, what="the labels of the first to speak")


def test_orphaned_objects_are_registered_by_the_operators_labels(client: GatewayClient) -> None:
    labels = {
        "xapp-operator.io/xapp": "left",
        "xapp-operator.io/organization": "acme-corp",
        "xapp-operator.io/team": "ran",
        "xapp-operator.io/version": "0.3.0",
    }
    body = service("left", labels)
    body["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "left-release",
        "meta.helm.sh/release-namespace": client.namespace,
        "xapp-operator.io/organization": "ACME Corp",
    }
    client.api.create(SERVICES.format(client.namespace), body)
    wait_for_sources(client, {"left-release": "labels"}, what="what was left to register itself")
    record = list_xapps(client)[0]
    assert (record["xAppName"], record["organization"], record["team"]) == ("left", "ACME Corp", "ran")
    assert record["version"] == "0.3.0"


def test_objects_with_the_operators_label_belong_to_their_xapp_without_helm(client: GatewayClient) -> None:
    client.api.create(
        XAPPS.format(client.namespace),
        xapp_manifest("mine", namespace=client.namespace, releaseName="another-release-name"),
    )
    wait_for_sources(client, {"mine": "xapp"}, what="the XApp")
    client.api.create(SERVICES.format(client.namespace), service("made-later", {"xapp-operator.io/xapp": "mine"}))
    client.api.create(SERVICES.format(client.namespace), service("foreign", {"xapp-operator.io/xapp": "foreign"}))
    wait_for_sources(client, {"mine": "xapp", "foreign": "labels"}, what="the foreign Service")


def test_a_registered_xapp_is_filtered_sorted_and_searched_like_any_other(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    client.deploy()
    helm_user.install("by-hand", drax_chart())
    wait_for_sources(client, {XAPP_NAME: "xapp", "by-hand": "labels"}, what="both")
    assert [each["name"] for each in list_xapps(client, source="labels")] == ["by-hand"]
    assert [each["name"] for each in list_xapps(client, source="xapp")] == [XAPP_NAME]
    assert [each["name"] for each in list_xapps(client, search="HELLO-WORLD")] == ["by-hand"]
    assert [each["name"] for each in list_xapps(client, sort="name")] == [XAPP_NAME, "by-hand"]
    assert [each["name"] for each in list_xapps(client, sort="version", order="desc")] == ["by-hand", XAPP_NAME]


def test_changing_or_removing_a_registered_xapp_names_the_way_to_adopt_it(
    client: GatewayClient, helm_user: HelmUser
) -> None:
    helm_user.install("by-hand", drax_chart())
    wait_for_sources(client, {"by-hand": "labels"}, what="the chart to register itself")
    for answer in (
        client.delete_deployment({"name": "by-hand", "namespace": client.namespace}),
        client.put_deployment(client.deployment_form(), name="by-hand", file=drax_chart()),
    ):
        assert answer.status_code == 409
        detail = answer.json()["detail"]
        assert "releaseName: by-hand" in detail
        assert "adopt: true" in detail


def test_objects_without_a_release_name_the_way_to_adopt_them(client: GatewayClient) -> None:
    labels = {"drax/role": "xapp", "drax/xapp-name": "plain"}
    client.api.create(SERVICES.format(client.namespace), service("plain", labels))
    wait_for_sources(client, {"plain": "labels"}, what="the Service to register itself")
    answer = client.delete_deployment({"name": "plain", "namespace": client.namespace})
    assert answer.status_code == 409
    detail = answer.json()["detail"]
    assert "was not installed with Helm. To adopt it, create an XApp" in detail
    assert "releaseName: plain and adopt: true: its chart is installed, and takes over" in detail
    for part in ("manifest", "notes"):
        answer = client.http.get(f"/api/xapps/{client.namespace}/plain/{part}")
        assert answer.status_code == 404
        assert "has no Helm release: adopt it" in answer.json()["detail"]


def test_services_of_a_chart_without_labels_are_found_by_the_operators_labels(
    client: GatewayClient, helm_user: HelmUser, gateway: GatewayServer
) -> None:
    """As the operator labels them; without that, such a chart belongs to no xApp."""
    helm_user.install("by-hand", sdran_chart())
    labels = {"metadata": {"labels": {"xapp-operator.io/xapp": XAPP_NAME}}}
    namespace = client.namespace
    assert gateway.run_in_loop(lambda one: one.registry.objects(namespace, "by-hand")) == ()
    client.api.create(XAPPS.format(namespace), xapp_manifest(XAPP_NAME, namespace=namespace, releaseName="by-hand"))
    client.api.patch(f"{SERVICES.format(namespace)}/by-hand", labels)
    client.api.patch(f"{DEPLOYMENTS.format(namespace)}/by-hand", labels)

    def kinds() -> bool:
        objects = gateway.run_in_loop(lambda one: one.registry.objects(namespace, "by-hand"))
        return [each.health.kind for each in objects] == ["Deployment", "Service"]

    wait_until(kinds, timeout=WAIT_SECONDS, what="both objects")
    found = gateway.run_in_loop(lambda one: one.registry.objects(namespace, "by-hand"))
    assert found[1].service is not None
    ports = found[1].service.status.ports
    assert [(port.name, port.app_protocol) for port in ports][:2] == [("grpc", "grpc"), ("gnmi", "grpc")]
    assert (ports[2].target_port, ports[3].protocol) == ("metrics", "SCTP")
    client.write_status(ready_status())
    wait_for_sources(client, {XAPP_NAME: "xapp"}, what="one record")


def test_recognised_labels_are_configuration(client: GatewayClient, cluster: Cluster, tmp_path: Path) -> None:
    sets = '[{"selector": "acme.io/kind=xapp,acme.io/live", "name": "acme.io/name"}]'
    for name, labels in {
        "ours": {"acme.io/kind": "xapp", "acme.io/live": "", "acme.io/name": "ours"},
        "asleep": {"acme.io/kind": "xapp", "acme.io/name": "asleep"},
        "drax": {"drax/role": "xapp", "drax/xapp-name": "drax"},
    }.items():
        client.api.create(SERVICES.format(client.namespace), service(name, labels))
    settings = settings_for(cluster, tmp_path, label_sets=sets, namespaces=client.namespace)
    with (
        serve_gateway(settings) as other,
        other.client(event_hooks={"response": [OpenApiContract.from_gateway(other).check_response]}) as http,
    ):
        listed = http.get("/api/xapps").json()["content"]
    assert [each["name"] for each in listed] == ["ours"]


def service(name: str, labels: dict[str, str]) -> JsonObject:
    """Return a Service that needs no pod."""
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }
