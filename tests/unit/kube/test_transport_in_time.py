"""Retries, time limits and connection pools of the transport, in simulated time and without a network."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from kubernetes.aio.client import Configuration

from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from xapp_operator.errors import AccessDenied, ApiUnavailable, KubeError
from xapp_operator.kube import transport
from xapp_operator.kube.credentials import ClusterCredentials, TlsConfig
from xapp_operator.kube.transport import OWN_IDENTITY, ApiRequest, ApiResponse, ApiTransport, RequestIdentity

KIBIBYTE = 1024
THEIRS = RequestIdentity.from_token("theirs")
_KEY = ConnectionKey("a", 1, False, True, None, None, None)
CANNOT_CONNECT = aiohttp.ClientConnectorError(_KEY, OSError("refused"))
CANNOT_TRUST = aiohttp.ClientConnectorSSLError(_KEY, OSError("certificate"))
BROKE_OFF = aiohttp.ServerDisconnectedError()
DATE, SECONDS = "Mon, 30 Nov 2026 12:00:00 GMT", 1_796_040_000.0


class Response:
    """The response of a server: its status, headers and body."""

    def __init__(self, status: int = 200, *, body: bytes = b"{}", **headers: str) -> None:
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.content = self
        self.closed = False
        self.read_at_most: int | None = None
        self._body = body

    async def __aenter__(self) -> Response:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the connection to the next request, as aiohttp does."""

    async def read(self, count: int | None = None) -> bytes:
        self.read_at_most = count
        return self._body if count is None else self._body[:count]

    async def iter_any(self) -> Any:
        yield self._body

    def close(self) -> None:
        self.closed = True


class Server:
    """Answers of a server, in the order of the requests; the last one again and again. None never answers."""

    def __init__(self, *answers: Response | Exception | None) -> None:
        self.answers = [*answers]
        self.times: list[float] = []
        self.options: list[dict[str, Any]] = []
        self.sessions: list[Session] = []
        self.refreshes = 0
        self.told: list[float] = []
        self.clock = FakeClock()
        self.transport: ApiTransport | None = None

    async def answer(self, **options: Any) -> Response:
        self.times.append(self.clock.monotonic())
        self.options.append(options)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            await asyncio.sleep(options["timeout"].total)
            raise TimeoutError
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def refresh(self) -> float:
        self.refreshes += 1
        return 1e9

    def connect(self) -> ApiTransport:
        configuration = Configuration(host="http://192.0.2.1:6443")
        credentials = ClusterCredentials(configuration, refresh=self.refresh, first_refresh=1e9, kubeconfig_path="/x")
        self.transport = ApiTransport(credentials, on_server_time=self.told.append)
        return self.transport

    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


class Session:
    """What the transport needs of aiohttp."""

    def __init__(self, server: Server, **options: Any) -> None:
        self.options = options
        self.closed = False
        self._server = server
        server.sessions.append(self)

    async def request(self, method: str, url: object, **options: Any) -> Response:
        return await self._server.answer(method=method, url=str(url), **options)

    async def close(self) -> None:
        self.closed = True
        await self.options["connector"].close()


