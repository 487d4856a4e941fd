"""A tenant whose charts take helm to its memory limit, and one whose values are as large as Kubernetes allows."""

from __future__ import annotations

import base64
import json

import pytest

from tests.security.operator.neighbour import MIB, Neighbour
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

DOUBLING_TEMPLATE = '{{ $x := "x" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}'
SECRETS = 32
SECRET_BYTES = 900_000
OPERATOR_MEMORY = 512 * MIB


def test_charts_that_need_all_memory_do_not_delay_another_namespace(xapps: XAppClient, neighbour: Neighbour) -> None:
    archive = chart_archive({"templates/a.yaml": DOUBLING_TEMPLATE})
    names = [f"greedy{at}" for at in range(20)]
    manifests = [xapps.uploaded_manifest(name, archive) for name in names]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    neighbour.check_ready_in_time()
    for name in names:
        condition = xapps.wait_stalled(name)
        assert condition["reason"] == "ChartInvalid"
        assert "MiB of memory" in condition["message"]
        assert "XAPP_HELM_MEMORY" in condition["message"]


def test_large_values_files_do_not_delay_another_namespace(xapps: XAppClient, neighbour: Neighbour) -> None:
    values = "".join(f"key{at:05}: {'x' * 20}\n" for at in range(SECRET_BYTES // 31)).encode()
    for at in range(SECRETS):
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"large{at}", "namespace": xapps.namespace},
            "data": {"values.yaml": base64.b64encode(values).decode()},
        }
        xapps.kubectl("create", "-f", "-", input=json.dumps(secret))
    sources = [{"kind": "Secret", "name": f"large{at}", "key": "values.yaml"} for at in range(SECRETS)]
    names = [f"large{at}" for at in range(10)]
    archive = chart_archive()
    manifests = [xapps.uploaded_manifest(name, archive, valuesFrom=sources) for name in names]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    neighbour.check_ready_in_time()
    for name in names:
        condition = xapps.wait_stalled(name)
        assert condition["reason"] == "ValuesInvalid"
        assert "together" in condition["message"]
        assert neighbour.operator_memory() < OPERATOR_MEMORY
