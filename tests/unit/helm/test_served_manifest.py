"""A stored manifest gets only kinds and versions that the cluster serves."""

from __future__ import annotations

import json

import pytest

from tests.support.yaml_aliases import count_values, manifest_with_aliases
from xapp_operator.api.json import JsonObject
from xapp_operator.helm.applied_objects import VALUES_MAX
from xapp_operator.helm.manifest import manifest_objects
from xapp_operator.helm.served_manifest import ServedVersions, with_served_kinds

SERVED: ServedVersions = {
    ("", "ConfigMap"): ("v1",),
    ("h.example.com", "Widget"): ("h.example.com/v2", "h.example.com/v1"),
}
CONFIGMAP = "\n# kept as it is\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n"


def widget(version: str, *, group: str = "h.example.com", name: str = "w") -> JsonObject:
    return {
        "apiVersion": f"{group}/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 12, "on": True},
    }


def manifest(*documents: JsonObject | str) -> str:
    return "".join(
        f"---{each if isinstance(each, str) else chr(10) + json.dumps(each) + chr(10)}" for each in documents
    )


def objects(text: str) -> list[tuple[object, object]]:
    return [(each["apiVersion"], each["kind"]) for each in manifest_objects(text)]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_is_served_stays_as_it_is(version: str) -> None:
    assert with_served_kinds(manifest(CONFIGMAP, widget(version)), SERVED) is None


def test_an_object_gets_the_preferred_version_of_its_kind_and_keeps_its_values() -> None:
    found = with_served_kinds(manifest(CONFIGMAP, widget("v1alpha1")), SERVED)
    assert found is not None
    assert found.changes == ("Widget w is of h.example.com/v2 now",)
    assert found.manifest.startswith(f"---{CONFIGMAP}---\n")
    assert json.loads(found.manifest.rpartition("---")[2]) == widget("v2")


def test_a_kind_of_another_group_is_another_kind() -> None:
    found = with_served_kinds(manifest(CONFIGMAP, widget("v1", group="other.example.com")), SERVED)
    assert found is not None
    assert (found.manifest, found.changes) == (manifest(CONFIGMAP), ("Widget w was removed",))


def test_a_list_loses_only_what_is_not_served() -> None:
    gone = widget("v1", group="gone.example.com", name="gone")
    listed: JsonObject = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": {"helm.sh/resource-policy": "keep"}},
        "items": [gone, widget("v1alpha1"), widget("v1")],
    }
    found = with_served_kinds(manifest(listed), SERVED)
    assert found is not None
    assert json.loads(found.manifest.removeprefix("---")) == {**listed, "items": [widget("v2"), widget("v1")]}
    assert found.changes == ("Widget gone was removed", "Widget w is of h.example.com/v2 now")


def test_a_list_without_anything_that_is_served_is_removed() -> None:
    listed: JsonObject = {"apiVersion": "v1", "kind": "List", "items": [widget("v1", group="gone.example.com")]}
    found = with_served_kinds(manifest(listed, CONFIGMAP), SERVED)
    assert found is not None
    assert found.manifest == manifest(CONFIGMAP)


def test_a_document_that_is_nested_too_deep_is_removed() -> None:
    deep: JsonObject = {}
    for _ in range(150):
        deep = {"a": deep}
    found = with_served_kinds(manifest(CONFIGMAP, {**widget("v1alpha1"), "spec": deep}), SERVED)
    assert found is not None
    assert (found.manifest, found.changes) == (manifest(CONFIGMAP), ("Widget w was removed",))


def test_what_is_written_again_has_bounded_values() -> None:
    """An alias counts for what it repeats, so each of these small documents has 10,000 values."""
    found = with_served_kinds(manifest_with_aliases(documents=30), {("", "ConfigMap"): ("v2",)})
    assert found is not None
    written = [json.loads(each) for each in found.manifest.split("---")[1:]]
    assert VALUES_MAX // 2 < sum(map(count_values, written)) <= VALUES_MAX
    assert (found.changes[0], found.changes[-1]) == ("ConfigMap a0 is of v2 now", "ConfigMap a29 was removed")


def test_what_may_be_served_stays() -> None:
    """An aggregated API server does not answer, so nobody knows what it serves."""
    away = widget("v1", group="away.example.com")
    listed: JsonObject = {"apiVersion": "v1", "kind": "List", "items": [away, widget("v1alpha1")]}
    text = manifest(CONFIGMAP, away, listed)
    assert with_served_kinds(text, SERVED, unknown_groups={"away.example.com"}) is None
    assert with_served_kinds(text, SERVED) is not None
