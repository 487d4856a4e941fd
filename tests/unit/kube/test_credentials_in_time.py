"""When credentials are refreshed, and what is made of a configuration."""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException

from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from tests.unit.kube.conftest import write_kubeconfig
from tests.unit.kube.test_credentials import write_plugin
from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import KubeError
from xapp_operator.kube import credentials as module
from xapp_operator.kube.credentials import ClusterCredentials, TlsConfig

SERVER = "http://192.0.2.1:6443"


class Source:
    """Where credentials come from: each refresh gives another token, or fails."""

    def __init__(self, *, wait: float = 60.0) -> None:
        self.configuration = Configuration(host=SERVER + "/")
        self.clock = FakeClock()
        self.times: list[float] = []
        self.error: Exception | None = None
        self._wait = wait
        self._set_token(0)

    def _set_token(self, number: int) -> None:
        self.configuration.api_key["BearerToken"] = f"bearer  t{number} "

    async def refresh(self) -> float:
        self.times.append(self.clock.monotonic())
        await asyncio.sleep(1)
        if self.error is not None:
            raise self.error
        self._set_token(len(self.times))
        return self._wait

    def run(self, test: Callable[[ClusterCredentials], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            await test(
                ClusterCredentials(self.configuration, refresh=self.refresh, first_refresh=10, kubeconfig_path="/x")
            )

        with asyncio.Runner(loop_factory=lambda: FakeTimeLoop(self.clock)) as runner:
            runner.run(main())


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    made = Source()
    monkeypatch.setattr(module, "time", made.clock)
    return made


def test_credentials_are_refreshed_when_that_is_due(source: Source) -> None:
    async def test(credentials: ClusterCredentials) -> None:
        assert await credentials.authorization() == "Bearer t0"
        await asyncio.sleep(9)
        assert await credentials.authorization() == "Bearer t0"
        await asyncio.sleep(1)
        assert await asyncio.gather(*[credentials.authorization() for _ in range(3)]) == ["Bearer t1"] * 3
        await asyncio.sleep(59)
        assert await credentials.authorization() == "Bearer t1"
        await asyncio.sleep(1)
        assert await credentials.authorization() == "Bearer t2"
        assert source.times == [10, 71]

    source.run(test)


def test_refused_credentials_are_refreshed_at_most_every_five_seconds(source: Source) -> None:
    async def test(credentials: ClusterCredentials) -> None:
        await asyncio.gather(*[credentials.refresh() for _ in range(3)])
        await asyncio.sleep(4)
        await credentials.refresh()
        assert source.times == [0]
        await asyncio.sleep(1)
        await credentials.refresh()
        assert source.times == [0, 6]
        assert await credentials.authorization() == "Bearer t2"

    source.run(test)


@pytest.mark.parametrize("error", [ConfigException("no"), OSError("no"), ValueError("no")])
def test_credentials_that_cannot_be_refreshed_are_kept_for_five_seconds(source: Source, error: Exception) -> None:
    async def test(credentials: ClusterCredentials) -> None:
        source.error = error
        await asyncio.sleep(10)
        assert await credentials.authorization() == "Bearer t0"
        await asyncio.sleep(4)
        assert await credentials.authorization() == "Bearer t0"
        source.error = None
        await asyncio.sleep(1)
        assert await credentials.authorization() == "Bearer t2"
        assert source.times == [10, 16]

    source.run(test)


def test_an_unexpected_error_of_a_refresh_is_raised(source: Source) -> None:
    async def test(credentials: ClusterCredentials) -> None:
        source.error = RuntimeError("a bug")
        with pytest.raises(RuntimeError, match="a bug"):
            await credentials.refresh()

    source.run(test)


@pytest.mark.parametrize(
    ("value", "authorization", "token"),
    [
        ("Bearer abc", "Bearer abc", "abc"),
        ("bearer  abc ", "Bearer abc", "abc"),
        ("basic abc", "Basic abc", None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_only_a_bearer_token_is_given_to_others(
    source: Source, value: str | None, authorization: str | None, token: str | None
) -> None:
    async def test(credentials: ClusterCredentials) -> None:
        source.configuration.api_key = {} if value is None else {"BearerToken": value}
        assert await credentials.authorization() == authorization
        connection = await credentials.connection()
        assert (connection.server, connection.token, connection.insecure) == (SERVER, token, False)
        theirs = connection.with_token("theirs")
        assert (theirs.token, theirs.certificate_data, theirs.private_key_data) == ("theirs", None, None)

    source.run(test)


def test_each_side_has_its_tls_context() -> None:
    own, bare = ssl.create_default_context(), ssl.create_default_context()
    tls = TlsConfig(authenticated_context=own, anonymous_context=bare)
    assert tls.context(own_credentials=True) is own
    assert tls.context(own_credentials=False) is bare
    assert tls == TlsConfig()  # the same files


async def load(folder: Path, user: object, **cluster: object) -> ClusterCredentials:
    given: JsonObject = json.loads(json.dumps({"server": SERVER, **cluster}))
    path = write_kubeconfig(folder / "kubeconfig", cluster=given, user=json.loads(json.dumps(user)))
    return await ClusterCredentials.load(Settings(KUBECONFIG=str(path)))


@pytest.mark.parametrize(
    ("user", "seconds"),
    [
        ({"token": "abc"}, math.inf),
        ({"tokenFile": "TOKEN"}, 60),
        ({}, math.inf),
    ],
)
async def test_only_files_are_read_again_after_a_minute(tmp_path: Path, user: object, seconds: float) -> None:
    (tmp_path / "token").write_text("abc")
    given = {"tokenFile": str(tmp_path / "token")} if user == {"tokenFile": "TOKEN"} else user
    before = time.monotonic()
    credentials = await load(tmp_path, given)
    assert before + seconds <= credentials._refresh_due_at <= time.monotonic() + seconds


@pytest.mark.parametrize("user", [None, "unknown"])
async def test_credentials_of_no_user_are_not_read_again(tmp_path: Path, user: str | None) -> None:
    path = write_kubeconfig(tmp_path / "kubeconfig", cluster={"server": SERVER}, user={})
    config = json.loads(path.read_text())
    config["contexts"][0]["context"] = {"cluster": "test"} | ({"user": user} if user else {})
    path.write_text(json.dumps(config))
    credentials = await ClusterCredentials.load(Settings(KUBECONFIG=str(path)))
    assert (await credentials.authorization(), credentials._refresh_due_at) == (None, math.inf)


@pytest.mark.parametrize(("left", "least"), [(1000, 970), (36, 5), (33, 5), (-10, 5)])
async def test_a_plugin_runs_again_before_its_credentials_expire(tmp_path: Path, left: int, least: int) -> None:
    expiry = (datetime.now(tz=UTC) + timedelta(seconds=left)).replace(microsecond=0)
    before, left_before = time.monotonic(), (expiry - datetime.now(tz=UTC)).total_seconds()
    credentials = await load(tmp_path, write_plugin(tmp_path, expiry=expiry.strftime("%Y-%m-%dT%H:%M:%SZ")))
    after = time.monotonic()
    # A busy machine may take a while for the plugin.
    due = credentials._refresh_due_at
    assert before + max(left_before - 30, 5) - 0.01 <= due <= after + max(left_before - 30, 5)
    assert (await credentials.authorization()) == "Bearer t1"


@pytest.mark.parametrize("insecure", [False, True])
async def test_the_name_and_the_certificate_of_a_server_are_checked_unless_told_otherwise(
    tmp_path: Path, insecure: bool
) -> None:
    skipped = {"insecure-skip-tls-verify": True} if insecure else {}
    credentials = await load(tmp_path, {"token": "abc"}, server="https://192.0.2.1", **skipped)
    context = credentials.tls.context(own_credentials=True)
    assert context is not None
    assert context.check_hostname is not insecure
    assert context.verify_mode == (ssl.CERT_NONE if insecure else ssl.CERT_REQUIRED)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_flags & ssl.VERIFY_X509_TRUSTED_FIRST
    assert credentials.tls.context(own_credentials=False) is context
    assert (await credentials.connection()).insecure is insecure


async def test_plain_http_has_no_tls_and_needs_no_credentials(tmp_path: Path) -> None:
    credentials = await load(tmp_path, {})
    assert credentials.tls == TlsConfig()
    assert credentials.tls.context(own_credentials=True) is None
    with pytest.raises(KubeError, match="has no credentials"):
        await load(tmp_path, {}, server="https://192.0.2.1")


@pytest.mark.parametrize(
    ("environment", "cluster", "expected"),
    [
        ({"http_proxy": "http://p:1"}, {}, "http://p:1"),
        ({"https_proxy": "http://p:1"}, {}, None),
        ({"http_proxy": "http://p:1", "no_proxy": "192.0.2.1"}, {}, None),
        ({}, {"proxy-url": "http://q:1"}, "http://q:1"),
        ({"http_proxy": "http://p:1"}, {"proxy-url": "http://q:1"}, "http://q:1"),
        ({"http_proxy": "http://p:1"}, {"server": "http://127.0.0.1:1"}, None),
        ({"http_proxy": "http://p:1"}, {"server": "http://localhost:1"}, None),
    ],
)
async def test_a_proxy_comes_from_the_kubeconfig_or_the_environment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    cluster: dict[str, str],
    expected: str | None,
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (await load(tmp_path, {}, **cluster)).proxy == expected


def test_a_pod_uses_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://p:1")
    monkeypatch.delenv("no_proxy", raising=False)

    async def never() -> float:
        return math.inf

    def proxy(path: str | None) -> str | None:
        made = ClusterCredentials(
            Configuration(host=SERVER), refresh=never, first_refresh=math.inf, kubeconfig_path=path
        )
        return made.proxy

    async def test() -> None:
        assert proxy("/x") == "http://p:1"
        configuration = Configuration(host=SERVER)
        configuration.proxy = None
        pod = ClusterCredentials(configuration, refresh=never, first_refresh=math.inf, kubeconfig_path=None)
        assert pod.proxy is None

    asyncio.run(test())
