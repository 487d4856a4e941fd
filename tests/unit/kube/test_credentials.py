"""The client's own credentials are found, refreshed, and never sent for another user."""

from __future__ import annotations

import json
import ssl
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.config import incluster_config

from tests.localcluster.kubeconfig import write_kubeconfig as write_embedded
from tests.localcluster.pki import Authority, KeyPair
from tests.unit.kube.conftest import Connect, write_kubeconfig
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ApiUnavailable, KubeError, Unauthenticated
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import PODS


class TlsServer:
    """A server that requests a client certificate, like an API server, and returns the identity of the client."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder / "pki")
        self.ca = folder / "pki" / "ca.crt"
        self.client: KeyPair = self.authority.issue("client", common_name="ours")
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        self._context.verify_mode = ssl.CERT_OPTIONAL
        pair = self.authority.issue("server", common_name="server")
        self._context.load_cert_chain(pair.certificate, pair.key)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._who)
        self.server = TestServer(app, scheme="https", host="127.0.0.1")

    async def start(self) -> str:
        """Start and return the URL."""
        await self.server.start_server(ssl=self._context)
        return f"https://127.0.0.1:{self.server.port}"

    async def _who(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert")
        subject = certificate and dict(pair for part in certificate["subject"] for pair in part)["commonName"]
        headers = {name: request.headers.get(name) for name in ("Authorization", "Impersonate-User")}
        return web.json_response({"certificate": subject or None, **headers})


@pytest.fixture
async def tls(tmp_path: Path) -> AsyncIterator[TlsServer]:
    server = TlsServer(tmp_path)
    yield server
    await server.server.close()


async def who(client: KubeClient) -> dict[str, object]:
    answer: dict[str, object] = json.loads((await client.request_bytes("GET", "/")).body)
    return answer


async def test_a_callers_request_has_only_the_callers_credentials(tls: TlsServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    write_embedded(kubeconfig, server=await tls.start(), authority=tls.ca, credential=tls.client)
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        ours = {"certificate": "ours", "Authorization": None, "Impersonate-User": None}
        theirs = {"certificate": None, "Authorization": "Bearer theirs", "Impersonate-User": None}
        for _ in range(2):
            assert await who(client) == ours
            assert await who(client.with_token("theirs")) == theirs
            assert await who(client.impersonate("jane")) == {**ours, "Impersonate-User": "jane"}
            assert await who(client.impersonate("jane").with_token("theirs")) == theirs


async def test_forwarded_headers_do_not_change_the_identity_of_a_request(tls: TlsServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    write_embedded(kubeconfig, server=await tls.start(), authority=tls.ca, credential=tls.client)
    foreign = {"authorization": "Bearer x", "impersonate-user": "system:admin", "Impersonate-Group": "system:masters"}
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        answer = json.loads((await client.request_bytes("GET", "/", headers=foreign)).body)
    assert answer == {"certificate": "ours", "Authorization": None, "Impersonate-User": None}


async def test_keys_of_a_kubeconfig_are_not_left_in_files(
    tls: TlsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    kubeconfig = tmp_path / "kubeconfig"
    write_embedded(kubeconfig, server=await tls.start(), authority=tls.ca, credential=tls.client)
    for _ in range(2):
        async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
            assert (await who(client))["certificate"] == "ours"
            assert list(scratch.iterdir()) == []


async def test_another_library_can_connect_with_the_same_credentials(tls: TlsServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    server = await tls.start()
    write_embedded(kubeconfig, server=server, authority=tls.ca, credential=tls.client)
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        connection = await client.credentials.connection()
    assert connection.server == server
    assert connection.ca_data == tls.ca.read_text()
    assert connection.certificate_data == tls.client.certificate.read_text()
    assert connection.private_key_data == tls.client.key.read_text()
    assert "PRIVATE KEY" not in repr(connection)


async def test_a_renewed_client_certificate_is_used_after_the_old_one_is_rejected(
    tls: TlsServer, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "client.crt", tmp_path / "client.key"

    def write(common_name: str) -> None:
        pair = tls.authority.issue(common_name, common_name=common_name)
        certificate.write_bytes(pair.certificate.read_bytes())
        key.write_bytes(pair.key.read_bytes())

    write("old")
    cluster = {"server": await tls.start(), "certificate-authority": str(tls.ca)}
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", cluster={**cluster}, user={**user})
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        assert (await who(client))["certificate"] == "old"
        write("new")
        await client._transport.credentials.refresh()
        assert (await who(client))["certificate"] == "new"


async def test_a_server_of_another_authority_is_not_trusted(tls: TlsServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    Authority(tmp_path / "other")
    other = tmp_path / "other" / "ca.crt"
    write_embedded(kubeconfig, server=await tls.start(), authority=other, credential="ours")
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        with pytest.raises(ApiUnavailable, match="not trusted"):
            await client.server_version()


async def test_a_token_file_is_read_again_when_the_server_rejects_the_token(connect: Connect, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    valid = "old"

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != f"Bearer {valid}":
            return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)
        return web.json_response({"gitVersion": valid})

    client = await connect(handler, user={"tokenFile": str(token)})
    assert await client.server_version() == "old"
    valid = "new"
    token.write_text("new\n")
    assert await client.server_version() == "new"


@pytest.mark.parametrize("mended", [True, False])
async def test_a_watch_reads_its_token_again_once_when_the_server_rejects_it(
    connect: Connect, tmp_path: Path, *, mended: bool
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        if seen[-1] != "Bearer new":
            return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)
        return web.Response(body=b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n')

    client = await connect(handler, user={"tokenFile": str(token)})
    second = "new" if mended else "also old"
    token.write_text(second)
    async with aclosing(client.watch(PODS)) as events:
        with nullcontext() if mended else pytest.raises(Unauthenticated, match="Unauthorized"):
            assert (await anext(events)).object == {"metadata": {"name": "a"}}
    assert seen == ["Bearer old", f"Bearer {second}"]


async def test_a_rejected_token_of_a_caller_is_an_error_at_once(connect: Connect) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)

    client = await connect(handler)
    with pytest.raises(Unauthenticated, match="Unauthorized"):
        await client.with_token("theirs").server_version()
    with pytest.raises(Unauthenticated, match="Unauthorized"):
        await anext(client.with_token("theirs").watch(PODS))
    assert seen == ["Bearer theirs"] * 2


def write_plugin(tmp_path: Path, *, expiry: str | None) -> dict[str, object]:
    """Write an exec plugin that returns another token on every run; return its part of a kubeconfig."""
    runs = tmp_path / "runs"
    status = '\\"token\\": \\"t$N\\"' + (f', \\"expirationTimestamp\\": \\"{expiry}\\"' if expiry else "")
    version = "client.authentication.k8s.io/v1"
    plugin = tmp_path / "plugin"
    plugin.write_text(
        f"#!/bin/sh\necho run >> {runs}\nN=$(wc -l < {runs})\n"
        f'echo "{{\\"apiVersion\\": \\"{version}\\", \\"kind\\": \\"ExecCredential\\", \\"status\\": {{{status}}}}}"\n'
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": version, "command": str(plugin)}}


@pytest.mark.parametrize("expiry", [None, "2999-01-01T00:00:00Z"])
async def test_an_exec_plugin_runs_again_only_when_its_token_is_rejected(
    connect: Connect, tmp_path: Path, expiry: str | None
) -> None:
    valid = "t1"

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != f"Bearer {valid}":
            return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)
        return web.json_response({"gitVersion": valid})

    user = write_plugin(tmp_path, expiry=expiry)
    client = await connect(handler, user=json.loads(json.dumps(user)))
    assert [await client.server_version() for _ in range(3)] == ["t1"] * 3
    valid = "t2"
    assert [await client.server_version() for _ in range(3)] == ["t2"] * 3
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


async def test_a_failing_exec_plugin_is_reported(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}}
    cluster = {"server": "https://127.0.0.1:1"}
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", cluster={**cluster}, user=json.loads(json.dumps(user)))
    with pytest.raises(KubeError, match="has no credentials") as caught:
        await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig)))
    assert caught.value.permanent


@pytest.mark.parametrize("content", [None, "", "[]", "{", "current-context: x"])
async def test_an_unusable_kubeconfig_is_an_error_without_its_path(tmp_path: Path, content: str | None) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    if content is not None:
        kubeconfig.write_text(content)
    with pytest.raises(KubeError, match="KUBECONFIG cannot be used") as caught:
        await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig)))
    assert str(tmp_path) not in caught.value.message
    assert caught.value.permanent


async def test_a_pod_uses_its_service_account_and_reads_the_token_again(
    tls: TlsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = await tls.start()
    token = tmp_path / "token"
    token.write_text("first\n")
    now = datetime(2001, 1, 1, tzinfo=UTC)
    clock = SimpleNamespace(now=lambda: now)
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=clock, timedelta=timedelta))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tls.ca))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", address.rpartition(":")[2])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    async with await KubeClient.connect(Settings()) as client:
        assert client.credentials.kubeconfig_path is None
        assert (await who(client))["Authorization"] == "Bearer first"
        assert (await client.credentials.connection()).token == "first"
        token.write_text("second\n")
        now += timedelta(minutes=2)
        await client.credentials.refresh()
        assert (await who(client))["Authorization"] == "Bearer second"


async def test_a_missing_cluster_is_an_error_that_names_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(KubeError, match="set KUBECONFIG") as caught:
        await KubeClient.connect(Settings())
    assert caught.value.permanent


async def test_the_kubeconfig_of_the_user_is_used_where_none_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / ".kube").mkdir()
    path = write_kubeconfig(tmp_path / ".kube" / "config", cluster={"server": "http://192.0.2.1"}, user={})
    async with await KubeClient.connect(Settings()) as client:
        assert (client.credentials.server, client.credentials.kubeconfig_path) == ("http://192.0.2.1", str(path))
