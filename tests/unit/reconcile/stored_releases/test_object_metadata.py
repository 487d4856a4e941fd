"""What is read from the metadata of objects that the API server, or an aggregated one, has served."""

from __future__ import annotations

import math

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.reconcile.reconcile_context import Leftover
from xapp_operator.reconcile.stored_releases.object_metadata import creation_time


def test_the_time_of_creation() -> None:
    assert creation_time({"creationTimestamp": "1970-01-01T00:01:00Z"}) == 60.0


@pytest.mark.parametrize("metadata", [{}, {"creationTimestamp": None}, {"creationTimestamp": "yesterday"}])
def test_an_unknown_time_of_creation_is_in_no_lifetime(metadata: JsonObject) -> None:
    created = creation_time(metadata)
    assert math.isnan(created)
    ref = ObjectRef(api_version="v1", kind="ConfigMap", name="one", namespace="")
    assert not Leftover(ref, [(0, math.inf)], namespaced_only=False).was_made_by_helm(created)
