"""The objects of a stored manifest, as helm has sent them to the API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.yaml_aliases import count_values, manifest_with_aliases
from xapp_operator.errors import HelmError
from xapp_operator.helm.applied_objects import CHARACTERS_MAX, VALUES_MAX, applied_objects

MANIFEST = """\
---
# Source: hello/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {app: a, app.kubernetes.io/managed-by: other}
data: {number: "1", time: 22:22, on: "yes"}
---
# only a comment
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: b, namespace: other, labels: null}, spec: {port: 0o17}}
- {apiVersion: v1, kind: Service, metadata: {name: c}}
"""


def bodies(manifest: str) -> dict[str, Any]:
    found = applied_objects(manifest, release="hello", namespace="ran")
    return {f"{ref.kind}/{ref.name}": each.body for ref, each in found.items()}


def test_objects_have_the_metadata_that_helm_adds() -> None:
    found = bodies(MANIFEST)
    assert list(found) == ["ConfigMap/a", "Service/b", "Service/c"]
    annotations = {"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": "ran"}
    for each in found.values():
        assert each["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert each["metadata"]["annotations"] == annotations
    assert found["ConfigMap/a"]["metadata"]["labels"]["app"] == "a"


def test_scalars_mean_what_they_mean_to_helm() -> None:
    found = bodies(MANIFEST)
    assert found["ConfigMap/a"]["data"] == {"number": "1", "time": "22:22", "true": "yes"}
    assert found["Service/b"]["spec"] == {"port": 15}


def test_the_last_of_equal_objects_counts() -> None:
    twice = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: '{number}'}}\n" for number in (1, 2)
    )
    assert bodies(twice)["ConfigMap/a"]["data"] == {"a": "2"}


def test_a_document_with_too_many_values_has_no_body() -> None:
    numbers = ",".join(["1"] * 100_001)
    found = bodies(f"apiVersion: v1\nkind: Widget\nmetadata: {{name: a}}\nspec: [{numbers}]\n---\n{MANIFEST}")
    assert found["Widget/a"] is None
    assert found["ConfigMap/a"] is not None


def test_all_documents_together_have_bounded_values() -> None:
    """An alias counts for what it repeats, so each of these small documents has 10,000 values."""
    found = bodies(manifest_with_aliases(documents=30))
    read = [body for body in found.values() if body is not None]
    assert len(found) == 30
    assert found["ConfigMap/a0"] is not None
    assert VALUES_MAX // 2 < sum(map(count_values, read)) <= VALUES_MAX + 10 * len(read)  # and what Helm adds
    assert found["ConfigMap/a29"] is None


def test_documents_that_are_refused_count_too() -> None:
    """Otherwise thousands of them would be read up to the bound of one document."""
    found = bodies(manifest_with_aliases(documents=3, lists=1_100) + MANIFEST)
    assert not any(found.values())


def test_texts_that_aliases_repeat_are_bounded_together() -> None:
    text, repeated = "x" * 20_000, ",".join(["*a"] * 150)
    document = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{}}}\nd: [&a {}, {}]\n"
    found = bodies("".join(document.format(number, text, repeated) for number in range(10)))
    read = [body for body in found.values() if body is not None]
    assert found["ConfigMap/a0"] is not None
    assert sum(len(each) for body in read for each in body["d"]) <= CHARACTERS_MAX
    assert found["ConfigMap/a9"] is None


def test_long_manifests_without_aliases_are_read() -> None:
    text = "x" * 3_500_000
    document = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{}}}\ndata: {{a: {}}}\n"
    assert all(bodies("".join(document.format(number, text) for number in range(6))).values())


def test_a_manifest_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(HelmError, match="not YAML"):
        bodies("a: [")
