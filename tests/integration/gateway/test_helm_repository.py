"""Each namespace of uploaded charts is a Helm repository: the real helm adds it and installs from it."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ARCHIVES
from tests.support.chart_signing import GnuPG
from tests.support.charts import archive_name, chart_archive, chart_archive_manifest
from tests.support.gateway import GatewayServer

pytestmark = pytest.mark.integration

OLD: Final = chart_archive()
NEW: Final = chart_archive(version="0.2.0+build.1")


class TenantHelm:
    """helm with folders of its own, and with the token of a tenant both for the repository and for the cluster."""

    def __init__(self, cluster: Cluster, folder: Path, *, token: str, namespace: str) -> None:
        self.token = token
        self._program = cluster.helm_path
        config = json.loads(cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        (folder / "kubeconfig").write_text(json.dumps(config))
        self._env = {
            "HOME": str(folder),
            "KUBECONFIG": str(folder / "kubeconfig"),
            "HELM_NAMESPACE": namespace,
            "NO_PROXY": "127.0.0.1",
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._program, *arguments], env=self._env, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add(self, url: str) -> None:
        self.run("repo", "add", "mine", url, "--username", "jane", "--password", self.token)


@pytest.fixture
def jane(caller_factory: CallerFactory) -> str:
    return caller_factory.create_account("jane", "edit")


@pytest.fixture
def helm(cluster: Cluster, caller_factory: CallerFactory, jane: str, tmp_path: Path) -> TenantHelm:
    return TenantHelm(cluster, tmp_path, token=jane, namespace=caller_factory.namespace)


def store(caller_factory: CallerFactory, token: str, *archives: bytes) -> None:
    with caller_factory.client_with_token(token) as client:
        for archive in archives:
            files: dict[str, Any] = {"file": ("chart.tgz", archive), "namespace": (None, client.namespace)}
            answer = client.http.post("/api/charts", files=files)
            assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("prefix", ["/helmrepo", "/api/charts", "/api/v1/charts"])
def test_helm_installs_from_the_repository_with_the_callers_token(
    authenticated_gateway: GatewayServer, caller_factory: CallerFactory, helm: TenantHelm, jane: str, prefix: str
) -> None:
    store(caller_factory, jane, OLD, NEW)
    helm.add(f"{authenticated_gateway.url}{prefix}/{caller_factory.namespace}")
    found = json.loads(helm.run("search", "repo", "mine/", "--versions", "-o", "json"))
    assert [(each["name"], each["version"], each["app_version"]) for each in found] == [
        ("mine/hello", "0.2.0+build.1", "1.0"),
        ("mine/hello", "0.1.0", "1.0"),
    ]
    helm.run("install", "newest", "mine/hello")
    helm.run("install", "older", "mine/hello", "--version", "0.1.0")
    installed = {each["name"]: each["chart"] for each in json.loads(helm.run("list", "-o", "json"))}
    assert installed == {"newest": "hello-0.2.0+build.1", "older": "hello-0.1.0"}
    for release in installed:
        helm.run("uninstall", release)


def test_basic_authentication_counts_for_the_repository_only(
    authenticated_gateway: GatewayServer, caller_factory: CallerFactory, jane: str
) -> None:
    store(caller_factory, jane, OLD)
    name, namespace = archive_name(OLD), caller_factory.namespace
    repository = f"/helmrepo/{namespace}"
    with authenticated_gateway.client() as http:

        def status(path: str, password: str, method: str = "GET") -> int:
            return http.request(method, path, auth=httpx.BasicAuth("anyone", password)).status_code

        wait_until(lambda: name in http.get(f"{repository}/index.yaml", auth=("x", jane)).text, what="it", timeout=60)
        assert status(f"{repository}/index.yaml", jane) == 200
        assert status(f"{repository}/{name}.tgz", jane) == 200
        assert status(f"{repository}/index.yaml", "unknown") == 401
        assert status(f"{repository}/index.yaml", "") == 401
        for method, path in (
            ("GET", "/api/charts"),
            ("GET", f"/api/charts/{namespace}/{name}"),
            ("DELETE", f"/api/charts/{namespace}/{name}"),
            ("GET", "/api/xapps"),
        ):
            assert status(path, jane, method) == 401, path
        for garbage in ("Basic", "Basic %%%", f"Basic {base64.b64encode(b'no colon').decode()}", "Basic /w=="):
            answer = http.get(f"{repository}/index.yaml", headers={"Authorization": garbage})
            assert answer.status_code == 401, garbage
            assert answer.headers["Vary"] == "Authorization, Cookie"


def test_only_the_index_and_the_charts_are_under_helmrepo(
    authenticated_gateway: GatewayServer, caller_factory: CallerFactory, jane: str
) -> None:
    store(caller_factory, jane, OLD)
    name, namespace = archive_name(OLD), caller_factory.namespace
    with authenticated_gateway.client(headers={"Authorization": f"Bearer {jane}"}) as http:
        for method, path in (
            ("GET", f"/helmrepo/{namespace}/{name}"),
            ("GET", "/helmrepo"),
            ("DELETE", f"/helmrepo/{namespace}/{name}"),
            ("POST", "/helmrepo"),
        ):
            assert http.request(method, path).status_code == 404, (method, path)


def index_of(client: GatewayClient) -> dict[str, Any]:
    answer = client.http.get(f"/api/charts/{client.namespace}/index.yaml")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = yaml.safe_load(answer.text)
    return found


@pytest.fixture(scope="module")
def gpg() -> Iterator[GnuPG]:
    with GnuPG() as one:
        for name in ("author", "stranger"):
            one.create_key(name)
        yield one


def test_helm_verifies_a_chart_with_its_stored_provenance_file(
    authenticated_gateway: GatewayServer, caller_factory: CallerFactory, helm: TenantHelm, gpg: GnuPG, tmp_path: Path
) -> None:
    provenance = gpg.provenance(NEW, key="author", version="0.2.0+build.1")
    namespace = caller_factory.namespace
    with caller_factory.client_with_token(helm.token) as client:
        files: dict[str, Any] = {"file": ("chart.tgz", NEW), "provenance": provenance, "namespace": (None, namespace)}
        assert client.http.post("/api/charts", files=files).status_code == 201
    for name in ("author", "stranger"):
        (tmp_path / name).write_bytes(gpg.public_key(name))
    helm.add(f"{authenticated_gateway.url}/helmrepo/{namespace}")
    pull = ("pull", "mine/hello", "--verify", "-d", str(tmp_path), "--keyring")
    helm.run(*pull, str(tmp_path / "author"))
    assert (tmp_path / "hello-0.2.0+build.1.tgz").read_bytes() == NEW
    with pytest.raises(AssertionError, match="openpgp: signature made by unknown entity"):
        helm.run(*pull, str(tmp_path / "stranger"))


def test_a_provenance_file_is_served_as_it_was_uploaded_and_changes_its_etag(client: GatewayClient, gpg: GnuPG) -> None:
    def upload(*provenance: bytes) -> None:
        files: dict[str, Any] = {"file": ("chart.tgz", OLD), "namespace": (None, client.namespace)}
        answer = client.http.post("/api/charts", files=files | dict(zip(("provenance",), provenance, strict=False)))
        assert answer.status_code in (200, 201), answer.text

    upload()
    paths = [f"/api/charts/{client.namespace}/{archive_name(OLD)}{file}.tgz.prov" for file in ("", "/hello-0.1.0")]
    for path in paths:
        absent = client.http.get(path)
        assert absent.status_code == 404
        assert "has no provenance file" in absent.json()["detail"]
    tag = ""
    for signed in (gpg.provenance(OLD, key="author"), gpg.provenance(OLD, key="stranger")):
        upload(signed)
        for path in paths:
            answer = client.http.get(path, headers={"If-None-Match": tag})
            assert (answer.status_code, answer.content) == (200, signed)
        tag = answer.headers["ETag"]
        assert client.http.get(paths[0], headers={"If-None-Match": tag}).status_code == 304
    for file in ("hello-0.2.0.tgz", "hello-0.2.0.tgz.prov", "other-0.1.0.tgz"):
        assert client.http.get(f"/api/charts/{client.namespace}/{archive_name(OLD)}/{file}").status_code == 404


def test_the_index_lists_the_newest_of_each_version(client: GatewayClient) -> None:
    assert index_of(client)["entries"] == {}
    again = chart_archive({"values.yaml": "greeting: again\n"})
    for archive in (OLD, again, NEW):
        files: dict[str, Any] = {"file": ("chart.tgz", archive), "namespace": (None, client.namespace)}
        assert client.http.post("/api/charts", files=files).status_code == 201
    entries = index_of(client)["entries"]["hello"]
    assert [entry["version"] for entry in entries] == ["0.2.0+build.1", "0.1.0"]
    newest = {hashlib.sha256(archive).hexdigest() for archive in (again, OLD)}
    assert entries[1]["digest"] in newest, "both may have been created in the same second"
    tag = client.http.get(f"/api/charts/{client.namespace}/index.yaml").headers["ETag"]
    unchanged = client.http.get(f"/api/charts/{client.namespace}/index.yaml", headers={"If-None-Match": tag})
    assert unchanged.status_code == 304


def test_an_archive_that_does_not_say_what_it_is_is_not_in_the_index(client: GatewayClient) -> None:
    manifest = chart_archive_manifest(OLD, namespace=client.namespace)
    honest = manifest["metadata"]["annotations"]
    said: tuple[dict[str, str], ...] = (
        {},
        {**honest, "xapp-operator.io/chart-version": "one"},
        {**honest, "xapp-operator.io/chart-digest": "md5:1"},
    )
    for at, texts in enumerate(said):
        manifest["metadata"] = {"name": f"by-hand-{at}", "namespace": client.namespace, "annotations": texts}
        client.api.create(ARCHIVES.format(client.namespace), manifest)
    wait_until(
        lambda: client.http.get("/api/charts", params={"namespace": client.namespace}).json()["total_count"] == 3,
        timeout=60,
        what="all to be known",
    )
    assert index_of(client)["entries"] == {}