Run = Callable[[Server, Callable[[ApiTransport], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_with(server: Server, test: Callable[[ApiTransport], Coroutine[Any, Any, None]]) -> None:
        monkeypatch.setattr(transport, "time", server.clock)
        monkeypatch.setattr(aiohttp, "ClientSession", lambda **options: Session(server, **options))

        async def main() -> None:
            made = server.connect()
            try:
                await test(made)
            finally:
                await made.close()

        with asyncio.Runner(loop_factory=lambda: FakeTimeLoop(server.clock)) as runner:
            runner.run(main())

    return run_with


async def send(
    made: ApiTransport, method: str = "GET", *, identity: RequestIdentity = OWN_IDENTITY, seconds: float = 30.0
) -> ApiResponse:
    return await made.send(ApiRequest(method, "/version", timeout_seconds=seconds), identity=identity)


@pytest.mark.parametrize(
    ("method", "error", "requests"),
    [
        ("GET", BROKE_OFF, 3),
        ("HEAD", BROKE_OFF, 3),
        ("POST", BROKE_OFF, 1),
        ("PUT", OSError("reset"), 1),
        ("POST", CANNOT_CONNECT, 3),
        ("GET", CANNOT_CONNECT, 3),
        ("GET", CANNOT_TRUST, 1),
        ("GET", TimeoutError(), 1),
    ],
)
def test_a_request_is_sent_again_only_if_that_is_safe(run: Run, method: str, error: Exception, requests: int) -> None:
    server = Server(error)

    async def test(made: ApiTransport) -> None:
        with pytest.raises(ApiUnavailable):
            await send(made, method)
        assert len(server.times) == requests

    run(server, test)


def test_the_pauses_between_attempts_grow(run: Run) -> None:
    server = Server(BROKE_OFF, BROKE_OFF, Response())

    async def test(made: ApiTransport) -> None:
        assert (await send(made)).status == 200
        first, second = server.pauses()
        assert 0.08 <= first <= 0.12
        assert 0.16 <= second <= 0.24

    run(server, test)


def test_there_is_no_other_attempt_after_the_time_of_the_request(run: Run) -> None:
    server = Server(BROKE_OFF)

    async def test(made: ApiTransport) -> None:
        with pytest.raises(ApiUnavailable):
            await send(made, seconds=0.07)
        assert len(server.times) == 1
        with pytest.raises(ApiUnavailable):
            await send(made, seconds=0.13)
        assert len(server.times) == 3

    run(server, test)


def test_each_attempt_has_the_time_that_is_left(run: Run) -> None:
    server = Server(BROKE_OFF, BROKE_OFF, None)

    async def test(made: ApiTransport) -> None:
        with pytest.raises(ApiUnavailable, match="in time"):
            await send(made, seconds=5)
        assert server.clock.monotonic() == pytest.approx(5)
        totals = [options["timeout"].total for options in server.options]
        assert totals == pytest.approx([5 - at for at in server.times])
        assert {options["timeout"].sock_connect for options in server.options} == {5}

    run(server, test)


def test_a_request_without_time_has_a_millisecond(run: Run) -> None:
    server = Server(Response())

    async def test(made: ApiTransport) -> None:
        await send(made, seconds=0)
        assert server.options[0]["timeout"].total == 0.001
        await made.send(ApiRequest("GET", "/version"), identity=OWN_IDENTITY)
        assert server.options[1]["timeout"].total == 30

    run(server, test)


@pytest.mark.parametrize(
    ("method", "status", "header", "pause"),
    [
        ("GET", 429, "3", 3),
        ("POST", 429, "0", 0),
        ("PATCH", 429, "3600", 10),
        ("GET", 503, "2", 2),
        ("POST", 503, "2", None),
        ("GET", 429, "", None),
        ("GET", 429, "soon", None),
        ("GET", 500, "1", None),
        ("GET", 200, "1", None),
    ],
)
def test_a_busy_server_is_asked_again_when_it_says(
    run: Run, method: str, status: int, header: str, pause: int | None
) -> None:
    server = Server(Response(status, Retry_After=header), Response(201))

    async def test(made: ApiTransport) -> None:
        response = await send(made, method)
        if pause is None:
            assert (response.status, len(server.times)) == (status, 1)
        else:
            [waited] = server.pauses()
            assert response.status == 201
            assert pause <= waited <= pause + 0.1

    run(server, test)


def test_a_server_that_stays_busy_is_asked_three_times(run: Run) -> None:
    server = Server(Response(429, Retry_After="1"))

    async def test(made: ApiTransport) -> None:
        assert (await send(made)).status == 429
        assert len(server.times) == 3

    run(server, test)


def test_a_busy_server_is_not_waited_for_beyond_the_time_of_the_request(run: Run) -> None:
    server = Server(Response(429, Retry_After="5"))

    async def test(made: ApiTransport) -> None:
        assert (await send(made, seconds=4.9)).status == 429
        assert server.times == [0]

    run(server, test)


@pytest.mark.parametrize(
    ("identity", "requests", "refreshes"),
    [(OWN_IDENTITY, 2, 1), (OWN_IDENTITY.impersonating("jane"), 2, 1), (THEIRS, 1, 0)],
)
def test_refused_credentials_of_our_own_are_refreshed_once(
    run: Run, identity: RequestIdentity, requests: int, refreshes: int
) -> None:
    server = Server(Response(401))

    async def test(made: ApiTransport) -> None:
        assert (await send(made, identity=identity)).status == 401
        assert (len(server.times), server.refreshes) == (requests, refreshes)

    run(server, test)


def test_refreshing_credentials_is_no_attempt(run: Run) -> None:
    server = Server(Response(401), BROKE_OFF, BROKE_OFF, Response())

    async def test(made: ApiTransport) -> None:
        assert (await send(made)).status == 200
        assert server.pauses()[0] == 0

    run(server, test)


async def read(
    made: ApiTransport, *, identity: RequestIdentity = OWN_IDENTITY, read_timeout: float | None = 70.0
) -> bytes:
    async with made.stream(ApiRequest("GET", "/pods"), identity=identity, read_timeout=read_timeout) as chunks:
        return b"".join([chunk async for chunk in chunks])


def test_a_stream_has_no_time_limit_but_for_its_pauses(run: Run) -> None:
    response = Response(body=b"abc")
    server = Server(response)

    async def test(made: ApiTransport) -> None:
        assert await read(made) == b"abc"
        timeout = server.options[0]["timeout"]
        assert (timeout.total, timeout.sock_connect, timeout.sock_read) == (None, 5, 70)
        assert response.closed

    run(server, test)


def test_a_stream_that_is_left_early_is_closed(run: Run) -> None:
    response = Response()

    async def test(made: ApiTransport) -> None:
        with pytest.raises(ValueError, match="mine"):
            async with made.stream(ApiRequest("GET", "/pods"), identity=OWN_IDENTITY, read_timeout=None):
                raise ValueError("mine")
        assert response.closed

    run(Server(response), test)


@pytest.mark.parametrize(("identity", "requests", "refreshes"), [(OWN_IDENTITY, 2, 1), (THEIRS, 1, 0)])
def test_a_stream_refreshes_refused_credentials_of_our_own_once(
    run: Run, identity: RequestIdentity, requests: int, refreshes: int
) -> None:
    server = Server(Response(401, body=b'{"kind": "Status", "message": "expired"}'))

    async def test(made: ApiTransport) -> None:
        with pytest.raises(Exception, match="expired"):
            await read(made, identity=identity)
        assert (len(server.times), server.refreshes) == (requests, refreshes)

    run(server, test)


def test_a_stream_goes_on_with_refreshed_credentials(run: Run) -> None:
    async def test(made: ApiTransport) -> None:
        assert await read(made) == b"abc"

    run(Server(Response(401), Response(body=b"abc")), test)


@pytest.mark.parametrize(("status", "refused"), [(399, False), (400, True), (403, True)])
def test_a_refused_stream_raises_the_error_of_the_server(run: Run, status: int, refused: bool) -> None:
    response = Response(status, body=b'{"kind": "Status", "message": "you may not"}')

    async def test(made: ApiTransport) -> None:
        if not refused:
            await read(made)
            return
        with pytest.raises(Exception, match="you may not") as caught:
            await read(made)
        assert isinstance(caught.value, AccessDenied) is (status == 403)
        assert response.read_at_most == 64 * KIBIBYTE

    run(Server(response), test)


@pytest.mark.parametrize("error", [BROKE_OFF, TimeoutError(), OSError("reset")])
def test_a_stream_that_breaks_is_unavailable(run: Run, error: Exception) -> None:
    class Breaking(Response):
        async def iter_any(self) -> Any:
            yield b"a"
            raise error

    class Unreadable(Response):
        async def read(self, count: int | None = None) -> bytes:
            raise error

    async def test(made: ApiTransport) -> None:
        for _ in range(2):
            with pytest.raises(ApiUnavailable):
                await read(made)
        with pytest.raises(AccessDenied):  # an error without its text
            await read(made)

    run(Server(error, Breaking(), Unreadable(403)), test)


def test_calls_and_streams_have_pools_of_their_own(run: Run) -> None:
    server = Server(Response())

    async def test(made: ApiTransport) -> None:
        for _ in range(2):
            await send(made)
            await read(made)
            await send(made, identity=THEIRS)
        calls, streams = server.sessions
        assert (calls.options["connector"].limit, streams.options["connector"].limit) == (100, 0)
        for each in server.sessions:
            assert each.options["read_bufsize"] == 256 * KIBIBYTE
            assert each.options["auto_decompress"] is False
            assert isinstance(each.options["cookie_jar"], aiohttp.DummyCookieJar)
            assert each.options["connector"]._ssl is True  # the certificate of a proxy is checked
            assert each._retry_connection is False  # type: ignore[attr-defined]
        assert {options["allow_redirects"] for options in server.options} == {False}

    run(server, test)
    assert all(each.closed for each in server.sessions)


def test_after_closing_nothing_is_sent(run: Run) -> None:
    server = Server(Response())

    async def test(made: ApiTransport) -> None:
        await made.close()
        with pytest.raises(ApiUnavailable, match="this process is ending"):
            await send(made)
        assert server.times == []

    run(server, test)


def test_a_renewed_certificate_opens_new_connections(run: Run) -> None:
    server = Server(Response())

    async def test(made: ApiTransport) -> None:
        await send(made)
        made.credentials.tls = TlsConfig(authenticated_context=ssl.create_default_context())
        await send(made)
        await send(made)
        assert len(server.sessions) == 2

    run(server, test)


def test_requests_name_what_they_accept_and_who_sends_them(run: Run) -> None:
    server = Server(Response())

    async def test(made: ApiTransport) -> None:
        headers = {"X-Remote-User": "root", "X-A": "b"}
        request = ApiRequest("POST", "/x%3Ay", params={"a": "b"}, headers=headers, body=b"hi")
        await made.send(request, identity=THEIRS.impersonating("jane"))
        [options] = server.options
        assert (options["method"], options["url"]) == ("POST", "http://192.0.2.1:6443/x%3Ay?a=b")
        assert options["headers"] == {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "X-A": "b",
            "Authorization": "Bearer theirs",
            "Impersonate-User": "jane",
        }
        assert options["data"].read() == b"hi"

    run(server, test)


@pytest.mark.parametrize(
    ("answer", "seconds"), [(Response(429, Retry_After="5"), 5.0), (BROKE_OFF, 0.1 * 0.8)], ids=["busy", "broken"]
)
def test_a_request_may_be_sent_again_until_the_last_moment(
    run: Run, monkeypatch: pytest.MonkeyPatch, answer: Response | Exception, seconds: float
) -> None:
    server = Server(answer, Response())
    monkeypatch.setattr(random, "uniform", lambda low, high: low)

    async def test(made: ApiTransport) -> None:
        assert (await send(made, seconds=seconds)).status == 200
        assert server.times == [0, seconds]

    run(server, test)


@pytest.mark.parametrize(
    ("path", "response", "told"),
    [
        ("/api/v1/namespaces/ns/secrets", Response(Date=DATE), [SECONDS]),
        ("/apis/xapp-operator.io/v1alpha1/xapps", Response(201, Date=DATE), [SECONDS]),
        ("/apis/coordination.k8s.io/v1/namespaces/ns/leases/a", Response(Date=DATE), [SECONDS]),
        ("/apis/metrics.k8s.io/v1beta1/pods", Response(Date=DATE), []),
        ("/api/v1/pods", Response(503, Date=DATE), []),
        ("/api/v1/pods", Response(), []),
        ("/api/v1/pods", Response(Date="yesterday"), []),
        ("/api/v1/pods", Response(Date=f"Mon, 30 Nov {'9' * 30} 12:00:00 GMT"), []),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_the_time_of_the_api_server_is_passed_on(
    run: Run, path: str, response: Response, told: list[float], is_stream: bool
) -> None:
    """Only of responses that no other server may have made: a proxy, a load balancer, an aggregated API."""
    server = Server(response)

    async def test(made: ApiTransport) -> None:
        request = ApiRequest("GET", path)
        if not is_stream:
            await made.send(request, identity=OWN_IDENTITY)
            return
        with contextlib.suppress(KubeError):
            async with made.stream(request, identity=OWN_IDENTITY, read_timeout=None) as chunks:
                assert [each async for each in chunks] == [b"{}"]

    run(server, test)
    assert server.told == told * len(server.times)
