"""xApps that no XApp stands for: found by their labels, however they were installed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.desk import NAME, Desk, ready
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS, ApiServer, Object
from tests.support.contract import Contract
from tests.support.gateway import Serving, serving
from tests.support.manifest import xapp
from tests.support.person import Person
from tests.support.styles import STATEFUL, drax_chart, sdran_chart

pytestmark = pytest.mark.integration

PATIENCE: Final = 60.0
LABELLED: Final = 3
"""So many objects of drax_chart() carry labels."""

SERVICES: Final = "/api/v1/namespaces/{}/services"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"


@pytest.fixture
def person(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Person]:
    one = Person(cluster, namespace, tmp_path)
    yield one
    for release in ("by-hand", "other"):
        if any(each.startswith(release) for each in _releases(one)):
            one.uninstall(release)


def _releases(person: Person) -> list[str]:
    return person.cluster.kubectl(
        "-n", person.namespace, "get", "secrets", "-l", "owner=helm", "-o", "jsonpath={.items[*].metadata.labels.name}"
    ).split()


def content(desk: Desk, **query: Any) -> list[Object]:
    answer = desk.http.get("/api/xapps", params={"namespace": desk.namespace, "per_page": 100, **query})
    assert answer.status_code == 200, answer.text
    found: list[Object] = answer.json()["content"]
    return found


def until(desk: Desk, wanted: dict[str, str], *, what: str) -> list[Object]:
    """Wait until the list of the namespace is just `wanted`, name → source."""

    def listed() -> list[list[Object]]:
        found = content(desk)
        return [found] if [(each["name"], each["source"]) for each in found] == list(wanted.items()) else []

    return wait_until(listed, timeout=PATIENCE, what=what)[0]


def healthy(desk: Desk, name: str, *, objects: int = LABELLED) -> Object:
    """Wait until the gateway knows so many objects of it, each kind by a watch of its own, and all are well."""

    def found() -> Object | None:
        answer = desk.http.get(f"/api/xapps/{desk.namespace}/{name}")
        record: Object = answer.json()
        known = answer.status_code == 200 and record["resources"]["total"] == objects
        return record if known and record["ready"] else None

    return wait_until(found, timeout=PATIENCE, what=f"{name} to be healthy")


def test_a_chart_with_labels_of_the_drax_kind_registers_itself(desk: Desk, person: Person) -> None:
    began = time.time()
    person.install("by-hand", drax_chart())
    until(desk, {"by-hand": "labels"}, what="the chart to register itself")
    record = healthy(desk, "by-hand")
    assert record["uid"] == f"{desk.namespace}/by-hand"
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


def test_it_leaves_with_its_release_although_claims_stay_behind(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart(store=STATEFUL))
    until(desk, {"by-hand": "labels"}, what="the chart to register itself")
    claims = f"/api/v1/namespaces/{desk.namespace}/persistentvolumeclaims"
    wait_until(lambda: desk.api.names(claims), timeout=PATIENCE, what="the StatefulSet's claim")
    person.uninstall("by-hand")
    until(desk, {}, what="the xApp to leave the list")
    assert desk.api.names(claims)
    assert desk.http.get(f"/api/xapps/{desk.namespace}/by-hand").status_code == 404


def test_objects_with_a_role_and_no_name_are_one_xapp_by_their_release(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart(), name="")
    until(desk, {"by-hand": "labels"}, what="the chart to register itself")
    assert healthy(desk, "by-hand")["xAppName"] == "by-hand"


def test_labels_without_helm_register_under_the_name_that_they_give(desk: Desk) -> None:
    labels = {"drax/role": "xapp", "drax/xapp-name": "Plain_one"}
    desk.api.create(SERVICES.format(desk.namespace), service("plain", labels))
    until(desk, {"Plain_one": "labels"}, what="the Service to register itself")
    record = healthy(desk, "Plain_one", objects=1)
    assert (record["uid"], record["release"]["name"]) == (f"{desk.namespace}/Plain_one", None)
    desk.api.create(SERVICES.format(desk.namespace), service("nameless", {"drax/role": "xapp"}))
    desk.api.create(SERVICES.format(desk.namespace), service("second", labels))

    def services() -> list[list[str]]:
        return [[service["name"] for service in each["services"]] for each in content(desk)]

    wait_until(lambda: services() == [["plain", "second"]], timeout=PATIENCE, what="the second Service")


def test_what_ails_a_labelled_deployment_is_told(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    healthy(desk, "by-hand")
    body = {"spec": {"selector": {"app": "x"}, "type": "LoadBalancer"}}
    desk.api.patch(f"{SERVICES.format(desk.namespace)}/by-hand-api", body)

    def ailing() -> Object | None:
        (record,) = content(desk)
        return record if record["phase"] == "Deploying" else None

    record = wait_until(ailing, timeout=PATIENCE, what="the Service to ail")
    assert (record["health"], record["ready"]) == ("Progressing", False)
    assert "Service by-hand-api: no load balancer" in record["message"]


def test_an_object_speaks_for_its_own_namespace_only(desk: Desk, api: ApiServer) -> None:
    body = service("foreign", {"drax/role": "xapp", "drax/xapp-name": "foreign"})
    body["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "foreign",
        "meta.helm.sh/release-namespace": "default",
    }
    desk.api.create(SERVICES.format(desk.namespace), body)
    body = service("honest", {"drax/role": "xapp", "drax/xapp-name": "honest"})
    desk.api.create(SERVICES.format(desk.namespace), body)
    until(desk, {"honest": "labels"}, what="the other Service to register itself")
    assert desk.http.get("/api/xapps/default/foreign").status_code == 404


def test_a_release_that_an_xapp_stands_for_is_listed_once(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    until(desk, {"by-hand": "labels"}, what="the chart to register itself")
    path = XAPPS.format(desk.namespace)
    seen: list[list[tuple[str, str]]] = []
    desk.api.create(path, xapp("adopted", namespace=desk.namespace, releaseName="by-hand", adopt=True))

    def turned() -> bool:
        seen.append([(each["name"], each["source"]) for each in content(desk)])
        return seen[-1] == [("adopted", "xapp")]

    wait_until(turned, timeout=PATIENCE, what="the XApp to stand for its release")
    assert all(len(listed) == 1 for listed in seen)
    desk.api.delete(f"{path}/adopted")
    until(desk, {"by-hand": "labels"}, what="the labels to speak again")


def test_an_xapp_that_comes_first_is_listed_once(desk: Desk, person: Person) -> None:
    path = XAPPS.format(desk.namespace)
    desk.api.create(path, xapp("first", namespace=desk.namespace, releaseName="by-hand"))
    until(desk, {"first": "xapp"}, what="the XApp")
    person.install("by-hand", drax_chart())
    person.install("other", drax_chart())
    until(desk, {"first": "xapp", "other": "labels"}, what="the other chart to register itself")
    desk.api.delete(f"{path}/first")
    until(desk, {"by-hand": "labels", "other": "labels"}, what="the labels of the first to speak")


def test_what_the_operator_labelled_and_left_is_found_by_those_labels(desk: Desk) -> None:
    labels = {
        "xapp-operator.io/xapp": "left",
        "xapp-operator.io/organization": "acme-corp",
        "xapp-operator.io/team": "ran",
        "xapp-operator.io/version": "0.3.0",
    }
    body = service("left", labels)
    body["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "left-release",
        "meta.helm.sh/release-namespace": desk.namespace,
        "xapp-operator.io/organization": "ACME Corp",
    }
    desk.api.create(SERVICES.format(desk.namespace), body)
    until(desk, {"left-release": "labels"}, what="what was left to register itself")
    record = content(desk)[0]
    assert (record["xAppName"], record["organization"], record["team"]) == ("left", "ACME Corp", "ran")
    assert record["version"] == "0.3.0"


def test_objects_that_carry_our_label_without_helm_are_part_of_their_xapp(desk: Desk) -> None:
    desk.api.create(
        XAPPS.format(desk.namespace), xapp("mine", namespace=desk.namespace, releaseName="another-release-name")
    )
    until(desk, {"mine": "xapp"}, what="the XApp")
    desk.api.create(SERVICES.format(desk.namespace), service("made-later", {"xapp-operator.io/xapp": "mine"}))
    desk.api.create(SERVICES.format(desk.namespace), service("foreign", {"xapp-operator.io/xapp": "foreign"}))
    until(desk, {"mine": "xapp", "foreign": "labels"}, what="the foreign Service")


def test_it_is_filtered_sorted_and_searched_like_any_other(desk: Desk, person: Person) -> None:
    desk.deploy()
    person.install("by-hand", drax_chart())
    until(desk, {NAME: "xapp", "by-hand": "labels"}, what="both")
    assert [each["name"] for each in content(desk, source="labels")] == ["by-hand"]
    assert [each["name"] for each in content(desk, source="xapp")] == [NAME]
    assert [each["name"] for each in content(desk, search="HELLO-WORLD")] == ["by-hand"]
    assert [each["name"] for each in content(desk, sort="name")] == [NAME, "by-hand"]
    assert [each["name"] for each in content(desk, sort="version", order="desc")] == ["by-hand", NAME]


def test_changing_or_removing_it_is_refused_with_the_way_to_adopt_it(desk: Desk, person: Person) -> None:
    person.install("by-hand", drax_chart())
    until(desk, {"by-hand": "labels"}, what="the chart to register itself")
    for answer in (
        desk.delete({"name": "by-hand", "namespace": desk.namespace}),
        desk.put(desk.form(), name="by-hand", file=drax_chart()),
    ):
        assert answer.status_code == 409
        detail = answer.json()["detail"]
        assert "releaseName: by-hand" in detail
        assert "adopt: true" in detail


def test_what_has_no_release_cannot_be_adopted_and_the_refusal_says_so(desk: Desk) -> None:
    labels = {"drax/role": "xapp", "drax/xapp-name": "plain"}
    desk.api.create(SERVICES.format(desk.namespace), service("plain", labels))
    until(desk, {"plain": "labels"}, what="the Service to register itself")
    answer = desk.delete({"name": "plain", "namespace": desk.namespace})
    assert answer.status_code == 409
    assert "was not installed with Helm" in answer.json()["detail"]


def test_services_of_a_chart_without_any_label_are_found_by_ours(desk: Desk, person: Person, gateway: Serving) -> None:
    """As after the operator's labelling; by itself such a chart is nobody's."""
    person.install("by-hand", sdran_chart())
    labels = {"metadata": {"labels": {"xapp-operator.io/xapp": NAME}}}
    namespace = desk.namespace
    assert gateway.call(lambda one: one.registry.objects(namespace, "by-hand")) == ()
    desk.api.create(XAPPS.format(namespace), xapp(NAME, namespace=namespace, releaseName="by-hand"))
    desk.api.patch(f"{SERVICES.format(namespace)}/by-hand", labels)
    desk.api.patch(f"{DEPLOYMENTS.format(namespace)}/by-hand", labels)

    def kinds() -> bool:
        objects = gateway.call(lambda one: one.registry.objects(namespace, "by-hand"))
        return [each.health.kind for each in objects] == ["Deployment", "Service"]

    wait_until(kinds, timeout=PATIENCE, what="both objects")
    found = gateway.call(lambda one: one.registry.objects(namespace, "by-hand"))
    assert found[1].service is not None
    ports = found[1].service.status.ports
    assert [(port.name, port.app_protocol) for port in ports][:2] == [("grpc", "grpc"), ("gnmi", "grpc")]
    assert (ports[2].target_port, ports[3].protocol) == ("metrics", "SCTP")
    desk.report(ready())
    until(desk, {NAME: "xapp"}, what="one record")


def test_recognised_labels_are_configuration(desk: Desk, cluster: Cluster, tmp_path: Path) -> None:
    sets = '[{"selector": "acme.io/kind=xapp,acme.io/live", "name": "acme.io/name"}]'
    for name, labels in {
        "ours": {"acme.io/kind": "xapp", "acme.io/live": "", "acme.io/name": "ours"},
        "asleep": {"acme.io/kind": "xapp", "acme.io/name": "asleep"},
        "drax": {"drax/role": "xapp", "drax/xapp-name": "drax"},
    }.items():
        desk.api.create(SERVICES.format(desk.namespace), service(name, labels))
    settings = settings_for(cluster, tmp_path, label_sets=sets, namespaces=desk.namespace)
    with serving(settings) as other, other.client(event_hooks={"response": [Contract.of(other).check]}) as http:
        listed = http.get("/api/xapps").json()["content"]
    assert [each["name"] for each in listed] == ["ours"]


def service(name: str, labels: dict[str, str]) -> Object:
    """Return a Service that needs no pod."""
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }
