"""Threat: an unsigned chart is uploaded where this cluster demands signatures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.gateway_client import DEPLOYMENT, XAPP_NAME, GatewayClient, multipart_files
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import JsonObject
from tests.support.chart_server import ChartServer
from tests.support.chart_signing import GnuPG
from tests.support.charts import chart_archive
from tests.support.gateway import serve_gateway

pytestmark = pytest.mark.integration

ARCHIVE = chart_archive()
ARCHIVES = "/apis/xapp-operator.io/v1alpha1/namespaces/{}/chartarchives"


@pytest.fixture(scope="module")
def gpg() -> Iterator[GnuPG]:
    with GnuPG() as one:
        one.create_key("author", algorithm="ed25519")
        one.create_key("stranger", algorithm="ed25519")
        yield one


@pytest.fixture
def strict(client: GatewayClient, cluster: Cluster, gpg: GnuPG, tmp_path: Path) -> Iterator[GatewayClient]:
    """The client of a gateway that demands signatures of the key `author`."""
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "author.gpg").write_bytes(gpg.public_key("author"))
    settings = settings_for(cluster, tmp_path, require_signatures=True, signature_keys=keys)
    with serve_gateway(settings) as gateway, gateway.client() as http:
        yield replace(client, http=http)


def send(
    client: GatewayClient, provenance: bytes | None, *, update: bool = False, dry_run: bool = False
) -> httpx.Response:
    parts = multipart_files(client.deployment_form(), file=ARCHIVE)
    if provenance is not None:
        parts["provenance"] = ("hello.prov", provenance)
    path = f"{DEPLOYMENT}/{client.namespace}/{XAPP_NAME}" if update else DEPLOYMENT
    return client.http.request("PUT" if update else "POST", path, files=parts, params={"dryRun": str(dry_run).lower()})


def archives(client: GatewayClient) -> list[JsonObject]:
    found: list[JsonObject] = client.api.get(ARCHIVES.format(client.namespace))["items"]
    return found


def test_an_upload_without_a_trusted_signature_is_refused(strict: GatewayClient, gpg: GnuPG) -> None:
    forged = (None, gpg.provenance(ARCHIVE, key="stranger"), gpg.provenance(ARCHIVE + b"\0", key="author"))
    for provenance in forged:
        for dry_run in (False, True):
            answer = send(strict, provenance, dry_run=dry_run)
            assert answer.status_code == 422, answer.text
            assert [each["field"] for each in answer.json()["errors"]] == ["provenance"]
            assert gpg.fingerprint("author") in answer.json()["detail"]
    assert archives(strict) == []


def test_a_signed_upload_is_stored_with_its_provenance(strict: GatewayClient, gpg: GnuPG) -> None:
    provenance = gpg.provenance(ARCHIVE, key="author")
    assert send(strict, provenance, dry_run=True).status_code == 200
    assert archives(strict) == []
    assert send(strict, provenance).status_code == 202
    (stored,) = archives(strict)
    assert stored["spec"]["provenance"] == provenance.decode()
    assert send(strict, None, update=True).status_code == 422
    # The same chart, signed again: what is stored gets the new file.
    again = gpg.provenance(ARCHIVE, key="author") + b"\n"
    assert send(strict, again, update=True).status_code == 202
    assert [each["spec"]["provenance"] for each in archives(strict)] == [again.decode()]


def test_a_chart_without_an_xapp_must_be_signed_too(strict: GatewayClient, gpg: GnuPG) -> None:
    parts: dict[str, Any] = {"namespace": (None, strict.namespace), "file": ("chart.tgz", ARCHIVE)}
    for provenance in (None, gpg.provenance(ARCHIVE, key="stranger")):
        forged = parts if provenance is None else parts | {"provenance": ("hello.prov", provenance)}
        for dry_run in ("false", "true"):
            answer = strict.http.post("/api/charts", files=forged, params={"dryRun": dry_run})
            assert answer.status_code == 422, answer.text
            assert [each["field"] for each in answer.json()["errors"]] == ["provenance"]
    assert archives(strict) == []
    provenance = gpg.provenance(ARCHIVE, key="author")
    signed = strict.http.post("/api/charts", files=parts | {"provenance": ("hello.prov", provenance)})
    assert signed.status_code == 201, signed.text
    assert [each["spec"]["provenance"] for each in archives(strict)] == [provenance.decode()]


def test_new_values_for_a_chart_that_was_stored_unsigned_are_refused(
    client: GatewayClient, strict: GatewayClient, gpg: GnuPG
) -> None:
    client.deploy(ARCHIVE)
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}/config"
    wait_until(lambda: strict.http.get(path).status_code == 200, timeout=60, what="the other gateway to see the xApp")
    refused = strict.http.put(path, json={"values": {"greeting": "hi"}})
    assert refused.status_code == 422
    assert "not signed" in refused.json()["detail"]
    assert send(strict, gpg.provenance(ARCHIVE, key="author"), update=True).status_code == 202
    assert strict.http.put(path, json={"values": {"greeting": "hi"}}).status_code == 202


def test_an_unsigned_remote_chart_is_refused_in_a_dry_run(strict: GatewayClient, gpg: GnuPG) -> None:
    with ChartServer() as charts:
        charts.add("hello", "0.1.0", ARCHIVE)
        refused = strict.post_deployment(strict.remote_form(charts.url), dryRun="true")
        assert refused.status_code == 422
        assert refused.json()["type"].endswith("signature-invalid")
        charts.files["/hello-0.1.0.tgz.prov"] = gpg.provenance(ARCHIVE, key="author")
        assert strict.post_deployment(strict.remote_form(charts.url), dryRun="true").status_code == 200


@pytest.mark.parametrize("content", [b"", b"hello", b"\xff\xfe", b"-----BEGIN PGP SIGNED MESSAGE-----\0"])
def test_what_is_no_provenance_file_is_refused(client: GatewayClient, content: bytes) -> None:
    answer = send(client, content)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["provenance"]


def test_a_provenance_file_of_another_chart_is_refused_without_keys_too(client: GatewayClient, gpg: GnuPG) -> None:
    foreign = gpg.provenance(ARCHIVE + b"\0", key="stranger")
    parts: dict[str, Any] = {"file": ("chart.tgz", ARCHIVE), "provenance": ("hello.prov", foreign)}
    answers = [
        send(client, foreign),
        client.http.post("/api/charts", files=parts, params={"dryRun": "true"}),
        client.http.post("/api/charts", files=parts | {"namespace": (None, client.namespace)}),
    ]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        assert [each["field"] for each in answer.json()["errors"]] == ["provenance"]
    assert archives(client) == []


def test_a_dry_run_says_whether_the_signature_was_checked(
    client: GatewayClient, strict: GatewayClient, gpg: GnuPG
) -> None:
    signed = gpg.provenance(ARCHIVE, key="author")
    parts: dict[str, Any] = {"file": ("chart.tgz", ARCHIVE), "provenance": ("hello.prov", signed)}
    for one, count in ((client, 1), (strict, 0)):
        answer = one.http.post("/api/charts", files=parts, params={"dryRun": "true"})
        assert answer.status_code == 200, answer.text
        assert sum("was not checked" in each for each in answer.json()["warnings"]) == count


def test_a_provenance_file_without_a_chart_is_refused(client: GatewayClient, gpg: GnuPG) -> None:
    client.deploy(ARCHIVE)
    parts = multipart_files(client.deployment_form())
    parts["provenance"] = ("hello.prov", gpg.provenance(ARCHIVE, key="author"))
    answer = client.http.put(f"{DEPLOYMENT}/{client.namespace}/{XAPP_NAME}", files=parts)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["provenance"]
