"""An xApp's author gets a script of the xApp to run in a page of the gateway, with the session of the user.

The gateway forwards the answers of xApps on its own origin, so `'self'` in a Content-Security-Policy allows them. The
documentation names its folder instead. The dashboard says `'self'`, so the gateway refuses what browsers would run.
"""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.support.gateway import offline_gateway, serve_gateway

DOCS = "/api/v1/docs"
OF_AN_XAPP = "/api/xapps/ran/acme-ran-evil/api/evil.js"
PAGES = {"/", DOCS, "/api/docs"}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    settings, opened = offline_gateway(tmp_path_factory.mktemp("pages"))
    # This gateway accepts every Host header. Without credentials, it answers 401 to most requests.
    with (
        serve_gateway(settings.model_copy(update={"auth": "kubernetes"}), opened) as gateway,
        gateway.client() as client,
    ):
        yield client


def policy(answer: httpx.Response) -> dict[str, list[str]]:
    """Return the sources of each directive."""
    (header,) = answer.headers.get_list("content-security-policy")
    parts = [part.split() for part in header.split(";")]
    return {name: sources for name, *sources in parts}


def allows(sources: list[str], url: httpx.URL) -> bool:
    """Return whether a source names the folder of `url` (CSP 3, 6.7.2.8; schemes are those of the page)."""
    address = f"{url.netloc.decode()}{url.path}"
    return any(source == "'self'" or (source.endswith("/") and address.startswith(source)) for source in sources)


def assets(page: httpx.Response, tag: str) -> list[httpx.URL]:
    names = re.findall(rf'<{tag}[^>]* (?:src|href)="([^"]+)"', page.text)
    return [page.url.join(name) for name in names if not name.startswith("data:")]


@pytest.mark.parametrize("path", sorted(PAGES - {"/"}))
def test_the_docs_run_scripts_of_their_own_folder_only(http: httpx.Client, path: str) -> None:
    page = http.get(path)
    sources = policy(page)

    scripts, styles = assets(page, "script"), assets(page, "link")
    assert scripts
    assert styles
    assert all(allows(sources["script-src"], url) for url in scripts)
    assert all(allows(sources["style-src"], url) for url in styles)
    foreign = page.url.join(OF_AN_XAPP)
    assert not allows(sources["script-src"], foreign)
    assert not allows(sources["style-src"], foreign)
    assert allows(sources["connect-src"], page.url.join("openapi.json"))
    assert "'unsafe-inline'" not in sources["script-src"]


@pytest.mark.parametrize(
    "host", ["evil.example; script-src *", "*", "a b", "'unsafe-inline'", "x/", "x,y", "[::1]:31315"]
)
def test_a_host_header_adds_nothing_to_the_policy(http: httpx.Client, host: str) -> None:
    answer = http.get(DOCS, headers={"Host": host})
    assert answer.status_code in {200, 400}
    assert policy(answer).get("script-src", ["'self'"]) == ["'self'"]
    assert policy(answer).keys() <= policy(http.get(DOCS)).keys()


@pytest.mark.parametrize("destination", ["script", "style", "worker", "sharedworker", "serviceworker"])
@pytest.mark.parametrize("prefix", ["/api/", "/api/v1/"])
def test_no_page_of_the_gateway_runs_an_answer_of_the_api(http: httpx.Client, prefix: str, destination: str) -> None:
    browser = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": destination}
    refused = http.get(OF_AN_XAPP.replace("/api/", prefix, 1), headers=browser)
    assert (refused.status_code, "may load them as script" in refused.json()["detail"]) == (403, True)


@pytest.mark.parametrize(
    ("path", "site", "destination"),
    [
        (f"{DOCS}/start.js", "same-origin", "script"),
        ("/api/xapps", "same-origin", "empty"),
        (OF_AN_XAPP, "none", "document"),
        (OF_AN_XAPP, "cross-site", "style"),  # from a page of the xApp, which is sandboxed
    ],
)
def test_other_requests_of_a_browser_are_served(http: httpx.Client, path: str, site: str, destination: str) -> None:
    answer = http.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Dest": destination})
    assert answer.status_code in {200, 401}


def test_the_page_of_a_gateway_without_dashboard_runs_no_script(http: httpx.Client) -> None:
    assert policy(http.get("/"))["default-src"] == ["'none'"]
    assert "script-src" not in policy(http.get("/"))


@pytest.mark.parametrize(
    "path", ["/api/xapps", "/api/openapi.json", "/api/xapps/none/none", "/nowhere.php", "/healthz"]
)
def test_other_responses_run_and_load_nothing(http: httpx.Client, path: str) -> None:
    assert policy(http.get(path)) == {"default-src": ["'none'"], "frame-ancestors": ["'none'"]}
