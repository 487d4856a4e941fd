"""What differs between two states of an object, what is left out, and how it is described."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.drift import (
    DriftedObject,
    describe_drift,
    find_differences,
    find_managers,
    format_pointer,
    parse_ignored,
    paths_to_keep,
    with_live_values,
)

SECRET = "hunter2-hunter2"


def paths(live: JsonObject, desired: JsonObject, *ignored: tuple[str, ...]) -> list[str]:
    return [format_pointer(each.path) for each in find_differences(live, desired, ignored=ignored)]


def _variable(name: str, value: str = "1") -> Json:
    return {"name": name, "value": value}


def annotated(value: str) -> JsonObject:
    return {"metadata": {"annotations": {"xapp-operator.io/ignore-drift": value}}}


def test_differences_are_paths_to_the_deepest_field() -> None:
    live: JsonObject = {"data": {"a": "1", "b": "2"}, "spec": {"args": ["x"], "n": 1}}
    desired: JsonObject = {"data": {"a": "1", "c/d": "3"}, "spec": {"args": ["x", "y"], "n": 2}}
    assert paths(live, desired) == ["/data/b", "/data/c~1d", "/spec/args", "/spec/n"]


def test_lists_of_objects_are_compared_by_name_and_not_by_order() -> None:
    a, b, c = (_variable(name) for name in "abc")
    assert paths({"env": [b, a]}, {"env": [a, b]}) == []
    assert paths({"env": [b, c]}, {"env": [a, b, c]}) == ["/env/0"]
    assert paths({"env": [_variable("b", "2"), a]}, {"env": [a, b]}) == ["/env/1/value"]
    assert paths({"env": [a, b, c]}, {"env": [a, b]}) == ["/env/2"]
    assert paths({"ports": [{"port": 1}, {"port": 2}]}, {"ports": [{"port": 1}, {"port": 3}]}) == ["/ports/1/port"]


def test_status_and_the_servers_metadata_do_not_count() -> None:
    live: JsonObject = {"metadata": {"generation": 1, "resourceVersion": "1", "uid": "a"}, "status": {"a": 1}}
    assert paths(live, {"metadata": {"generation": 2, "resourceVersion": "2"}, "status": {"a": 2}}) == []


def test_the_operators_labels_and_ignored_paths_do_not_count() -> None:
    live: JsonObject = {"metadata": {"labels": {"xapp-operator.io/team": "a"}}, "spec": {"x": {"y": 1}, "xy": 1}}
    desired: JsonObject = {"metadata": {"labels": {"xapp-operator.io/team": "b"}}, "spec": {"x": {"y": 2}, "xy": 2}}
    assert paths(live, desired, ("spec", "x")) == ["/spec/xy"]


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_the_ca_bundle_counts_for_other_kinds_only(kind: str) -> None:
    def configuration(kind: str, bundle: str) -> JsonObject:
        return {"kind": kind, "webhooks": [{"name": "a", "clientConfig": {"caBundle": bundle}}]}

    assert paths(configuration(kind, "x"), configuration(kind, "y")) == []
    other = configuration("Other", "x"), configuration("Other", "y")
    assert paths(*other) == ["/webhooks/0/clientConfig/caBundle"]


def test_rules_of_an_aggregated_cluster_role_do_not_count() -> None:
    live: JsonObject = {"kind": "ClusterRole", "aggregationRule": {}, "rules": [{"verbs": ["get"]}]}
    assert paths(live, {**live, "rules": []}) == []
    del live["aggregationRule"]
    assert paths(live, {**live, "rules": []}) == ["/rules/0"]


def test_differences_are_bounded() -> None:
    many: JsonObject = {str(number): number for number in range(1000)}
    assert len(find_differences({"data": {}}, {"data": many})) == 20


def test_the_annotations_of_manifest_and_live_object_add_up() -> None:
    found = parse_ignored(annotated("/spec/replicas, /metadata/labels/a~1b~0c"), annotated("/data"), {})
    assert found.paths == (("spec", "replicas"), ("metadata", "labels", "a/b~c"), ("data",))
    assert parse_ignored(annotated("/data"), annotated(" all ")).all
    assert parse_ignored({}) == parse_ignored(annotated(""))


@pytest.mark.parametrize("value", ["spec", "spec/replicas", "/a~2", "/a,", ",", "all,/a", "/a,," + "x" * 200])
def test_an_invalid_annotation_is_refused_with_the_rule(value: str) -> None:
    found = parse_ignored(annotated(value))
    assert "JSON pointers such as /spec/replicas" in found.error
    assert not found.all
    assert found.paths == ()
    assert len(found.error) < 300


def test_an_invalid_annotation_is_not_quoted() -> None:
    """A chart may have made it from a secret value."""
    error = parse_ignored(annotated("/spec/replicas,hunter2-SECRETVAL")).error
    assert error.endswith("pointer 2 is not valid")
    assert "hunter2" not in error
    assert "SECRETVAL" not in error


@pytest.mark.parametrize("value", [",".join(["/a"] * 101), "/" + "a" * 10_000])
def test_an_annotation_that_is_too_long_is_refused_with_the_bound(value: str) -> None:
    assert "more than 100 pointers or 10,000 characters" in parse_ignored(annotated(value)).error


def test_kept_paths_have_the_live_value_and_are_absent_where_the_live_object_lacks_them() -> None:
    containers: list[Json] = [{"name": "main", "image": "x:1"}]
    applied: JsonObject = {"spec": {"replicas": 1, "paused": True, "containers": containers, "tags": [{"a": 1}]}}
    others: list[Json] = [{"name": "sidecar", "image": "y"}, {"name": "main", "image": "x:9"}]
    live: JsonObject = {"spec": {"replicas": 7, "containers": others, "tags": [{"a": 2}], "extra": 1}}
    kept = (
        ("spec", "replicas"),
        ("spec", "paused"),
        ("spec", "extra"),
        ("spec", "containers", "0", "image"),
        ("spec", "tags", "0"),
        ("spec", "nothing", "here"),
        ("spec", "containers", "5", "image"),
    )
    expected = {"replicas": 7, "containers": [{"name": "main", "image": "x:9"}], "tags": [{"a": 2}]}
    assert with_live_values(applied, live, kept) == {"spec": expected}
    assert applied["spec"] == {"replicas": 1, "paused": True, "containers": containers, "tags": [{"a": 1}]}


def test_the_ca_bundle_of_the_live_object_stays() -> None:
    kind = "MutatingWebhookConfiguration"
    applied: JsonObject = {"kind": kind, "webhooks": [{"name": "a", "clientConfig": {"caBundle": "", "url": "u"}}]}
    live: JsonObject = {"kind": kind, "webhooks": [{"name": "a", "clientConfig": {"caBundle": "x", "url": "v"}}]}
    assert with_live_values(applied, live, ()) == {
        "kind": kind,
        "webhooks": [{"name": "a", "clientConfig": {"caBundle": "x", "url": "u"}}],
    }


def test_a_few_managers_are_named() -> None:
    entries: list[Json] = [
        {"manager": f"m{number}", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}} for number in range(9)
    ]
    live: JsonObject = {"metadata": {"managedFields": entries}, "data": {"a": "1"}}
    differences = find_differences(live, {"data": {"a": "2"}})
    assert find_managers(live, differences) == ("m0", "m1", "m2")


def test_ten_objects_are_named_with_five_paths_each() -> None:
    objects = tuple(
        DriftedObject("ConfigMap", "ran", f"c{number}", paths=tuple(f"/data/{key}" for key in range(9)))
        for number in range(12)
    )
    text = describe_drift(objects)
    assert "ConfigMap c9 (/data/0, /data/1, /data/2, /data/3, /data/4 and 4 more)" in text
    assert "c10" not in text
    assert text.endswith("; and 2 more")


def test_hostile_keys_and_managers_are_escaped_and_cut() -> None:
    one = DriftedObject("Widget", "ran", "w", paths=("/data/\n\x1b[31m" + "x" * 500,), managers=("a\nb",))
    text = describe_drift((one,))
    assert text.isprintable()
    assert len(text) < 300


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "a", "b/c"]), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(JSONS, JSONS)
def test_equal_states_have_no_differences_and_values_are_never_reported(live: Json, desired: Json) -> None:
    assert find_differences({"spec": live}, {"spec": json.loads(json.dumps(live))}) == []
    secret: JsonObject = {"spec": {"before": live, "password": SECRET}}
    found = find_differences(secret, {"spec": {"before": desired, "password": "other"}})
    drifted = DriftedObject("Secret", "ran", "s", paths=tuple(format_pointer(each.path) for each in found))
    assert SECRET not in describe_drift((drifted,))
    assert found


def test_a_missing_object_is_named_with_the_reason_why_it_is_not_created_again() -> None:
    missing = DriftedObject("ConfigMap", "ran", "a", missing=True)
    assert describe_drift((missing,)) == "ConfigMap a is missing"
    assert describe_drift((replace(missing, refusal="forbidden"),)) == "ConfigMap a is missing (forbidden)"


def test_an_item_with_a_name_takes_nothing_from_the_item_in_its_place() -> None:
    applied: JsonObject = {"list": [{"name": "a", "image": "x:1"}]}
    live: JsonObject = {"list": [{"name": "b", "image": "y:2"}]}
    assert with_live_values(applied, live, (("list", "0", "image"),)) == {"list": [{"name": "a"}]}


def test_lists_with_other_than_objects_differ_as_a_whole() -> None:
    mixed: list[Json] = [{"name": "a"}, "x"]
    assert paths({"list": mixed}, {"list": [{"name": "a"}]}) == ["/list"]
    assert paths({"list": [{"name": "a"}]}, {"list": mixed}) == ["/list"]


def test_items_without_names_are_paired_with_each_other_only() -> None:
    live: JsonObject = {"list": [{"name": "b"}, {"x": 1}]}
    found = find_differences(live, {"list": [{"x": 2}]})
    assert [(format_pointer(each.path), format_pointer(each.live_path)) for each in found] == [
        ("/list/0/x", "/list/1/x"),
        ("/list/0", "/list/0"),
    ]


def test_items_without_names_are_paired_in_their_order() -> None:
    live: JsonObject = {"ports": [{"port": 1, "x": 1}, {"port": 2, "x": 2}]}
    desired: JsonObject = {"ports": [{"port": 1, "x": 9}, {"port": 2, "x": 9}]}
    assert paths(live, desired) == ["/ports/0/x", "/ports/1/x"]


def test_one_more_object_or_path_is_counted() -> None:
    def drifted(name: str, keys: int) -> DriftedObject:
        return DriftedObject("ConfigMap", "ran", name, paths=tuple(f"/{key}" for key in range(keys)))

    assert describe_drift(tuple(drifted(f"c{number}", 1) for number in range(10))).endswith("ConfigMap c9 (/0)")
    assert describe_drift(tuple(drifted(f"c{number}", 1) for number in range(11))).endswith("c9 (/0); and 1 more")
    assert describe_drift((drifted("c", 5),)) == "ConfigMap c (/0, /1, /2, /3, /4)"
    assert describe_drift((drifted("c", 6),)) == "ConfigMap c (/0, /1, /2, /3, /4 and 1 more)"
    refused = replace(drifted("c", 1), managers=("a", "b"), refusal="forbidden")
    assert describe_drift((refused,)) == "ConfigMap c (/0, changed by a, b; cannot be corrected: forbidden)"


def test_120_characters_of_an_escaped_path_are_shown() -> None:
    def shown(path: str) -> str:
        return describe_drift((DriftedObject("Pod", "ran", "p", paths=(path,)),))

    escape = "\\u001b"
    assert shown("\x1b" * 20) == f"Pod p ({escape * 20})"
    assert shown("/" + "\x1b" * 20) == f"Pod p (/{escape * 19}{escape[:4]}…)"


def test_no_more_of_paths_is_kept_than_is_shown() -> None:
    long = ["/" + "x" * length for length in (79, 80, 100_000)]
    assert paths_to_keep(long) == ("/" + "x" * 79, *["/" + "x" * 78 + "…"] * 2)
    whole, cut = (DriftedObject("Pod", "ran", "p", paths=each) for each in (tuple(long), paths_to_keep(long)))
    assert describe_drift((cut,)) == describe_drift((whole,))
    assert len(paths_to_keep(map(str, range(21)))) == 20


def test_up_to_a_hundred_pointers_of_ten_thousand_characters_are_taken() -> None:
    assert len(parse_ignored(annotated(",".join(f"/a{number}" for number in range(100)))).paths) == 100
    assert parse_ignored(annotated("/" + "a" * 9_999)).error == ""


def test_of_live_items_with_one_name_the_first_one_counts() -> None:
    applied: JsonObject = {"list": [{"name": "a", "x": 1}]}
    live: JsonObject = {"list": [{"name": "a", "x": 2}, {"name": "a", "x": 3}]}
    assert with_live_values(applied, live, [("list", "0", "x")]) == {"list": [{"name": "a", "x": 2}]}


def test_an_item_beyond_the_live_list_keeps_nothing() -> None:
    applied: JsonObject = {"list": [{"x": 1}, {"x": 2}, 3]}
    live: JsonObject = {"list": [{"x": 5}]}
    kept = (("list", "1", "x"), ("list", "2"), ("list", "3"), ("list", "x"), ("list", "9" * 5000), ("list", "00", "x"))
    assert with_live_values(applied, live, kept) == {"list": [{"x": 1}, {}, 3]}
