"""Which items of lists somebody put in the place of the chart's, and how Helm becomes their manager."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.managed_fields import manages_all, pack_helm_fields, unpack_helm_fields
from xapp_operator.domain.replaced_items import ReplacedItem, find_replaced, hand_over, without_replaced

REFUSED = ("spec.ports[1].name",)
HTTP_8080, HTTP_9090 = 'k:{"port":8080,"protocol":"TCP"}', 'k:{"port":9090,"protocol":"TCP"}'
METRICS, MESH = 'k:{"port":9000,"protocol":"TCP"}', 'k:{"port":15000,"protocol":"TCP"}'
LEAVES: JsonObject = {".": {}, "f:name": {}, "f:port": {}}


def port(name: str, number: int, **more: Any) -> JsonObject:
    return {"name": name, "port": number, "protocol": "TCP", **more}


def entry(manager: str, fields: JsonObject, *, operation: str = "Update", version: str = "v1") -> JsonObject:
    return {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": copy.deepcopy(fields)}


def ports_of(*names: str) -> JsonObject:
    return {"f:spec": {"f:ports": {name: {**LEAVES} for name in names}}}


def service(*ports: JsonObject, **managers: JsonObject) -> JsonObject:
    """Return a live Service; Helm has applied the ports that it manages."""
    entries = [
        entry(name.replace("_", "-"), fields, operation="Apply" if name == "helm" else "Update")
        for name, fields in managers.items()
    ]
    return {"apiVersion": "v1", "spec": {"ports": [*ports]}, "metadata": {"name": "a", "managedFields": [*entries]}}


def chart(*ports: JsonObject) -> JsonObject:
    return {"apiVersion": "v1", "spec": {"ports": [*ports]}}


CHART = chart({"name": "http", "port": 8080}, {"name": "metrics", "port": 9000})
EDITED = service(port("http", 9090), port("metrics", 9000), helm=ports_of(METRICS), kubectl_edit=ports_of(HTTP_9090))


def test_an_item_with_another_key_that_the_api_server_refuses_beside_the_charts_one_replaced_it() -> None:
    assert find_replaced(EDITED, CHART, refused=REFUSED) == (
        ReplacedItem(("spec", "ports", "0"), ("f:spec", "f:ports", HTTP_9090), ("kubectl-edit",)),
    )


@pytest.mark.parametrize("refused", [(), ("spec.selector",), ("spec.portsOfOthers[0].name",), ("",), ("[",)])
def test_what_is_refused_elsewhere_tells_nothing_of_a_list(refused: tuple[str, ...]) -> None:
    assert find_replaced(EDITED, CHART, refused=refused) == ()


def test_an_item_beside_all_items_of_the_chart_was_added() -> None:
    live = service(
        port("http", 8080), port("metrics", 9000), port("mesh", 15000), helm=ports_of(HTTP_8080, METRICS),
        mesh=ports_of(MESH),
    )  # fmt: skip
    assert find_replaced(live, CHART, refused=REFUSED) == ()


def test_of_several_items_the_one_with_the_same_name_replaced_the_charts_one() -> None:
    live = service(
        port("mesh", 15000), port("http", 9090), port("metrics", 9000), helm=ports_of(METRICS),
        mesh=ports_of(MESH), kubectl_edit=ports_of(HTTP_9090),
    )  # fmt: skip
    (found,) = find_replaced(live, CHART, refused=REFUSED)
    assert (found.path, found.fields[-1]) == (("spec", "ports", "0"), HTTP_9090)


def test_the_only_other_item_replaced_the_only_missing_one_whatever_its_values() -> None:
    """Such as a port without a name, of which the API server wants one where there are two."""
    live = service({"port": 9090, "protocol": "TCP", "targetPort": 9090}, kubectl_edit=ports_of(HTTP_9090))
    refused = ("spec.ports[0].name", "spec.ports[1].name")
    (found,) = find_replaced(live, chart({"port": 8080, "targetPort": 8080}), refused=refused)
    assert found.fields[-1] == HTTP_9090


def test_of_several_items_without_anything_equal_none_counts() -> None:
    live = service(port("a", 9090), port("b", 15000), kubectl_edit=ports_of(HTTP_9090, MESH))
    assert find_replaced(live, chart({"name": "http", "port": 8080}), refused=REFUSED) == ()


def test_an_item_with_the_name_counts_more_than_one_with_another_value() -> None:
    live = service(
        port("web", 15000, nodePort=30080), port("http", 9090), mesh=ports_of(MESH), kubectl_edit=ports_of(HTTP_9090)
    )
    wanted = chart({"name": "http", "port": 8080, "nodePort": 30080})
    (found,) = find_replaced(live, wanted, refused=REFUSED)
    assert found.fields[-1] == HTTP_9090


def test_one_item_replaced_only_one_of_the_chart() -> None:
    live = service(port("web", 9090, appProtocol="http"), kubectl_edit=ports_of(HTTP_9090))
    wanted = chart(port("one", 1, appProtocol="http"), port("two", 2, appProtocol="http"))
    (found,) = find_replaced(live, wanted, refused=REFUSED)
    assert found.path == ("spec", "ports", "0")


def test_an_item_of_the_chart_that_somebody_else_manages_replaced_no_other_one() -> None:
    live = service(port("metrics", 9000), kubectl_edit=ports_of(METRICS))
    assert find_replaced(live, CHART, refused=REFUSED) == ()


def test_an_item_of_the_chart_without_its_keys_is_missing() -> None:
    live = service(port("http", 9090), kubectl_edit=ports_of(HTTP_9090))
    assert len(find_replaced(live, chart({"name": "http"}), refused=REFUSED)) == 1


def test_an_item_that_is_managed_and_not_in_the_list_replaced_nothing() -> None:
    live = service(port("metrics", 9000), helm=ports_of(METRICS), kubectl_edit=ports_of(HTTP_9090))
    assert find_replaced(live, CHART, refused=REFUSED) == ()


LIST: Json = [port("http", 9090)]


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        (LIST, None),
        (LIST, {}),
        (LIST, "x"),
        ({"a": 1}, None),
        ({"a": 1}, LIST),
        (None, LIST),
        (None, {}),
        (["x"], LIST),
    ],
)
def test_a_field_of_another_type_than_in_the_chart_is_no_list_with_replaced_items(wanted: Json, stored: Json) -> None:
    live = service(kubectl_edit={"f:spec": {"f:ports": {HTTP_9090: {**LEAVES}, "f:a": {}}}})
    live["spec"] = {"ports": stored}
    assert find_replaced(live, {"apiVersion": "v1", "spec": {"ports": wanted}}, refused=REFUSED) == ()


def test_an_item_that_another_manager_applies_must_stay() -> None:
    live = service(port("http", 9090), port("metrics", 9000), helm=ports_of(METRICS))
    live["metadata"]["managedFields"].append(entry("kustomize", ports_of(HTTP_9090), operation="Apply"))  # type: ignore[index, union-attr, call-overload]
    (found,) = find_replaced(live, CHART, refused=REFUSED)
    assert found.managers == ("kustomize",)
    assert found.obstacle == "the item in its place is applied server-side by kustomize: remove it there"


def test_an_item_that_was_written_in_another_version_must_stay() -> None:
    live = service(port("http", 9090), port("metrics", 9000), helm=ports_of(METRICS))
    live["metadata"]["managedFields"].append(entry("old", ports_of(HTTP_9090), version="v1beta1"))  # type: ignore[index, union-attr, call-overload]
    (found,) = find_replaced(live, CHART, refused=REFUSED)
    assert "another version of the API" in found.obstacle


@pytest.mark.parametrize("others", [{}, {"jane": ports_of(HTTP_9090)}])
def test_an_item_that_helm_manages_already_is_none(others: dict[str, JsonObject]) -> None:
    live = service(port("http", 9090), port("metrics", 9000), helm=ports_of(HTTP_9090, METRICS), **others)
    assert find_replaced(live, CHART, refused=REFUSED) == ()


def test_the_version_of_an_edit_is_compared_with_that_of_helms_last_apply() -> None:
    live: JsonObject = {**EDITED, "metadata": {"managedFields": []}}
    for helms, obstacle in ((), ""), ((entry("helm", {}, operation="Apply", version="v2"),), "another version"):
        live["metadata"] = {"managedFields": [*helms, entry("jane", ports_of(HTTP_9090))]}
        (found,) = find_replaced(live, CHART, refused=REFUSED)
        assert obstacle in found.obstacle
        assert bool(obstacle) == bool(found.obstacle)


def container(name: str, **more: Any) -> JsonObject:
    return {"name": name, "image": "x:1", "imagePullPolicy": "Always", "env": [{"name": "A", "value": "1"}], **more}


def pod(*containers: JsonObject, **managers: str) -> JsonObject:
    entries = [
        entry(manager, {"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}}}}})
        for manager, name in managers.items()
    ]
    return {"spec": {"containers": [*containers]}, "metadata": {"managedFields": [*entries]}, "apiVersion": "v1"}


WANTED: JsonObject = {"apiVersion": "v1", "spec": {"containers": [{"name": "main", "image": "x:1"}]}}


def test_an_item_that_is_equal_but_for_its_keys_replaced_the_charts_one() -> None:
    """Both may be there, so the API server refuses nothing; others may have added to the one."""
    renamed = container("renamed", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    live, desired = pod(renamed, jane="renamed"), pod(container("main"), renamed)
    (found,) = find_replaced(live, WANTED, desired=desired)
    assert found.path == ("spec", "containers", "0")
    assert found.fields == ("f:spec", "f:containers", 'k:{"name":"renamed"}')


@pytest.mark.parametrize("changed", [{"image": "y:1"}, {"env": []}, {"env": None}, {"env": ["A"]}])
def test_an_item_with_other_values_was_added_although_one_of_the_chart_is_missing(changed: JsonObject) -> None:
    other = container("sidecar", **changed)
    live, desired = pod(other, injector="sidecar"), pod(container("main"), other)
    assert find_replaced(live, WANTED, desired=desired) == ()


def test_one_equal_item_replaced_only_one_of_the_chart() -> None:
    wanted: JsonObject = {"spec": {"containers": [{"name": "main"}, {"name": "second"}]}}
    live, desired = (
        pod(*containers, container("renamed"), jane="renamed")
        for containers in ((), (container("main"), container("second")))
    )
    (found,) = find_replaced(live, wanted, desired=desired)
    assert found.path == ("spec", "containers", "0")


def test_of_ports_without_equal_names_the_one_with_the_same_port_of_the_nodes_replaced_the_charts_one() -> None:
    live = service(
        port("mesh", 15000), port("web", 9090, nodePort=30080), mesh=ports_of(MESH), kubectl_edit=ports_of(HTTP_9090)
    )
    wanted = chart({"name": "http", "port": 8080, "nodePort": 30080})
    (found,) = find_replaced(live, wanted, refused=["spec.ports"])
    assert found.fields[-1] == HTTP_9090


def test_one_equal_value_is_no_sign() -> None:
    """Somebody removed a variable, and a controller added another one with the same text."""
    variable: JsonObject = {"f:env": {'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}}}}
    live: JsonObject = {"env": [{"name": "B", "value": "true"}], "metadata": {"managedFields": [entry("c", variable)]}}
    wanted: JsonObject = {"env": [{"name": "A", "value": "true"}]}
    desired: JsonObject = {"env": [{"name": "A", "value": "true"}, {"name": "B", "value": "true"}]}
    assert find_replaced(live, wanted, desired=desired) == ()


def test_two_equal_values_are_a_sign() -> None:
    both: JsonObject = {"image": "x:1", "imagePullPolicy": "Always"}
    live, desired = (
        pod(*listed, {"name": "renamed", **both}, jane="renamed") for listed in ((), ({"name": "main", **both},))
    )
    assert len(find_replaced(live, WANTED, desired=desired)) == 1


def test_lists_in_items_that_stay_are_looked_at() -> None:
    name, ports = 'k:{"name":"main"}', 'k:{"containerPort":9090,"protocol":"TCP"}'
    fields: JsonObject = {"f:spec": {"f:containers": {name: {"f:ports": {ports: {".": {}, "f:containerPort": {}}}}}}}
    changed = container("main", ports=[{"name": "http", "containerPort": 9090, "protocol": "TCP"}])
    live: JsonObject = {"spec": {"containers": [container("sidecar"), changed]}, "apiVersion": "v1"}
    live["metadata"] = {"managedFields": [entry("jane", fields)]}
    listed: JsonObject = {"name": "main", "ports": [{"name": "http", "containerPort": 8080}]}
    wanted: JsonObject = {"spec": {"containers": [listed]}}
    (found,) = find_replaced(live, wanted, refused=["spec.containers[0].ports[1].name"])
    assert found.path == ("spec", "containers", "0", "ports", "0")
    assert found.fields == ("f:spec", "f:containers", name, "f:ports", ports)


def test_large_lists_cost_a_bounded_time() -> None:
    ports = [port(str(number), number) for number in range(10_000)]
    names = [f'k:{{"port":{number},"protocol":"TCP"}}' for number in range(10_000)]
    live = service(*ports, jane=ports_of(*names))
    assert find_replaced(live, chart(*(port("x", number) for number in range(20_000, 30_000))), refused=REFUSED) == ()


@pytest.mark.parametrize(("in_manifest", "live", "expected"), [(2, 498, 1), (2, 499, 0)])
def test_500_items_of_one_object_are_looked_at(in_manifest: int, live: int, expected: int) -> None:
    found = service(
        port("http", 9090), *(port("metrics", 9000) for _ in range(live - 1)), kubectl_edit=ports_of(HTTP_9090)
    )
    assert len(CHART["spec"]["ports"]) == in_manifest  # type: ignore[index, call-overload, arg-type]
    assert len(find_replaced(found, CHART, refused=REFUSED)) == expected


@pytest.mark.parametrize("refused", [REFUSED, ()])
@pytest.mark.parametrize(("before", "expected"), [(49, 1), (50, 0)])
@pytest.mark.parametrize("is_missing", [True, False])
def test_of_one_list_50_missing_items_and_50_others_are_compared(
    refused: tuple[str, ...], before: int, expected: int, is_missing: bool
) -> None:
    numbers = range(1, before + 1)
    unlike = [port(f"unlike-{number}", number) for number in numbers]
    names = [f'k:{{"port":{number},"protocol":"TCP"}}' for number in numbers]
    missing, others = (unlike, []) if is_missing else ([], unlike)
    wanted, edited = port("http", 8080, nodePort=30080), port("http", 9090, nodePort=30080)
    live = service(*others, edited, jane=ports_of(*(() if is_missing else names), HTTP_9090))
    desired = service(*others, edited, *missing, wanted)
    found = find_replaced(live, chart(*missing, wanted), desired=desired, refused=refused)
    assert len(found) == expected


@pytest.mark.parametrize(
    ("count", "reverse", "expected"),
    [(9992, False, 1), (9993, False, 0), (100, True, 1), (2000, True, 0)],
)
def test_long_lists_in_items_cost_a_bounded_time(count: int, reverse: bool, expected: int) -> None:
    """Otherwise, one list in reverse order would keep all XApps waiting. 10,000 values are compared."""
    args = [f"--flag-{number}" for number in range(count)]
    renamed = container("renamed", args=args[::-1] if reverse else args)
    live, desired = pod(renamed, jane="renamed"), pod(container("main", args=args), renamed)
    assert len(find_replaced(live, WANTED, desired=desired)) == expected


def test_helm_becomes_the_only_manager_of_an_item_and_others_keep_the_rest() -> None:
    live = copy.deepcopy(EDITED)
    live["metadata"]["managedFields"][1]["fieldsV1"]["f:metadata"] = {"f:labels": {"f:a": {}}}  # type: ignore[index, call-overload]
    before = copy.deepcopy(live)
    entries = hand_over(live, find_replaced(live, CHART, refused=REFUSED), api_version="v1")
    assert live == before
    assert entries == [
        entry("helm", ports_of(METRICS, HTTP_9090), operation="Apply"),
        entry("kubectl-edit", {"f:metadata": {"f:labels": {"f:a": {}}}}),
    ]
    handed: JsonObject = {**live, "metadata": {"managedFields": entries}}
    assert find_replaced(handed, CHART, refused=REFUSED) == ()
    assert not manages_all(unpack_helm_fields(pack_helm_fields(handed)), CHART), "it is still no object as applied"


def test_a_manager_without_other_fields_goes_and_helm_gets_an_entry_of_its_own() -> None:
    live = service(port("http", 9090), kubectl_edit=ports_of(HTTP_9090))
    helm_3 = entry("helm", {"f:spec": {"f:type": {}}})
    live["metadata"]["managedFields"].append(helm_3)  # type: ignore[index, union-attr, call-overload]
    entries = hand_over(live, find_replaced(live, CHART, refused=REFUSED), api_version="v1")
    assert entries == [helm_3, {**entry("helm", ports_of(HTTP_9090), operation="Apply"), "fieldsType": "FieldsV1"}]


def test_others_keep_their_items_of_the_list() -> None:
    live = service(
        port("http", 9090), port("metrics", 9000), port("mesh", 15000), helm=ports_of(METRICS),
        kubectl_edit=ports_of(HTTP_9090, MESH), mesh=ports_of(MESH),
    )  # fmt: skip
    entries = hand_over(live, find_replaced(live, CHART, refused=REFUSED), api_version="v1")
    assert entries == [
        entry("helm", ports_of(METRICS, HTTP_9090), operation="Apply"),
        entry("kubectl-edit", ports_of(MESH)),
        entry("mesh", ports_of(MESH)),
    ]


def test_a_state_without_replaced_items_has_all_others() -> None:
    replaced = find_replaced(EDITED, CHART, refused=REFUSED)
    before = copy.deepcopy(EDITED)
    assert without_replaced(EDITED, replaced)["spec"] == {"ports": [port("metrics", 9000)]}
    assert before == EDITED


@pytest.mark.parametrize("spec", [{}, {"ports": None}, {"ports": "x"}, {"ports": [port("metrics", 9000)]}])
def test_a_state_that_does_not_have_the_replaced_items_stays(spec: JsonObject) -> None:
    state: JsonObject = {"spec": spec}
    assert without_replaced(state, find_replaced(EDITED, CHART, refused=REFUSED)) == state
