"""Labels are inserted into a rendered manifest without any other change to it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.unit.reconcile.xapps import xapp
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata, add_metadata, remove_metadata

ADDED = ObjectMetadata(
    labels={"xapp-operator.io/xapp": "hello", "xapp-operator.io/version": "1.0"},
    annotations={"xapp-operator.io/team": 'R&D "Ä" 😀 \\ \u2028 # x'},
    service_name_label="xapp-operator.io/component",
)

LABELLED = {
    "no labels": "kind: ConfigMap\nmetadata:\n  name: a\n",
    "labels of its own": "kind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app: a\n",
    "a comment before the labels": "kind: A\nmetadata:\n  name: a\n  labels:\n    # ours: yes\n    app: a\n",
    "flow style": "kind: A\nmetadata: {name: a, labels: {app: a}}\n",
    "empty maps in flow style": "kind: A\nmetadata: {name: a, labels: {}, annotations: {}}\n",
    "JSON": '{"kind": "A", "metadata": {"name": "a", "labels": {"app": "a"}}}\n',
    "a quoted key": 'kind: A\nmetadata:\n  "name": a\n  labels:\n    "app": a\n',
    "non-ASCII text before": "kind: A\ndata: {k: äöü😀}\nmetadata:\n  name: a\n",
    "a block scalar that looks like metadata": "kind: A\ndata: |\n  metadata:\n    name: b\nmetadata:\n  name: a\n",
    "metadata of a template": "kind: A\nspec:\n  pod:\n    metadata:\n      labels: {x: y}\nmetadata:\n  name: a\n",
    "Windows line ends": "kind: A\r\nmetadata:\r\n  name: a\r\n",
    "wide indentation": "kind: A\nmetadata:\n        name: a\n        labels:\n                app: a\n",
    "two objects": "kind: A\nmetadata:\n  name: a\n---\nkind: B\nmetadata: {name: b}\n",
    "an anchor elsewhere": "kind: A\nmetadata:\n  name: a\nspec:\n  x: &x {k: v}\n  y: *x\n",
}

NOT_LABELLED = {
    "a list": "kind: ConfigMapList\nitems: []\nmetadata: {}\n",
    "labels that a selector shares": (
        "kind: A\nmetadata:\n  name: a\n  labels: &l\n    app: a\nspec:\n  selector: *l\n"
    ),
    "labels that are an alias": "kind: A\nx: &l {app: a}\nmetadata:\n  name: a\n  labels: *l\n",
    "a label of the same name": "kind: A\nmetadata:\n  name: a\n  labels:\n    xapp-operator.io/xapp: other\n",
    "no metadata": "kind: A\n",
    "metadata twice": "kind: A\nmetadata:\n  name: a\nmetadata:\n  name: b\n",
    "null labels": "kind: A\nmetadata:\n  name: a\n  labels:\n",
    "explicit keys": "kind: A\nmetadata:\n  ? name\n  : a\n",
    "no YAML": "kind: [\n",
    "deep nesting": f"kind: {'[' * 2000}{']' * 2000}\nmetadata: {{name: a}}\n",
}


def documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


@pytest.mark.parametrize("text", LABELLED.values(), ids=LABELLED.keys())
def test_every_object_gets_the_labels_and_nothing_else_changes(text: str) -> None:
    found = add_metadata(text, ADDED)
    assert found.complete
    for before, after in zip(documents(text), documents(found.text), strict=True):
        metadata = after["metadata"]
        assert metadata["labels"] == {**(before["metadata"].get("labels") or {}), **ADDED.labels}
        assert metadata["annotations"] == {**(before["metadata"].get("annotations") or {}), **ADDED.annotations}
        for each in (before, after):
            each["metadata"].pop("labels", None)
            each["metadata"].pop("annotations", None)
        assert before == after


@pytest.mark.parametrize("text", NOT_LABELLED.values(), ids=NOT_LABELLED.keys())
def test_an_object_that_needs_more_than_an_insertion_stays_as_it_is(text: str) -> None:
    found = add_metadata(text, ADDED)
    assert (found.text, found.complete) == (text, False)


def test_hooks_are_left_alone() -> None:
    text = "kind: Job\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: pre-install\n"
    found = add_metadata(text, ADDED)
    assert (found.text, found.complete) == (text, True)


@pytest.mark.parametrize(("api_version", "expected"), [("v1", "web"), ("serving.knative.dev/v1", None)])
def test_services_get_their_name_as_component(api_version: str, expected: str | None) -> None:
    text = f"apiVersion: {api_version}\nkind: Service\nmetadata:\n  name: web\n"
    (labelled,) = documents(add_metadata(text, ADDED).text)
    assert labelled["metadata"]["labels"].get("xapp-operator.io/component") == expected


def test_an_empty_manifest_stays_empty() -> None:
    assert add_metadata("# nothing\n", ADDED).text == "# nothing\n"


@pytest.mark.parametrize(
    "text",
    [
        "kind: A\nmetadata:\n  name: a\nspec:\n  x: y\n",
        "kind: A\nmetadata:\n  labels:\n    app: a\n  name: a\n",
        "# Source: a\nkind: A\nmetadata:\n  name: a\n  annotations:\n    note: |\n      long\n\n      text\n",
        "metadata:\n  name: a\nkind: A\n",
        "kind: A\nmetadata: {name: a}\n",
        "kind: A\nmetadata:\n  name: a\n  annotations: {a: b}\n",
        'kind: A\nmetadata: {labels: {app: "a"}, annotations: {a: b}, name: a}\nspec: {}\n',
    ],
)
def test_what_was_added_can_be_removed(text: str) -> None:
    added = add_metadata(text, ADDED).text
    assert added != text
    assert remove_metadata(added) == text


OURS = 'xapp-operator.io/xapp: "hello"'


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (f"{{name: a, labels: {{{OURS}}}}}", "{name: a}"),
        (f"{{name: a, labels: {{{OURS}}}, annotations: {{{OURS}, {OURS}}}}}", "{name: a}"),
        (f"{{annotations: {{{OURS}}}, labels: {{{OURS}}}, name: a}}", "{name: a}"),
        (f"{{annotations: {{{OURS}}}, labels: {{app: a, {OURS}, {OURS}}}, name: a}}", "{labels: {app: a}, name: a}"),
        (f"{{labels: {{app: a, {OURS}, zone: b}}, name: a}}", "{labels: {app: a, zone: b}, name: a}"),
        (f"{{labels: {{{OURS}, zone: b}}}}", "{labels: {zone: b}}"),
    ],
)
def test_what_helm_has_sorted_in_flow_style_can_be_removed(stored: str, shown: str) -> None:
    assert remove_metadata(f"kind: A\nmetadata: {stored}\ndata: {{}}\n") == f"kind: A\nmetadata: {shown}\ndata: {{}}\n"


def test_only_the_labels_of_the_object_itself_are_removed() -> None:
    labels = "  labels:\n    xapp-operator.io/xapp: a\n"
    text = f"kind: A\ndata:\n{labels}metadata:\n  name: a\nspec:\n{labels}"
    assert remove_metadata(text) == text


def test_label_values_are_valid_and_annotations_have_the_original_text() -> None:
    spec = xapp(organization="ACME Corp.", team="R&D").spec
    added = ObjectMetadata.for_xapp("hello", spec)
    assert added.labels["xapp-operator.io/organization"] == "acme-corp"
    assert added.annotations["xapp-operator.io/organization"] == "ACME Corp."
