"""The chart gives the objects of manifests/base, and with the right values those of each overlay."""

from __future__ import annotations

import copy
import subprocess
from typing import Any

import pytest
import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.support.operator_chart import CHART, EXAMPLES, Json, Objects, by_name, chart_objects, run_helm

pytestmark = pytest.mark.integration

MANIFESTS = ROOT / "manifests"
OVERLAYS = sorted(path.parent.name for path in MANIFESTS.glob("overlays/*/kustomization.yaml"))
RBAC_KINDS = frozenset({"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
POLICY_KINDS = frozenset({"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "NetworkPolicy"})
WIDER_RIGHTS = frozenset({"cluster-wide-secrets", "deployer-admin"})
"""The examples that an administrator chooses in order to give further rights, as the components of the same name do."""

FOLDED_TEXTS = ("expression", "expr", "description")
LISTS_BY_NAME = ("env", "volumes", "volumeMounts")
KEEP = "helm.sh/resource-policy"
NO_PART_OF_THE_CHART = {("Namespace", "xapp-operator-system")}
ONLY_IN_THE_CHART = {("Pod", "xapp-gateway-readyz")}


def kustomized(binaries: Binaries, folder: str) -> Objects:
    kubectl = binaries.resolve(["kubectl"])["kubectl"]
    built = subprocess.run(
        [kubectl, "kustomize", str(MANIFESTS / folder)], capture_output=True, text=True, check=True
    ).stdout
    return by_name(each for each in yaml.safe_load_all(built) if each)


def comparable(each: Json) -> Json:
    """Return an object without what has no meaning: the order of named entries, and white space in expressions.

    The annotation that only helm reads is left out too.
    """
    body = copy.deepcopy(each)
    annotations = body["metadata"].get("annotations", {})
    annotations.pop(KEEP, None)
    if not annotations:
        body["metadata"].pop("annotations", None)
    _normalize(body)
    return body


def _normalize(value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _normalize(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in LISTS_BY_NAME and isinstance(each, list):
                each.sort(key=lambda entry: str(entry["name"]))
            elif key in FOLDED_TEXTS and isinstance(each, str):  # kustomize adds line breaks to folded text
                value[key] = " ".join(each.split())
            _normalize(each)


def test_every_overlay_has_values() -> None:
    assert [name for name in OVERLAYS if name not in EXAMPLES] == []


@pytest.mark.parametrize("name", ["default", *OVERLAYS])
def test_the_chart_gives_the_objects_of_kustomize(binaries: Binaries, name: str) -> None:
    expected = kustomized(binaries, "base" if name == "default" else f"overlays/{name}")
    actual = chart_objects(binaries, EXAMPLES[name])
    assert expected.keys() - actual.keys() == NO_PART_OF_THE_CHART
    assert actual.keys() - expected.keys() == ONLY_IN_THE_CHART
    for key in expected.keys() & actual.keys():
        assert comparable(actual[key]) == comparable(expected[key]), key


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - WIDER_RIGHTS - {"namespaced"}))
def test_no_other_values_change_a_right_or_a_policy(binaries: Binaries, name: str) -> None:
    def rules(objects: Objects) -> Objects:
        return {key: comparable(each) for key, each in objects.items() if key[0] in RBAC_KINDS | POLICY_KINDS}

    values: Json = {"networkPolicies": {"extraEgressPorts": []}}
    assert rules(chart_objects(binaries, EXAMPLES[name], values=values)) == rules(kustomized(binaries, "base"))


def test_only_the_definitions_are_kept(binaries: Binaries) -> None:
    def kept(**crds: bool) -> set[str]:
        objects = chart_objects(binaries, values={"crds": crds})
        return {kind for (kind, _), each in objects.items() if KEEP in each["metadata"].get("annotations", {})}

    assert kept() == {
        "CustomResourceDefinition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert kept(keep=False) == set()
    without = chart_objects(binaries, values={"crds": {"install": False}})
    everything = chart_objects(binaries)
    assert {kind for kind, _ in everything.keys() - without.keys()} == {
        "CustomResourceDefinition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert everything.keys() - without.keys() == kustomized(binaries, "../crds").keys()


def test_another_namespace_is_used_everywhere(binaries: Binaries) -> None:
    text = run_helm(binaries, "template", "x", str(CHART), "--namespace", "12345")
    objects = [each for each in yaml.safe_load_all(text) if each]
    namespaces = {each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]}
    subjects = {
        subject["namespace"] for each in objects for subject in each.get("subjects", []) if "namespace" in subject
    }
    assert namespaces == subjects == {"12345"}
    assert "xapp-operator-system" not in text
