"""XApps with values that are nested deeper than Python can decode or copy concern nobody but themselves."""

from __future__ import annotations

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import GatewayServer
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

LEVELS = [200, 600, 1_500, 9_000]
TOO_DEEP = "values are nested more than 100 levels deep. Flatten them."


def with_deep_values(body: dict[str, Any], levels: int) -> str:
    body = {**body, "spec": {**body.get("spec", {}), "values": {"deep": "VALUES"}}}
    return json.dumps(body).replace('"VALUES"', deep_text(levels))


def deep_text(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def stored_text(xapps: XAppClient, name: str) -> str:
    """Return the JSON of an XApp, which Python cannot decode."""
    return xapps.kubectl("get", "--raw", f"/apis/xapp-operator.io/v1alpha1/namespaces/{xapps.namespace}/xapps/{name}")


def jsonpath(xapps: XAppClient, name: str, path: str) -> str:
    return xapps.kubectl("get", "xapp", name, "-o", f"jsonpath={path}")


def wait_stalled(xapps: XAppClient, name: str) -> None:
    stalled = "{.status.conditions[?(@.type=='Stalled')].message}"
    xapps.wait_until(lambda: TOO_DEEP in jsonpath(xapps, name, stalled), what=f"XApp {name} to be Stalled")
    generation = jsonpath(xapps, name, "{.metadata.generation} {.status.observedGeneration}").split()
    assert generation[0] == generation[1]


@pytest.mark.parametrize("levels", LEVELS)
def test_a_new_xapp_is_stalled_and_mended_and_removed(
    operator: OperatorProcess, gateway: GatewayServer, xapps: XAppClient, levels: int
) -> None:
    manifest = xapps.uploaded_manifest("deep", workload_chart())
    xapps.kubectl("create", "-f", "-", input=with_deep_values(manifest, levels))
    xapps.kubectl(
        "create", "-f", "-", input=with_deep_values(xapps.uploaded_manifest("removed", workload_chart()), levels)
    )
    wait_stalled(xapps, "deep")
    wait_stalled(xapps, "removed")
    assert deep_text(levels) in stored_text(xapps, "deep").replace(" ", "")

    with gateway.client() as client:
        for path in ("/api/xapps", f"/api/xapps/{xapps.namespace}/deep", f"/api/xapps/{xapps.namespace}/deep/config"):
            response = client.get(path)
            assert response.status_code == HTTPStatus.OK, response.text

    # Others go on, also in an operator that starts with such XApps.
    xapps.apply(xapps.uploaded_manifest("before", workload_chart()))
    xapps.wait_ready("before")
    operator.stop()
    operator.start()
    xapps.apply(xapps.uploaded_manifest("after", workload_chart()))
    xapps.wait_ready("after")

    xapps.kubectl("delete", "xapp", "removed", "--wait=false")
    xapps.wait_until(lambda: "removed" not in xapps.names("xapps"), what="XApp removed to be gone")
    xapps.kubectl("patch", "xapp", "deep", "--type=merge", "-p", '{"spec":{"values":null}}')
    xapps.wait_ready("deep")
    assert operator.running


@pytest.mark.parametrize("levels", LEVELS)
def test_a_ready_xapp_is_stalled_and_removed_with_its_release(
    operator: OperatorProcess, xapps: XAppClient, tmp_path: Path, levels: int
) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    patch = tmp_path / "patch.json"
    patch.write_text(with_deep_values({}, levels))
    xapps.kubectl("patch", "xapp", "hello", "--type=merge", f"--patch-file={patch}")
    wait_stalled(xapps, "hello")
    assert "hello" in xapps.helm_releases()

    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    xapps.wait_until(lambda: xapps.names("xapps") == [], what="XApp hello to be gone")
    assert xapps.helm_releases() == {}
    assert operator.running
