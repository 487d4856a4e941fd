"""What is read from the metadata of objects that the API server, or an aggregated one, has served."""

from __future__ import annotations

import math

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.reconcile.reconcile_context import Leftover
from xapp_operator.reconcile.stored_releases.object_metadata import creation_time, making_time


def test_the_time_of_creation() -> None:
    assert creation_time({"creationTimestamp": "1970-01-01T00:01:00Z"}) == 60.0


@pytest.mark.parametrize("metadata", [{}, {"creationTimestamp": None}, {"creationTimestamp": "yesterday"}])
def test_an_unknown_time_of_creation_is_in_no_lifetime(metadata: JsonObject) -> None:
    created = creation_time(metadata)
    assert math.isnan(created)
    ref = ObjectRef(api_version="v1", kind="ConfigMap", name="one", namespace="")
    assert not Leftover(ref, [(0, math.inf)], namespaced_only=False).was_made_by_helm(created)


@pytest.mark.parametrize(
    ("manager", "time", "more", "made"),
    [
        ("kubectl", "1970-01-01T00:01:00Z", {}, 59.0),
        ("kubectl", "1970-01-01T00:01:01Z", {}, 60.0),
        ("helm", "1970-01-01T00:01:00Z", {}, 60.0),
        ("xapp-operator", "1970-01-01T00:01:00Z", {}, 60.0),
        ("kube-controller-manager", "1970-01-01T00:01:00Z", {}, 60.0),
        ("own-controller", "1970-01-01T00:01:00Z", {"subresource": "status"}, 60.0),
    ],
)
def test_what_others_write_in_the_second_of_the_creation_they_may_have_made(
    manager: str, time: str, more: JsonObject, made: float
) -> None:
    managed: JsonObject = {"manager": manager, "operation": "Update", "time": time, **more}
    helms: JsonObject = {"manager": "helm", "operation": "Apply", "time": "1970-01-01T00:01:02Z"}
    assert making_time({"creationTimestamp": "1970-01-01T00:01:00Z", "managedFields": [helms, managed]}) == made
