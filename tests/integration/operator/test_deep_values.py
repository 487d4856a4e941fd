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


def test_new_xapps_are_stalled_and_mended_and_removed(
    operator: OperatorProcess, gateway: GatewayServer, xapps: XAppClient
) -> None:
    for levels in LEVELS:
        for name in (f"deep-{levels}", f"removed-{levels}"):
            manifest = with_deep_values(xapps.uploaded_manifest(name, workload_chart()), levels)
            xapps.kubectl("create", "-f", "-", input=manifest)
    for levels in LEVELS:
        wait_stalled(xapps, f"deep-{levels}")
        wait_stalled(xapps, f"removed-{levels}")
        assert deep_text(levels) in stored_text(xapps, f"deep-{levels}").replace(" ", "")

    with gateway.client() as client:
        of_each = [f"/api/xapps/{xapps.namespace}/deep-{levels}" for levels in LEVELS]
        for path in ("/api/xapps", *of_each, *(f"{one}/config" for one in of_each)):
            response = client.get(path)
            assert response.status_code == HTTPStatus.OK, response.text

    # Others go on, also in an operator that starts with such XApps.
    xapps.apply(xapps.uploaded_manifest("before", workload_chart()))
    xapps.wait_ready("before")
    operator.stop()
    operator.start()
    xapps.apply(xapps.uploaded_manifest("after", workload_chart()))
    xapps.wait_ready("after")

    for levels in LEVELS:
        xapps.kubectl("delete", "xapp", f"removed-{levels}", "--wait=false")
        xapps.kubectl("patch", "xapp", f"deep-{levels}", "--type=merge", "-p", '{"spec":{"values":null}}')
    kept = {"before", "after", *(f"deep-{levels}" for levels in LEVELS)}
    xapps.wait_until(lambda: set(xapps.names("xapps")) == kept, what="the removed XApps to be gone")
    for levels in LEVELS:
        xapps.wait_ready(f"deep-{levels}")
    assert operator.running


def test_ready_xapps_are_stalled_and_removed_with_their_releases(
    operator: OperatorProcess, xapps: XAppClient, tmp_path: Path
) -> None:
    names = {f"hello-{levels}": levels for levels in LEVELS}
    for name in names:
        xapps.apply(xapps.uploaded_manifest(name, workload_chart()))
    for name, levels in names.items():
        xapps.wait_ready(name)
        patch = tmp_path / f"{name}.json"
        patch.write_text(with_deep_values({}, levels))
        xapps.kubectl("patch", "xapp", name, "--type=merge", f"--patch-file={patch}")
    for name in names:
        wait_stalled(xapps, name)
    assert set(xapps.helm_releases()) == set(names)

    for name in names:
        xapps.kubectl("delete", "xapp", name, "--wait=false")
    xapps.wait_until(lambda: xapps.names("xapps") == [], what="the XApps to be gone")
    assert xapps.helm_releases() == {}
    assert operator.running
