"""A resource builds paths of the Kubernetes API, and names cannot change their structure."""

from __future__ import annotations

import pytest

from xapp_operator.errors import Invalid
from xapp_operator.kube.resources import (
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SERVICE_CIDRS,
    XAPPS,
    Resource,
)

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "path"),
    [
        (PODS, None, None, None, "/api/v1/pods"),
        (PODS, "ric", None, None, "/api/v1/namespaces/ric/pods"),
        (PODS, "ric", "a", "log", "/api/v1/namespaces/ric/pods/a/log"),
        (XAPPS, "ric", "a", "status", "/apis/xapp-operator.io/v1alpha1/namespaces/ric/xapps/a/status"),
        (NAMESPACES, None, "ric", None, "/api/v1/namespaces/ric"),
        (NAMESPACES, "ignored", "ric", None, "/api/v1/namespaces/ric"),
        (CLUSTER_ROLES, None, None, None, "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (SECRETS, "ric", "system:x y", None, "/api/v1/namespaces/ric/secrets/system%3Ax%20y"),
    ],
)
def test_paths_follow_the_api_conventions(
    resource: Resource, namespace: str | None, name: str | None, subresource: str | None, path: str
) -> None:
    assert resource.path(namespace=namespace, name=name, subresource=subresource) == path


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "%2e%2e"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="not a valid name of a Kubernetes object"):
        PODS.path(namespace="ric", name=name)
    with pytest.raises(Invalid, match="not a valid name of a Kubernetes object"):
        PODS.path(namespace=name, name="a")


def test_an_object_of_a_namespaced_kind_needs_a_namespace() -> None:
    with pytest.raises(ValueError, match="is namespaced: pass a namespace"):
        PODS.path(name="a")


def test_some_kinds_are_of_the_whole_cluster() -> None:
    for each in (NAMESPACES, NODES, SERVICE_CIDRS, SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_REVIEWS):
        assert each.path(namespace="ric") == each.path()


def test_names_have_the_forms_of_manifests_and_rbac() -> None:
    assert (PODS.api_version, PODS.group_resource) == ("v1", "pods")
    assert not PODS.has_status  # only discovery tells it
    assert (XAPPS.api_version, XAPPS.group_resource) == ("xapp-operator.io/v1alpha1", "xapps.xapp-operator.io")
