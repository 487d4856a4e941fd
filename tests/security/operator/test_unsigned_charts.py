"""Threat: an unsigned chart is installed, although its repository or the cluster demands a signature."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster import Cluster
from tests.support.chart_server import ChartServer
from tests.support.chart_signing import GnuPG
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

ARCHIVE = workload_chart()
PROVENANCE_PATH = "/workload-0.1.0.tgz.prov"


@pytest.fixture(scope="module")
def gpg() -> Iterator[GnuPG]:
    with GnuPG() as one:
        one.create_key("author", algorithm="ed25519")
        one.create_key("stranger", algorithm="ed25519")
        yield one


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("workload", "0.1.0", ARCHIVE)
        yield server


@pytest.fixture
def strict_operator(
    operator: OperatorProcess, cluster: Cluster, gpg: GnuPG, tmp_path: Path
) -> Iterator[OperatorProcess]:
    """An operator that demands signatures of the key `author`, in place of the other one."""
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "author.gpg").write_bytes(gpg.public_key("author"))
    settings = {"XAPP_REQUIRE_SIGNATURES": "true", "XAPP_SIGNATURE_KEYS": str(keys)}
    strict = OperatorProcess(cluster, tmp_path, settings)
    operator.stop()
    strict.start()
    yield strict
    strict.stop()
    operator.start()


def save_repository(xapps: XAppClient, url: str) -> None:
    xapps.apply(
        {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "ChartRepository",
            "metadata": {"name": "charts", "namespace": xapps.namespace},
            "spec": {"url": url, "verify": {"provider": "provenance", "secretRef": {"name": "keys"}}},
        }
    )


def save_keys(xapps: XAppClient, key: bytes) -> None:
    xapps.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "keys", "namespace": xapps.namespace},
            "data": {"author.gpg": base64.b64encode(key).decode()},
        }
    )


def wait_message(xapps: XAppClient, name: str, word: str) -> str:
    """Return the message of Stalled once it has `word` and the reason ChartInvalid."""

    def has_word() -> bool:
        stalled = xapps.current_condition(name, "Stalled") or {}
        return stalled.get("reason") == "ChartInvalid" and word in stalled.get("message", "")

    xapps.wait_until(has_word, what=f"{name} to be refused because of {word!r}")
    return str((xapps.current_condition(name, "Stalled") or {})["message"])


def test_a_repository_installs_only_what_its_keys_signed(xapps: XAppClient, charts: ChartServer, gpg: GnuPG) -> None:
    save_repository(xapps, charts.url)
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload"))
    wait_message(xapps, "hello", "Secret keys in verify does not exist")
    save_keys(xapps, gpg.public_key("author"))
    assert gpg.fingerprint("author") in wait_message(xapps, "hello", "has no provenance file")
    charts.files[PROVENANCE_PATH] = gpg.provenance(ARCHIVE, key="stranger", name="workload")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/reconcile-at=1")
    wait_message(xapps, "hello", "unknown entity")
    assert xapps.helm_releases() == {}
    save_keys(xapps, gpg.public_key("stranger"))  # a change of the keys is enough
    xapps.wait_ready("hello")
    save_keys(xapps, gpg.public_key("author"))
    wait_message(xapps, "hello", gpg.fingerprint("author"))
    assert set(xapps.helm_releases()) == {"hello"}  # what runs stays


def test_a_repository_shows_that_its_keys_are_unusable(xapps: XAppClient, charts: ChartServer, gpg: GnuPG) -> None:
    save_keys(xapps, gpg.private_key("author"))
    save_repository(xapps, charts.url)

    def message() -> str:
        found = (xapps.get("chartrepository", "charts") or {}).get("status", {}).get("conditions", [])
        return json.dumps(found)

    xapps.wait_until(lambda: "private key" in message(), what="the repository to refuse the key")
    assert "ChartInvalid" in message()


def test_a_cluster_that_demands_signatures_installs_nothing_unsigned(
    xapps: XAppClient, strict_operator: OperatorProcess, charts: ChartServer, gpg: GnuPG
) -> None:
    assert strict_operator.running
    signed = gpg.provenance(ARCHIVE, key="author", name="workload")
    encoded = base64.b64encode(ARCHIVE).decode()
    manifest = xapps.uploaded_manifest("uploaded", ARCHIVE)
    xapps.apply(manifest)
    source = {"name": "own", "key": "chart.tgz"}
    for kind, field in (("Secret", "data"), ("ConfigMap", "binaryData")):
        metadata = {"name": "own", "namespace": xapps.namespace}
        xapps.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata, field: {"chart.tgz": encoded}})
        reference = {"secretRef" if kind == "Secret" else "configMapRef": source}
        xapps.apply(
            xapps.uploaded_manifest(kind.lower(), ARCHIVE) | {"spec": {**manifest["spec"], "archive": reference}}
        )
    xapps.apply(xapps.remote_manifest("remote", url=charts.url, chart="workload"))
    names = ("uploaded", "secret", "configmap", "remote")
    for name in names:
        assert gpg.fingerprint("author") in wait_message(xapps, name, "has no provenance file")
    assert xapps.helm_releases() == {}

    archive = manifest["spec"]["archive"]["chartArchiveRef"]["name"]
    patch = json.dumps({"spec": {"provenance": signed.decode()}})
    xapps.kubectl("patch", "chartarchive", archive, "--type=merge", "-p", patch)
    patch = json.dumps({"data": {"chart.tgz.prov": base64.b64encode(signed).decode()}})
    xapps.kubectl("patch", "secret", "own", "--type=merge", "-p", patch)
    xapps.kubectl(
        "patch", "configmap", "own", "--type=merge", "-p", json.dumps({"data": {"chart.tgz.prov": signed.decode()}})
    )
    charts.files[PROVENANCE_PATH] = signed
    for name in ("uploaded", "remote"):
        xapps.kubectl("annotate", f"xapp/{name}", "xapp-operator.io/reconcile-at=1")
    for name in names:
        xapps.wait_ready(name)
