"""Threat: values that went around the gateway bring control characters to helm, to objects and to messages."""

from __future__ import annotations

import json

import pytest

from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration


def test_values_with_control_characters_are_a_condition(xapps: XAppClient) -> None:
    xapps.kubectl("create", "secret", "generic", "bad", '--from-literal=values.yaml={"a": {"b\\u0000c": "hunter22"}}')
    xapps.apply(
        xapps.uploaded_manifest("from-secret", workload_chart(), valuesFrom=[{"kind": "Secret", "name": "bad"}])
    )
    xapps.apply(xapps.uploaded_manifest("own", workload_chart(), values={"a\x1bb": 1, "c": {"d": "x\0hunter22"}}))
    stalled = xapps.wait_stalled("from-secret")
    assert stalled["reason"] == "ValuesInvalid"
    assert "Secret bad: values.a.b\\u0000c is a key" in stalled["message"]
    own = xapps.wait_stalled("own")
    assert (own["reason"], "spec.values.a\\u001bb is a key" in own["message"]) == ("ValuesInvalid", True)
    assert "hunter22" not in json.dumps([stalled, own])
    assert xapps.helm_releases() == {}
