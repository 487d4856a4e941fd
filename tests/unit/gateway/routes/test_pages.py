"""The dashboard as the gateway serves it: pages at every path that can be one, and their files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from xapp_operator.gateway.http.responses.dashboard_files import DashboardFiles

SCRIPT: Final = b"export const answer = 42;\n" * 20_000
PAGE: Final = (
    '<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__"><script src="/assets/app-1a2b.js"></script>'
)
DIRECTIVES: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{N}'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types xapp-dashboard"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway with a dashboard that asks for tokens."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "static" / "assets").mkdir(parents=True)
    (folder / "static" / "index.html").write_text(PAGE)
    (folder / "static" / "assets" / "app-1a2b.js").write_bytes(SCRIPT)
    (folder / "static" / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "static" / "assets" / "mark.svg").write_text("<svg/>")
    settings, opened = offline_gateway(folder, dashboard=DashboardFiles.load(folder / "static"))
    with serve_gateway(settings.model_copy(update={"auth": "kubernetes"}), opened) as one:
        yield one


@pytest.fixture
def pages(built: GatewayServer) -> Iterator[httpx.Client]:
    with built.client() as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/xapps",
        "/xapps/ric-xapps/acme-ran-kpi-store/logs?pod=kpi-0&previous=true",
        "/xapps/ric/a.b.c",
        "/repositories/new",
        "/signin?next=%2Fabout",
        "/apix",
        "/xapps/api/assets",
        "/no/such/page/",
    ],
)
def test_every_path_that_can_be_a_page_is_the_dashboard(pages: httpx.Client, path: str) -> None:
    answer = pages.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert 'src="/assets/app-1a2b.js"' in answer.text


@pytest.mark.parametrize("path", ["/repositories/ns/x/..%2f..", "/x/..%2f..%2fapi/xapps", "/xapps/a%5cb", "/xapps/%00"])
def test_a_person_who_opens_a_refused_path_gets_the_dashboard(pages: httpx.Client, path: str) -> None:
    answer = pages.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (answer.status_code, 'src="/assets/app-1a2b.js"' in answer.text) == (200, True)
    assert pages.get(path).status_code == 400
    assert pages.post(path, headers={"Accept": "text/html"}).status_code == 400


@pytest.mark.parametrize("path", ["/api%2f..", "/api/..%2f", "/assets/..%2fx", "/%2e%2e/x", "/xapps/" + "%41" * 4096])
def test_a_refused_path_of_the_api_stays_refused_for_browsers(pages: httpx.Client, path: str) -> None:
    assert pages.get(path, headers={"Accept": "text/html"}).status_code == 400


def test_a_page_has_the_headers_that_keep_foreign_scripts_out(pages: httpx.Client) -> None:
    answer = pages.get("/xapps")
    nonce = re.findall(r'nonce="([A-Za-z0-9_-]{22})"', answer.text)

    assert len(nonce) == 1
    assert answer.headers["content-security-policy"] == DIRECTIVES.format(N=nonce[0])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert not {"etag", "last-modified", "set-cookie"} & set(answer.headers)


def test_each_page_has_a_nonce_of_its_own_also_when_the_client_claims_to_have_it(pages: httpx.Client) -> None:
    answers = [pages.get("/", headers={"If-None-Match": "*"}) for _ in range(3)]

    assert [each.status_code for each in answers] == [200, 200, 200]
    assert len({each.text for each in answers}) == 3
    assert len({each.headers["content-security-policy"] for each in answers}) == 3


def test_head_of_a_page_has_no_body(pages: httpx.Client) -> None:
    answer, page = pages.head("/xapps"), pages.get("/xapps")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(page.content))
    assert answer.headers.keys() == page.headers.keys()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_page_can_only_be_read(pages: httpx.Client, method: str) -> None:
    answer = pages.request(method, "/xapps")

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/none",
        "/assets",
        "/assets/",
        "/assets/none.js",
        "/assets/app-1a2b.js/",
        "/assets/app-1a2b.js.gz",
        "/assets/index.html",
        "/assets//app-1a2b.js",
        "/assets//etc/passwd",
        "/helmrepo",
        "/helmrepo/none",
        "/healthz/",
        "/metrics",
        "/favicon.ico",
        "/robots.txt",
        "/.well-known/security.txt",
        "/index.html",
    ],
)
def test_what_cannot_be_a_page_is_a_problem(pages: httpx.Client, path: str) -> None:
    answer = pages.get(path)

    assert answer.status_code in {401, 404}
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path", ["/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/..%2findex.html", "/assets/..%5cindex.html"]
)
def test_no_path_leads_out_of_the_assets(built: GatewayServer, path: str) -> None:
    answer = built.send_raw(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"csp-nonce" not in answer


def test_an_asset_is_kept_by_browsers_for_a_year(pages: httpx.Client) -> None:
    answer = pages.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip, br"})
    plain = pages.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip;q=0"})

    assert answer.content == plain.content == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert int(answer.headers["content-length"]) < len(SCRIPT) == int(plain.headers["content-length"])
    assert answer.headers["etag"] != plain.headers["etag"]
    for each in (answer, plain):
        assert each.headers["content-type"] == "text/javascript; charset=utf-8"
        assert each.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert each.headers["vary"] == "Accept-Encoding"
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; frame-ancestors 'none'"
        )


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_an_asset_that_the_client_has_is_not_sent_again(pages: httpx.Client, coding: str) -> None:
    first = pages.get("/assets/app-1a2b.js", headers={"Accept-Encoding": coding})
    known = {"Accept-Encoding": coding, "If-None-Match": first.headers["etag"]}
    again = pages.get("/assets/app-1a2b.js", headers=known)

    assert (again.status_code, again.content) == (304, b"")
    assert {each: again.headers[each] for each in ("etag", "cache-control", "vary")} == {
        each: first.headers[each] for each in ("etag", "cache-control", "vary")
    }


def test_head_of_an_asset_has_no_body(pages: httpx.Client) -> None:
    answer = pages.head("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})

    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", str(len(SCRIPT)))


def test_an_asset_without_a_compressed_file_is_sent_as_it_is(pages: httpx.Client) -> None:
    answer = pages.get("/assets/mark.svg", headers={"Accept-Encoding": "gzip"})

    assert (answer.text, answer.headers["content-type"]) == ("<svg/>", "image/svg+xml")
    assert "content-encoding" not in answer.headers


def test_the_pages_of_a_gateway_without_dashboard_say_how_to_build_it(http: httpx.Client) -> None:
    for path in ("/", "/xapps/ran/hello"):
        answer = http.get(path)
        assert answer.status_code == 200
        assert "make dashboard" in answer.text
    assert http.get("/assets/app-1a2b.js").status_code == 404
