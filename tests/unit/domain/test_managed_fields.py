"""Whether Helm manages every field of a manifest, in the format that the API server writes."""

from __future__ import annotations

import pytest

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain import managed_fields
from xapp_operator.domain.managed_fields import (
    has_other_managers,
    managers_of,
    manages_all,
    pack_helm_fields,
    unpack_helm_fields,
)

CONTAINER: JsonObject = {
    ".": {},
    "f:args": {},
    "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
    "f:image": {},
    "f:name": {},
    "f:ports": {
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
        'k:{"containerPort":80,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
    },
    "f:resources": {"f:limits": {"f:cpu": {}}},
    "f:securityContext": {},
}
FIELDS: JsonObject = {
    "f:metadata": {"f:labels": {"f:app": {}}, "f:finalizers": {'v:"example.com/one"': {}}},
    "f:spec": {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': CONTAINER}}},
    },
}


def applied(**container: Json) -> JsonObject:
    main: JsonObject = {"name": "main", "image": "x:1", **container}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hello", "labels": {"app": "x"}, "creationTimestamp": None},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"spec": {"containers": [main]}},
        },
        "status": {"replicas": 5},
    }


def entry(fields: JsonObject, manager: str = "helm", **more: Json) -> JsonObject:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"args": ["a", "b"]},
        {"env": [{"name": "A", "value": None}]},
        {"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]},
        {"resources": {"limits": {"cpu": "1000m"}}},
        {"securityContext": {}},
    ],
)
def test_every_field_of_the_manifest_is_managed(container: JsonObject) -> None:
    assert manages_all(FIELDS, applied(**container))


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["a"]},
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
        {"ports": [{"containerPort": 81}]},
        {"ports": [{"containerPort": 80, "protocol": "SCTP"}]},
        {"resources": {"limits": {"memory": "1Gi"}}},
        {"name": "other"},
        {"stdin": None},
        {"env": [{"value": "1"}]},
        {"resources": "none"},
    ],
)
def test_a_field_that_helm_does_not_manage_any_more_is_noticed(container: JsonObject) -> None:
    assert not manages_all(FIELDS, applied(**container))


def test_labels_and_set_items_count_but_own_labels_do_not() -> None:
    body: JsonObject = {"metadata": {"labels": {"app": "x", "xapp-operator.io/team": "ran"}}}
    assert manages_all(FIELDS, body)
    assert manages_all(FIELDS, {"metadata": {"finalizers": ["example.com/one"]}})
    assert not manages_all(FIELDS, {"metadata": {"finalizers": ["example.com/two"]}})
    assert not manages_all(FIELDS, {"metadata": {"labels": {"other": "x"}}})


def test_a_granular_map_whose_members_are_all_lost_is_noticed() -> None:
    assert not manages_all({"f:data": {".": {}}}, {"data": {"a": "1"}})
    assert manages_all({"f:data": {}}, {"data": {"a": "1"}}), "an empty object is managed as a whole"


def test_without_fields_nothing_is_managed() -> None:
    assert not manages_all({}, {"data": {"a": "1"}})
    assert manages_all({}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "empty"}})


def test_string_data_of_secrets_is_never_certain() -> None:
    assert not manages_all({"f:stringData": {"f:a": {}}}, {"stringData": {"a": "1"}})


def test_packed_fields_are_those_of_helm_outside_of_the_status() -> None:
    metadata: JsonObject = {
        "managedFields": [
            entry({"f:spec": {"f:a": {}}}),
            entry({"f:spec": {"f:b": {}}}, operation="Update"),
            entry({"f:status": {}}, subresource="status"),
            entry({"f:spec": {"f:c": {}}}, manager="kubectl-edit"),
        ]
    }
    assert unpack_helm_fields(pack_helm_fields({"metadata": metadata})) == {"f:spec": {"f:a": {}, "f:b": {}}}
    assert pack_helm_fields({}) == b""
    assert unpack_helm_fields(b"") == {}


@pytest.mark.parametrize("live", [{"spec": {"size": 9}}, {}])
def test_a_map_all_of_whose_members_others_have_changed_is_not_managed(live: JsonObject) -> None:
    """An object without a schema: the API server writes the same as for a map that is managed as a whole."""
    fields, theirs = entry({"f:spec": {}}), entry({"f:spec": {"f:size": {}}}, manager="kubectl-patch")
    found = unpack_helm_fields(pack_helm_fields({**live, "metadata": {"managedFields": [fields, theirs]}}))
    assert found == {"f:spec": {".": {}}}
    assert fields["fieldsV1"] == {"f:spec": {}}, "the object stays as it is"
    assert not manages_all(found, {"spec": {"size": 1}})
    assert manages_all(found, {"spec": {}}), "the chart sets an empty map, and others what is in it"


def test_a_map_that_others_have_emptied_is_not_managed() -> None:
    fields: JsonObject = {"f:spec": {"f:a": {}, "f:b": {"f:c": {}}}, "f:data": {}}
    body: JsonObject = {"spec": {"a": {}, "b": {"c": {}}}, "data": {"a": "1"}, "metadata": {}}
    body["metadata"] = {"managedFields": [entry({}), entry(fields)]}
    found = unpack_helm_fields(pack_helm_fields(body))
    assert found == {"f:spec": {"f:a": {".": {}}, "f:b": {"f:c": {".": {}}}}, "f:data": {}}
    assert not manages_all(found, {"spec": {"a": {"x": 1}}})


def test_a_map_below_an_item_of_a_list_that_others_have_changed_is_not_managed() -> None:
    def fields(node: JsonObject) -> JsonObject:
        return {"f:spec": {"f:items": {'k:{"name":"a"}': {".": {}, "f:config": node}}}}

    entries: list[Json] = [entry(fields({})), entry({"f:data": {}}, manager="a"), entry(fields({"f:x": {}}), "b")]
    found = unpack_helm_fields(pack_helm_fields({"metadata": {"managedFields": entries}}))
    assert found == fields({".": {}})


