"""Threat: a tenant names any Secret of the namespace as credentials, to read it on a server of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient
from xapp_operator.api.names import ANNOTATION_ORIGIN, BASIC_AUTH_TYPE, REPOSITORY_CREDENTIALS_TYPE

pytestmark = pytest.mark.integration

PASSWORD = "s3cr3t-of-jane"


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer(username="jane", password=PASSWORD) as server:
        server.add("hello", "0.1.0", chart_archive())
        yield server


def apply_secret(xapps: XAppClient, *, kind: str, origin: str, **data: str) -> None:
    xapps.kubectl("delete", "secret", "login", "--ignore-not-found")
    annotations = {ANNOTATION_ORIGIN: origin} if origin else {}
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "annotations": annotations},
        "type": kind,
        "stringData": data or {"username": "jane", "password": PASSWORD},
    }
    xapps.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def apply_repository(xapps: XAppClient, url: str, **spec: Any) -> None:
    manifest = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "private"},
        "spec": {"url": url, "secretRef": {"name": "login"}, "allowPlainHTTP": True, **spec},
    }
    xapps.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def wait_ready_message(xapps: XAppClient, status: str, part: str) -> None:
    def condition() -> dict[str, Any] | None:
        found = (xapps.get("chartrepository", "private") or {}).get("status", {}).get("conditions", [])
        return next((each for each in found if each["type"] == "Ready" and each["status"] == status), None)

    xapps.wait_until(lambda: part in (condition() or {}).get("message", ""), what=f"Ready={status}: {part}")


def test_only_a_secret_made_for_the_repository_is_sent_to_it(xapps: XAppClient, charts: ChartServer) -> None:
    apply_secret(xapps, kind="Opaque", origin=charts.url)
    apply_repository(xapps, charts.url)
    wait_ready_message(xapps, "False", f"does not have the type {REPOSITORY_CREDENTIALS_TYPE}")
    apply_secret(xapps, kind=REPOSITORY_CREDENTIALS_TYPE, origin="https://charts.example.com")
    wait_ready_message(xapps, "False", f"set its annotation {ANNOTATION_ORIGIN} to {charts.url}")
    apply_secret(xapps, kind=REPOSITORY_CREDENTIALS_TYPE, origin="")
    wait_ready_message(xapps, "False", f"is not for {charts.url}")
    assert charts.authorizations == []
    apply_secret(xapps, kind=BASIC_AUTH_TYPE, origin=charts.url)
    wait_ready_message(xapps, "True", "lists 1 chart")
    everything = xapps.kubectl("get", "chartrepositories,events", "-o", "json")
    assert PASSWORD not in everything


def test_a_new_url_gets_no_credentials_until_the_secret_names_it(xapps: XAppClient, charts: ChartServer) -> None:
    apply_secret(xapps, kind=REPOSITORY_CREDENTIALS_TYPE, origin=charts.url)
    apply_repository(xapps, charts.url)
    wait_ready_message(xapps, "True", "lists 1 chart")
    with ChartServer() as evil:
        evil.add("hello", "0.1.0", chart_archive())
        apply_repository(xapps, evil.url)
        wait_ready_message(xapps, "False", f"set its annotation {ANNOTATION_ORIGIN} to {evil.url}")
        assert not evil.requests
        xapps.kubectl("annotate", "--overwrite", "secret", "login", f"{ANNOTATION_ORIGIN}={evil.url}")
        wait_ready_message(xapps, "True", "lists 1 chart")


def test_credentials_go_over_plain_http_only_if_the_repository_says_so(xapps: XAppClient, charts: ChartServer) -> None:
    apply_secret(xapps, kind=REPOSITORY_CREDENTIALS_TYPE, origin=charts.url)
    apply_repository(xapps, charts.url, allowPlainHTTP=False)
    wait_ready_message(xapps, "False", "(allowPlainHTTP of the ChartRepository)")
    assert charts.authorizations == []
    apply_repository(xapps, charts.url, allowPlainHTTP=True)
    wait_ready_message(xapps, "True", "lists 1 chart")
