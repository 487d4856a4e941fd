"""The downloader follows its rules, whatever a server responds."""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import pytest
from aiohttp import web
from yarl import URL

from tests.localcluster.pki import Authority
from tests.unit.charts.http_site import Reply, StaticResolver, WebServer, downloader, redirect
from xapp_operator.charts.downloader import (
    MAX_REDIRECTS,
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    OriginAccess,
    unexpected_status,
)
from xapp_operator.errors import (
    AddressRefused,
    ChartNotFound,
    ChartSourceError,
    SourceAccessDenied,
    SourceTimeout,
    SourceUnavailable,
)

SECRET = "Basic c2VjcmV0"


async def get(
    loader: Downloader, url: URL, *, access: OriginAccess | None = None, max_bytes: int = 1000
) -> DownloadResponse:
    own = OriginAccess(origin_url=url, authorization=SECRET, allow_plain_http=True)
    return await loader.get(url, access=access or own, max_bytes=max_bytes)


@pytest.fixture
async def loader() -> AsyncIterator[Downloader]:
    async with downloader() as one:
        yield one


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        yield one


@pytest.fixture
async def other() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        yield one


async def test_a_body_is_returned_or_written_to_a_file(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = Reply(b"content")
    assert (await get(loader, site.url("/a"))).body == b"content"
    file = io.BytesIO()
    await loader.get(site.url("/a"), access=OriginAccess(origin_url=site.url()), max_bytes=10, output=file)
    assert file.getvalue() == b"content"


@pytest.fixture
def full() -> Iterator[IO[bytes]]:
    """A file on a disk that is full."""
    with Path("/dev/full").open("wb", buffering=0) as file:
        yield file


async def test_a_full_disk_is_named(loader: Downloader, site: WebServer, full: IO[bytes]) -> None:
    site.routes["/a"] = Reply(b"content")
    access = OriginAccess(origin_url=site.url(), allow_plain_http=True)
    with pytest.raises(SourceUnavailable, match=r"cannot be stored \(no space left on device\): make room"):
        await loader.get(site.url("/a"), access=access, max_bytes=1000, output=full)


async def test_a_body_is_not_decompressed(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = Reply(b"\x1f\x8b as it is", headers={"Content-Encoding": "gzip"})
    assert (await get(loader, site.url("/a"))).body == b"\x1f\x8b as it is"
    assert site.requests[0].headers["Accept-Encoding"] == "identity"


async def test_credentials_are_sent_to_their_own_origin(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = redirect("/b")
    site.routes["/b"] = Reply(b"b")
    assert (await get(loader, site.url("/a"))).body == b"b"
    assert site.authorizations("/a") == site.authorizations("/b") == [SECRET]


async def test_credentials_do_not_leave_their_origin(loader: Downloader, site: WebServer, other: WebServer) -> None:
    other.routes["/b"] = Reply(b"b")
    site.routes["/a"] = redirect(other.url("/b"))
    assert (await get(loader, site.url("/a"))).body == b"b"
    assert other.authorizations("/b") == [None]


async def test_another_name_for_the_host_is_another_origin(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = redirect(site.url("/b", host="localhost"))
    site.routes["/b"] = Reply(b"b")
    await get(loader, site.url("/a"))
    assert site.authorizations("/b") == [None]


async def test_credentials_are_not_sent_again_after_a_redirect_to_another_origin(
    loader: Downloader, site: WebServer, other: WebServer
) -> None:
    site.routes["/a"] = redirect(other.url("/b"))
    other.routes["/b"] = redirect(site.url("/c"))
    site.routes["/c"] = Reply(b"c")
    await get(loader, site.url("/a"))
    assert site.authorizations("/c") == [None]


async def test_user_names_in_a_redirect_are_not_sent(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = redirect(site.url("/b").with_user("root").with_password("toor"))
    site.routes["/b"] = Reply(b"b")
    await get(loader, site.url("/a"), access=OriginAccess(origin_url=site.url()))
    assert site.authorizations("/b") == [None]


async def test_redirects_are_followed_up_to_a_limit(loader: Downloader, site: WebServer) -> None:
    for number in range(MAX_REDIRECTS):
        site.routes[f"/{number}"] = redirect(f"/{number + 1}", status=[301, 302, 303, 307, 308][number])
    site.routes[f"/{MAX_REDIRECTS}"] = Reply(b"end")
    assert (await get(loader, site.url("/0"))).body == b"end"
    site.routes[f"/{MAX_REDIRECTS}"] = redirect("/0")
    with pytest.raises(ChartSourceError, match="is redirect 6, and at most 5") as caught:
        await get(loader, site.url("/0"))
    assert caught.value.permanent


async def test_a_signed_redirect_arrives_as_it_was_written(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = redirect(f"{site.url()}x%2Fy?sig=a%2Bb%7E&n=1+2")
    await get(loader, site.url("/a"))
    assert site.requests[-1].target == "/x%2Fy?sig=a%2Bb%7E&n=1+2"


@pytest.mark.parametrize("location", ["", "ftp://example.com/x", "file:///etc/passwd", "http://[bad"])
async def test_invalid_redirects_are_refused(loader: Downloader, site: WebServer, location: str) -> None:
    site.routes["/a"] = Reply(status=302, headers={"Location": location} if location else {})
    with pytest.raises(SourceUnavailable, match="redirects to a URL that is not http"):
        await get(loader, site.url("/a"))


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/", "http://0.0.0.0/"],
)
async def test_a_redirect_to_a_refused_address_is_refused(loader: Downloader, site: WebServer, target: str) -> None:
    site.routes["/a"] = redirect(target)
    with pytest.raises(AddressRefused, match="is refused"):
        await get(loader, site.url("/a"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]"])
async def test_loopback_is_refused_unless_it_is_allowed(site: WebServer, host: str) -> None:
    site.routes["/"] = Reply(b"ok")
    async with downloader(allow_loopback=False) as strict:
        with pytest.raises(AddressRefused):
            await get(strict, URL(f"http://{host}:{site.url().port}/"))
    assert not site.requests


async def test_a_name_that_changes_its_address_cannot_bypass_the_rule(site: WebServer) -> None:
    names = StaticResolver(rebinding=[["127.0.0.1"], ["169.254.169.254"]])
    async with downloader(resolver=names) as loader:
        site.routes["/"] = redirect("http://rebinding.example:1/second")
        with pytest.raises(AddressRefused, match=r"rebinding\.example is refused: it has the metadata address"):
            await get(loader, site.url("/", host="rebinding.example"))
    assert site.count("/") == 1


async def test_only_the_allowed_address_of_a_name_is_used(site: WebServer) -> None:
    site.routes["/"] = Reply(b"ok")
    async with downloader(resolver=StaticResolver(mixed=[["169.254.169.254", "127.0.0.1"]])) as loader:
        assert (await get(loader, site.url("/", host="mixed.example"))).body == b"ok"


async def test_a_body_without_a_length_is_counted(loader: Downloader, site: WebServer) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 10_000)

    site.routes["/a"] = endless
    with pytest.raises(BodyTooLarge):
        await get(loader, site.url("/a"))


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[URL]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")


async def test_a_body_with_a_length_over_the_limit_is_not_read(loader: Downloader) -> None:
    async with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n") as url:
        with pytest.raises(BodyTooLarge):
            await get(loader, url)


@pytest.mark.parametrize(
    ("answer", "expected_message"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "the response was incomplete"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "the response was incomplete"),
        (b"", "does not respond with valid HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not respond with valid HTTP"),
    ],
)
async def test_a_truncated_response_is_a_transient_failure(
    loader: Downloader, answer: bytes, expected_message: str
) -> None:
    async with raw_server(answer) as url:
        with pytest.raises(SourceUnavailable, match=expected_message) as caught:
            await get(loader, url)
    assert not caught.value.permanent


async def test_bytes_beyond_content_length_are_not_read(loader: Downloader) -> None:
    async with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort and more") as url:
        try:
            body = (await get(loader, url)).body
        except SourceUnavailable:
            return
        assert body == b"short"


async def test_one_deadline_applies_to_the_whole_download(site: WebServer) -> None:
    released = asyncio.Event()

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x")
        await released.wait()
        return response

    site.routes["/a"] = trickle
    async with downloader(timeout_seconds=0.2) as loader:
        with pytest.raises(SourceTimeout, match=r"took longer than 0\.2 s"):
            await get(loader, site.url("/a"))
    released.set()


@pytest.mark.parametrize(
    ("status", "kind", "permanent"),
    [
        (401, SourceAccessDenied, True),
        (403, SourceAccessDenied, True),
        (404, ChartNotFound, True),
        (410, ChartNotFound, True),
        (418, ChartSourceError, True),
        (408, SourceUnavailable, False),
        (429, SourceUnavailable, False),
        (500, SourceUnavailable, False),
        (503, SourceUnavailable, False),
    ],
)
async def test_the_status_decides_whether_a_failure_is_permanent(
    loader: Downloader, site: WebServer, status: int, kind: type[ChartSourceError], permanent: bool
) -> None:
    site.routes["/a"] = Reply(b"details of the server", status=status)
    error = unexpected_status(await get(loader, site.url("/a").with_query(token="hidden")))
    assert type(error) is kind
    assert error.permanent is permanent
    assert f"/a returned status {status}" in error.message
    assert "hidden" not in error.message
    assert "details" not in error.message


async def test_an_error_contains_no_secret(loader: Downloader) -> None:
    async with raw_server(b"") as url:
        with pytest.raises(SourceUnavailable) as caught:
            await get(loader, url.with_query(signature="hidden").with_fragment("hidden"))
    assert "hidden" not in caught.value.message


async def test_a_closed_port_is_a_transient_failure(unused_tcp_port: int) -> None:
    for addresses in (["127.0.0.1"], ["127.0.0.1", "127.0.0.2"]):
        async with downloader(resolver=StaticResolver(charts=[addresses])) as loader:
            with pytest.raises(SourceUnavailable, match=r"no connection \(connection refused\)\. Check") as caught:
                await get(loader, URL(f"http://charts.example:{unused_tcp_port}/"))
            assert "127.0.0" not in caught.value.message


async def test_an_unknown_name_is_a_transient_failure() -> None:
    async with downloader(resolver=StaticResolver()) as loader:
        with pytest.raises(SourceUnavailable, match="host name cannot be resolved"):
            await get(loader, URL("http://nowhere.example/"))


async def test_no_cookie_is_kept(loader: Downloader, site: WebServer) -> None:
    site.routes["/a"] = Reply(headers={"Set-Cookie": "tenant=one"})
    await get(loader, site.url("/a", host="localhost"))
    await get(loader, site.url("/a", host="localhost"))
    assert ["Cookie" in requests.headers for requests in site.requests] == [False, False]


async def test_proxies_of_the_environment_are_not_used(
    loader: Downloader, site: WebServer, other: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", str(other.url()))
    site.routes["/a"] = Reply(b"direct")
    assert (await get(loader, site.url("/a"))).body == b"direct"
    assert not other.requests


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ssl.SSLContext]:
    """Return a CA bundle, and the TLS context of a server with a certificate from that CA."""
    folder = tmp_path_factory.mktemp("pki")
    pair = Authority(folder).issue("server", common_name="server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return (folder / "ca.crt").read_text(), context


async def test_a_certificate_is_checked_against_the_bundle(
    loader: Downloader, authority: tuple[str, ssl.SSLContext]
) -> None:
    bundle, context = authority
    async with WebServer(context) as site:
        site.routes["/"] = Reply(b"ok")
        with pytest.raises(SourceUnavailable, match="certificate is not trusted"):
            await get(loader, site.url())
        assert (
            await get(loader, site.url(), access=OriginAccess(origin_url=site.url(), ca_bundle=bundle))
        ).body == b"ok"
        assert (await get(loader, site.url(), access=OriginAccess(origin_url=site.url(), insecure=True))).body == b"ok"


async def test_certificates_of_other_origins_are_checked_too(
    loader: Downloader, authority: tuple[str, ssl.SSLContext]
) -> None:
    _, context = authority
    async with WebServer(context) as site, WebServer(context) as elsewhere:
        site.routes["/"] = redirect(elsewhere.url("/"))
        with pytest.raises(SourceUnavailable, match="certificate is not trusted"):
            await get(loader, site.url(), access=OriginAccess(origin_url=site.url(), insecure=True))


async def test_a_redirect_from_https_to_http_is_refused(
    loader: Downloader, site: WebServer, authority: tuple[str, ssl.SSLContext]
) -> None:
    bundle, context = authority
    async with WebServer(context) as secure:
        secure.routes["/"] = redirect(site.url("/"))
        with pytest.raises(AddressRefused, match="from https to http"):
            await get(loader, secure.url(), access=OriginAccess(origin_url=secure.url(), ca_bundle=bundle))


async def test_https_on_a_plain_port_is_a_transient_failure(loader: Downloader, site: WebServer) -> None:
    with pytest.raises(SourceUnavailable, match=r"TLS handshake failed|incomplete|valid HTTP"):
        await get(loader, site.url().with_scheme("https"))


@pytest.mark.parametrize(
    "bundle", ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ü"]
)
async def test_an_invalid_ca_bundle_is_refused(loader: Downloader, bundle: str) -> None:
    url = URL("https://127.0.0.1:1/")
    with pytest.raises(ChartSourceError, match="not a PEM certificate") as caught:
        await get(loader, url, access=OriginAccess(origin_url=url, ca_bundle=bundle))
    assert caught.value.permanent
