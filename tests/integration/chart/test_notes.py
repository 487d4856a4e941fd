"""What helm prints after an install is true for the values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.chart.test_values import INGRESS, NAMESPACED, ROUTE, nested
from tests.localcluster import Binaries
from tests.support.operator_chart import CHART, run_helm

pytestmark = pytest.mark.integration


def notes(binaries: Binaries, values: dict[str, Any]) -> str:
    command = ("install", "xapp-operator", str(CHART), "--namespace", "ric-system", "--dry-run=client", "--skip-crds")
    return run_helm(binaries, *command, values=nested(values)).partition("\nNOTES:\n")[2]


def test_the_example_is_in_a_namespace_that_is_watched(binaries: Binaries) -> None:
    assert "kubectl create namespace ric-xapps\n" in notes(binaries, {})
    text = notes(binaries, {"watchNamespaces": ["lab", "field"]})
    assert "kubectl create namespace lab\n" in text
    assert "metadata: {name: acme-ran-hello, namespace: lab}" in text
    assert "namespaces that are not in watchNamespaces are ignored" in text
    assert "ric-xapps" not in text
    assert "create namespace" not in notes(binaries, {**NAMESPACED, "rbac.namespaced": True})


def test_every_address_of_the_gateway_is_named(binaries: Binaries) -> None:
    text = notes(binaries, {**INGRESS, **ROUTE, "gateway.httpRoute.hostnames": ["route.example.com"]})
    assert "https://xapps.example.com/" in text
    assert "https://route.example.com/" in text
    assert "port-forward" not in text
    assert "kubectl -n ric-system port-forward" in notes(binaries, {"gateway.service.type": "ClusterIP"})
    assert "http://NODE:31315/" in notes(binaries, {})
