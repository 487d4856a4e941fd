"""The objects of a manifest, however it is written."""

import pytest

from xapp_operator.errors import HelmError
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory


def test_objects_are_listed_in_order_and_once() -> None:
    manifest = """\
# comment
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b, namespace: other}
---
---
# Source: hello/templates/empty.yaml
--- # a separator with a comment
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
"""
    assert manifest_inventory(manifest) == (
        ObjectRef(api_version="apps/v1", kind="Deployment", namespace="other", name="b"),
        ObjectRef(api_version="v1", kind="ConfigMap", namespace="", name="a"),
    )


def test_lists_of_any_kind_are_expanded() -> None:
    manifest = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- apiVersion: v1
  kind: SecretList
  items: [{apiVersion: v1, kind: Secret, metadata: {name: two}}]
"""
    assert [(one.kind, one.name) for one in manifest_inventory(manifest)] == [("ConfigMap", "one"), ("Secret", "two")]


def test_items_of_a_list_of_one_kind_need_not_name_it() -> None:
    manifest = (
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- {kind: Secret, metadata: {name: b}}\n"
    )
    assert [(each.api_version, each.kind, each.name) for each in manifest_inventory(manifest)] == [
        ("v1", "ConfigMap", "a"),
        ("", "Secret", "b"),
    ]


def test_a_kind_that_only_ends_in_list_is_an_object() -> None:
    manifest = "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: x}\n"
    assert [one.kind for one in manifest_inventory(manifest)] == ["AllowList"]


def test_unusual_scalars_are_strings() -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 2026-13-45}\ndata: {a: 0o99, b: 1e9999, c: =, d: ~}\n"
    assert manifest_inventory(manifest)[0].name == "2026-13-45"


def test_a_document_without_kind_or_name_is_no_object() -> None:
    assert manifest_inventory("just text\n---\n- a list\n---\nkind: ConfigMap\n---\nmetadata: {name: x}\n") == ()


@pytest.mark.parametrize("manifest", ["a: b: c", "a: [", "x: *unknown: y", "# \ud800", "a: \udfff"])
def test_an_invalid_yaml_document_is_an_error(manifest: str) -> None:
    with pytest.raises(HelmError, match=r"document 2 .* not YAML"):
        manifest_inventory(f"a: b\n---\n{manifest}")


@pytest.mark.parametrize("manifest", ["x: " + "[" * 1_000_000, "- " * 1_000_000, "? " * 1_000_000])
def test_endless_nesting_is_refused_early(manifest: str) -> None:
    with pytest.raises(HelmError, match="nested"):
        manifest_inventory(manifest)


def test_nesting_within_the_bound_is_accepted() -> None:
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nx: {'[' * 900}{']' * 900}\n"
    assert manifest_inventory(manifest)[0].name == "a"


def test_a_list_that_aliases_multiply_is_bounded() -> None:
    manifest = "a0: &a0 {kind: ConfigMap, metadata: {name: x}}\n"
    for level in range(1, 9):
        below = ", ".join(f"*a{level - 1}" for _ in range(10))
        manifest += f"a{level}: &a{level} {{kind: List, items: [{below}]}}\n"
    with pytest.raises(HelmError, match="10000 objects"):
        manifest_inventory(f"{manifest}kind: List\nitems: [*a8]\n")


def test_anchors_and_aliases_are_followed() -> None:
    manifest = "metadata: &m {name: a}\nkind: ConfigMap\n---\nx: &m {name: b}\nkind: Secret\nmetadata: *m\n"
    assert [(one.kind, one.name) for one in manifest_inventory(manifest)] == [("ConfigMap", "a"), ("Secret", "b")]


def test_merge_keys_work_as_in_helm() -> None:
    manifest = "x: &m {name: a, namespace: b}\nkind: Secret\nmetadata: {<<: *m, name: c}\n"
    assert [(one.name, one.namespace) for one in manifest_inventory(manifest)] == [("c", "b")]


def test_a_recursive_document_is_read() -> None:
    assert manifest_inventory("&x\nkind: List\nitems: [*x]\n") == ()


def test_empty_lists_that_aliases_multiply_are_bounded() -> None:
    manifest = "a0: &a0 {kind: List, items: []}\n"
    for level in range(1, 12):
        below = ", ".join(f"*a{level - 1}" for _ in range(10))
        manifest += f"a{level}: &a{level} {{kind: List, items: [{below}]}}\n"
    with pytest.raises(HelmError, match="100000 objects in lists"):
        manifest_inventory(f"{manifest}kind: List\nitems: [*a11]\n")


def test_long_lists_of_long_lists_are_bounded() -> None:
    few, many = "a: &a {kind: List, items: []}\n", ", ".join(["*a"] * 50_000)
    manifest = f"{few}b: &b {{kind: List, items: [{many}]}}\n"
    with pytest.raises(HelmError, match="100000 objects in lists"):
        manifest_inventory(f"{manifest}kind: List\nitems: [{', '.join(['*b'] * 50_000)}]\n")


def test_lists_nested_by_aliases_are_read_completely() -> None:
    manifest = "a0: &a0 {kind: ConfigMap, metadata: {name: x}}\n"
    for level in range(1, 3000):
        manifest += f"a{level}: &a{level} {{kind: List, items: [*a{level - 1}]}}\n"
    assert [one.name for one in manifest_inventory(f"{manifest}kind: List\nitems: [*a2999]\n")] == ["x"]


def test_a_manifest_of_a_million_values_is_refused() -> None:
    with pytest.raises(HelmError, match="1,000,000 values"):
        manifest_inventory("kind: ConfigMap\nmetadata: {name: x}\ndata: [" + "1," * 1_200_000 + "]\n")
