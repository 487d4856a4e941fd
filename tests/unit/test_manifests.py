"""The manifests of operator and gateway keep to the rules for pods, and agree with the code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from xapp_operator.config.settings import Settings
from xapp_operator.gateway.deploy.namespaces import needed_objects

MANIFESTS = Path(__file__).parents[2] / "manifests"
COMPONENTS = ["gateway", "operator"]
USER = 65532


def objects(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in the files of a folder that its kustomization names."""
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        if (folder / name).is_file():
            yield from (each for each in yaml.safe_load_all((folder / name).read_text()) if each)


def pod_spec(component: str) -> dict[str, Any]:
    deployment = yaml.safe_load((MANIFESTS / "base" / f"{component}-deployment.yaml").read_text())
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def test_the_namespace_of_the_system_enforces_restricted_pods() -> None:
    (namespace,) = (each for each in objects(MANIFESTS / "base") if each["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("component", COMPONENTS)
def test_pods_can_do_only_what_they_need(component: str) -> None:
    pod = pod_spec(component)
    (container,) = pod["containers"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert pod["enableServiceLinks"] is False
    assert "memory" in container["resources"]["limits"]
    for volume in pod["volumes"]:
        assert volume.keys() - {"name"} <= {"emptyDir", "secret", "projected"}
        assert "emptyDir" not in volume or "sizeLimit" in volume["emptyDir"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_kubelet_has_a_port_of_its_own(component: str) -> None:
    (container,) = pod_spec(component)["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "probe"


def test_no_other_pod_gets_a_token_of_our_service_accounts_by_default() -> None:
    accounts = [
        each
        for folder in ("base", "xapp-namespace")
        for each in objects(MANIFESTS / folder)
        if each["kind"] == "ServiceAccount"
    ]
    assert len(accounts) == 3
    assert all(each["automountServiceAccountToken"] is False for each in accounts)
    assert all(pod_spec(component)["automountServiceAccountToken"] is True for component in COMPONENTS)


def test_the_pods_use_their_own_namespace_whatever_its_name() -> None:
    settings = {each["name"]: each for component in COMPONENTS for each in pod_spec(component)["containers"][0]["env"]}
    for name in ("XAPP_LEADER_ELECTION_NAMESPACE", "XAPP_SESSION_NAMESPACE"):
        assert settings[name]["valueFrom"] == {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}


def test_everybody_may_only_look_up_the_address_of_the_gateway() -> None:
    there = [*objects(MANIFESTS / "base")]
    bound = {
        each["roleRef"]["name"]: each["kind"]
        for each in there
        if any(subject["kind"] != "ServiceAccount" for subject in each.get("subjects", []))
    }
    assert bound == {"xapp-gateway-address": "RoleBinding"}
    (rules,) = (each["rules"] for each in there if each["metadata"]["name"] in bound and each["kind"] == "Role")
    assert rules == [
        {"apiGroups": [""], "resources": ["services"], "resourceNames": ["xapp-gateway"], "verbs": ["get"]}
    ]


def test_no_tag_floats() -> None:
    for path in MANIFESTS.glob("**/kustomization.yaml"):
        for image in yaml.safe_load(path.read_text()).get("images", []):
            assert image.get("newTag", "latest") != "latest" or "digest" in image, path


def test_the_gateway_creates_what_the_manifests_of_a_namespace_have() -> None:
    namespace = "ric-xapps"
    made = needed_objects(Settings(default_service_account="xapp-deployer"), namespace)
    assert sorted(map(comparable, (body for _, body in made)), key=str) == sorted(
        (comparable(each) for each in objects(MANIFESTS / "xapp-namespace") if each["kind"] != "Namespace"), key=str
    )


def comparable(body: Any) -> dict[str, Any]:
    """Return an object without the namespaces that kustomize adds."""
    metadata = {name: value for name, value in body["metadata"].items() if name != "namespace"}
    changed = {**body, "metadata": metadata}
    if "subjects" in body:
        changed["subjects"] = [
            {name: value for name, value in each.items() if (name, value) != ("namespace", "ric-xapps")}
            for each in body["subjects"]
        ]
    return changed