@pytest.mark.parametrize(
    "theirs", [{"f:spec": {"f:selector": {}}}, {"f:spec": {"f:size": {}}}, {"f:data": {"f:a": {}}}]
)
def test_a_map_of_which_others_manage_no_member_stays_managed_as_a_whole(theirs: JsonObject) -> None:
    entries: list[Json] = [entry({"f:spec": {"f:selector": {}}}), entry(theirs, manager="other")]
    body: JsonObject = {"spec": {"selector": {"app": "x"}}, "metadata": {"managedFields": entries}}
    assert manages_all(unpack_helm_fields(pack_helm_fields(body)), {"spec": {"selector": {"app": "x"}}})


def test_of_large_fields_only_a_digest_is_kept() -> None:
    large: JsonObject = {f"f:{number}": {} for number in range(50_000)}
    packed = pack_helm_fields({"metadata": {"managedFields": [entry(large)]}})
    assert len(packed) < 100
    assert packed == pack_helm_fields({"metadata": {"managedFields": [entry(dict(reversed(large.items())))]}})
    assert packed != pack_helm_fields({"metadata": {"managedFields": [entry({**large, "f:more": {}})]}})
    assert unpack_helm_fields(packed) == {}


def test_fields_of_256_kib_are_kept_in_less_space() -> None:
    def packed(length: int) -> bytes:
        name = "f:".ljust(length - len('[{"":{}}]'), "x")
        return pack_helm_fields({"metadata": {"managedFields": [entry({name: {}})]}})

    assert unpack_helm_fields(packed(256 * 1024))
    assert len(packed(256 * 1024)) < 64 * 1024
    assert not unpack_helm_fields(packed(256 * 1024 + 1))


def test_others_are_neither_helm_nor_the_operator_nor_writers_of_the_status() -> None:
    own = [entry({}), entry({}, manager="xapp-operator"), entry({}, manager="kubelet", subresource="status")]
    assert not has_other_managers({"managedFields": [*own]})
    assert has_other_managers({"managedFields": [*own, entry({}, manager="kubectl", subresource="scale")]})


def test_the_managers_of_a_field_are_found_in_lists_too() -> None:
    live: JsonObject = {
        "metadata": {
            "managedFields": [
                entry(FIELDS),
                entry({"f:spec": {"f:containers": {'k:{"name":"b"}': {"f:image": {}}}}}, manager="kubectl-edit"),
                entry({"f:spec": {"f:selector": {}}}, manager="other"),
            ]
        },
        "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}], "selector": {"app": "x"}},
    }
    assert list(managers_of(live, [("spec", "containers", "1", "image")])) == ["kubectl-edit"]
    assert list(managers_of(live, [("spec", "containers", "0", "image")])) == []
    assert list(managers_of(live, [("spec", "selector", "app")])) == ["other"]
    assert list(managers_of(live, [("spec", "containers", "9", "image")])) == []
    both = [("spec", "selector", "app"), ("spec", "containers", "1", "image")]
    assert list(managers_of(live, both)) == ["other", "kubectl-edit"]


def test_the_work_for_hostile_lists_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[Json] = [{"containerPort": number} for number in range(100)]
    nodes: JsonObject = {
        f'k:{{"containerPort":{number},"protocol":"TCP"}}': {"f:containerPort": {}} for number in range(100)
    }
    assert manages_all({"f:ports": nodes}, {"ports": ports})
    monkeypatch.setattr(managed_fields, "COMPARISONS_MAX", 1000)
    assert not manages_all({"f:ports": nodes}, {"ports": ports})


def test_the_work_for_values_below_many_items_with_one_key_in_common_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of these nodes may be that of the item, and only the last one has all of its fields."""
    members: JsonObject = {"f:list": {"v:1": {}}}
    nodes: JsonObject = {f'k:{{"a":1,"b{number}":0}}': members for number in range(100)}
    nodes['k:{"a":1}'] = {**members, "f:a": {}}
    body: JsonObject = {"items": [{"list": [1] * 100, "a": 1}]}
    assert manages_all({"f:items": nodes}, body)
    monkeypatch.setattr(managed_fields, "COMPARISONS_MAX", 1000)
    assert not manages_all({"f:items": nodes}, body)


def test_the_work_for_the_managers_of_many_fields_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs: JsonObject = {"f:items": {f'k:{{"name":"{number}"}}': {"f:a": {}} for number in range(100)}}
    live: JsonObject = {
        "metadata": {"managedFields": [entry(theirs, manager="jane")]},
        "items": [{"name": f"{number}", "a": 1} for number in range(100)],
    }
    paths = [("items", str(number), "a") for number in range(80, 100)]
    assert list(managers_of(live, paths)) == ["jane"] * 20
    monkeypatch.setattr(managed_fields, "COMPARISONS_MAX", 1000)
    assert len(list(managers_of(live, paths))) == 11


def test_an_empty_object_is_managed_where_its_former_members_are() -> None:
    assert manages_all({"f:data": {"f:a": {}}}, {"data": {}})


@pytest.mark.parametrize(("others", "expected"), [(199_996, True), (199_997, False)])
def test_200000_comparisons_are_made(others: int, expected: bool) -> None:
    """Of the object, the list and the item with their fields, and of the item with the keys of all items."""
    nodes: JsonObject = {f'k:{{"name":"{number}"}}': {} for number in range(others)}
    nodes['k:{"name":"a"}'] = {}
    assert manages_all({"f:list": nodes}, {"list": [{"name": "a"}]}) is expected
