"""Charts in OCI registries: requests, authentication and refusals."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.charts import chart_archive
from tests.unit.charts.clock import Clock
from tests.unit.charts.http_site import Handler, Reply, StaticResolver, WebServer, redirect
from xapp_operator.charts.chart_request import (
    BasicCredentials,
    ChartRequest,
    Repository,
    RepositoryCredentials,
    TokenCredentials,
)
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources.oci_registry import CONFIG_TYPE, INDEX_TYPE, LAYER_TYPES, MANIFEST_TYPE
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import (
    AddressRefused,
    ChartInvalid,
    ChartNotFound,
    ChartSourceError,
    DigestMismatch,
    SourceUnavailable,
    XAppError,
)

JANE = BasicCredentials("jane", "pw")
JANES_HEADER = "Basic amFuZTpwdw=="


class Registry(WebServer):
    """A registry of charts; with `protect` it requires authentication."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, list[str]] = {}

    def push(self, name: str, version: str, archive: bytes | None = None, **layer: object) -> bytes:
        archive = archive if archive is not None else chart_archive(name=name.rpartition("/")[2], version=version)
        digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
        tag = version.replace("+", "_")
        described = {"mediaType": LAYER_TYPES[0], "digest": digest, "size": len(archive), **layer}
        self.manifest(name, tag, {"config": {"mediaType": CONFIG_TYPE}, "layers": [described]})
        self.routes[f"/v2/{name}/blobs/{digest}"] = Reply(archive)
        return archive

    def manifest(self, name: str, tag: str, content: object, *, kind: str = MANIFEST_TYPE) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.routes[f"/v2/{name}/manifests/{tag}"] = Reply(body, headers={"Content-Type": kind})
        self.tags.setdefault(name, []).append(tag)
        listing = json.dumps({"name": name, "tags": self.tags[name]}).encode()
        self.routes[f"/v2/{name}/tags/list"] = Reply(listing)

    def protect(self, challenge: str, *, allowed: str) -> None:
        """Respond with the challenge unless the Authorization header is the allowed one."""
        for path, reply in list(self.routes.items()):
            if isinstance(reply, Reply) and path.startswith("/v2/"):
                self.routes[path] = self._guarded(reply, challenge, allowed)

    def _guarded(self, reply: Reply, challenge: str, allowed: str) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") != allowed:
                return web.Response(status=401, headers={"WWW-Authenticate": challenge})
            return web.Response(body=reply.body, headers=reply.headers)

        return answer

    def issue(self, token: str, *, path: str = "/token", **more: object) -> None:
        self.routes[path] = Reply(json.dumps({"token": token, **more}).encode())

    def request(
        self,
        chart: str = "hello",
        version: str = "0.1.0",
        *,
        path: str = "/acme",
        credentials: RepositoryCredentials | None = None,
    ) -> ChartRequest:
        url = f"oci://{self.url().authority}{path}"
        repository = Repository(url=url, credentials=credentials, allow_plain_http=True)
        return ChartRequest(repository=repository, chart=chart, version=version)


@pytest.fixture
async def registry() -> AsyncIterator[Registry]:
    async with Registry() as one:
        yield one


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sources(tmp_path: Path, clock: Clock) -> AsyncIterator[ChartSources]:
    async with ChartSources(Settings(cache_dir=tmp_path, allow_loopback_repositories=True), clock=clock) as one:
        yield one


async def test_a_chart_is_pulled_by_its_exact_version(sources: ChartSources, registry: Registry) -> None:
    archive = registry.push("acme/hello", "0.1.0")
    resolved = await sources.resolve(registry.request())
    assert (resolved.version, resolved.digest) == ("0.1.0", hashlib.sha256(archive).hexdigest())
    assert (await sources.fetch(resolved)).path.read_bytes() == archive
    assert registry.count("/v2/acme/hello/tags/list") == 0
    assert MANIFEST_TYPE in registry.requests[0].headers["Accept"]


async def test_a_range_is_resolved_from_the_tags(sources: ChartSources, registry: Registry) -> None:
    for tag in ("latest", "1", "1.9", "20260101", "sha-123456", "0.9.0", "1.2.3_build", "1.3.0-rc.1"):
        registry.push("acme/hello", tag, chart_archive())
    resolved = await sources.resolve(registry.request(version=">=1"))
    assert resolved.version == "1.2.3+build"
    assert registry.count("/v2/acme/hello/manifests/1.2.3_build") == 1


async def test_a_plus_is_an_underscore_in_a_tag(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0+b7")
    assert (await sources.resolve(registry.request(version="0.1.0+b7"))).version == "0.1.0+b7"


async def test_a_short_version_is_a_range_when_no_such_tag_exists(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "1.2.3")
    assert (await sources.resolve(registry.request(version="1.2"))).version == "1.2.3"


async def test_an_address_that_ends_in_the_chart_name_is_the_chart(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    assert (await sources.resolve(registry.request(path="/acme/hello"))).version == "0.1.0"
    registry.push("other/other", "0.1.0")
    assert (await sources.resolve(registry.request("other", path="/other"))).version == "0.1.0"


async def test_tags_are_read_page_by_page(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.2.0")
    first, second = json.dumps({"tags": ["0.1.0"]}), json.dumps({"tags": ["0.2.0"]})

    async def pages(request: web.Request) -> web.StreamResponse:
        if "last" in request.query:
            return web.Response(text=second)
        return web.Response(text=first, headers={"Link": '</v2/acme/hello/tags/list?last=0.1.0>; rel="next"'})

    registry.routes["/v2/acme/hello/tags/list"] = pages
    assert (await sources.resolve(registry.request(version="*"))).version == "0.2.0"


async def test_pages_of_tags_stay_on_the_registry_and_are_limited(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    async with WebServer() as elsewhere:
        for link in (f"<{elsewhere.url('/v2/x')}>; rel=next", '</v2/acme/hello/tags/list?again>; rel="next"'):
            registry.routes["/v2/acme/hello/tags/list"] = Reply(b'{"tags": ["0.1.0"]}', headers={"Link": link})
            assert (await sources.resolve(registry.request(version="*"), revalidate=True)).version == "0.1.0"
        assert not elsewhere.requests


async def test_a_missing_version_lists_the_existing_ones(sources: ChartSources, registry: Registry) -> None:
    for version in ("0.1.0", "0.2.0"):
        registry.push("acme/hello", version)
    for wanted in ("0.3.0", "^1"):
        with pytest.raises(ChartNotFound, match=r"Existing versions: 0\.2\.0, 0\.1\.0"):
            await sources.resolve(registry.request(version=wanted))
    with pytest.raises(ChartNotFound, match='no chart "hullo"'):
        await sources.resolve(registry.request("hullo"))


async def test_a_newly_pushed_tag_is_found(sources: ChartSources, registry: Registry, clock: Clock) -> None:
    registry.push("acme/hello", "0.1.0")
    with pytest.raises(ChartNotFound):
        await sources.resolve(registry.request(version="0.2.0"))
    registry.push("acme/hello", "0.2.0")
    clock.now += 11
    assert (await sources.resolve(registry.request(version="0.2.0"))).version == "0.2.0"


async def test_a_missing_tag_is_transient_while_the_registry_is_unavailable(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    registry.push("acme/hello", "0.1.0")
    with pytest.raises(ChartNotFound):
        await sources.resolve(registry.request(version="^1"))
    registry.routes = {path: Reply(status=503) for path in registry.routes}
    clock.now += 11
    with pytest.raises(SourceUnavailable):
        await sources.resolve(registry.request(version="^1"))


async def test_a_registry_is_requested_once_while_its_response_is_current(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    registry.push("acme/hello", "0.1.0")
    await asyncio.gather(*(sources.resolve(registry.request()) for _ in range(4)))
    assert len(registry.requests) == 2
    clock.now += 301
    await sources.resolve(registry.request())
    assert len(registry.requests) == 3
    await sources.resolve(registry.request(), revalidate=True)
    assert len(registry.requests) == 4


async def test_a_deployed_chart_stays_resolved_while_the_registry_is_unavailable(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    registry.push("acme/hello", "0.1.0")
    before = await sources.resolve(registry.request())
    registry.routes = {path: Reply(status=503) for path in registry.routes}
    clock.now += 301
    assert await sources.resolve(registry.request()) == before


@pytest.mark.parametrize(
    ("manifest", "expected_message"),
    [
        ({"manifests": [], "mediaType": INDEX_TYPE}, "an index of several images"),
        ({"config": {"mediaType": "application/vnd.oci.image.config.v1+json"}, "layers": []}, "not a Helm chart"),
        ({"config": {"mediaType": CONFIG_TYPE}, "layers": []}, "must have exactly one chart layer"),
        ({"config": {"mediaType": CONFIG_TYPE}, "layers": [{"mediaType": LAYER_TYPES[0], "digest": "sha512:ab"}]},
         "must have exactly one chart layer"),
    ],
)  # fmt: skip
async def test_an_artifact_that_is_no_chart_is_refused(
    sources: ChartSources, registry: Registry, manifest: object, expected_message: str
) -> None:
    registry.manifest("acme/hello", "0.1.0", manifest)
    with pytest.raises(ChartSourceError, match=expected_message) as caught:
        await sources.resolve(registry.request())
    assert caught.value.permanent


@pytest.mark.parametrize("manifest", [b"<html>", b"[]", b"\xff"])
async def test_a_malformed_manifest_is_a_transient_failure(
    sources: ChartSources, registry: Registry, manifest: bytes
) -> None:
    registry.manifest("acme/hello", "0.1.0", manifest)
    with pytest.raises(SourceUnavailable, match="JSON object"):
        await sources.resolve(registry.request())


async def test_a_layer_with_another_digest_is_refused(sources: ChartSources, registry: Registry) -> None:
    digest = "sha256:" + "0" * 64
    registry.push("acme/hello", "0.1.0", digest=digest)
    registry.routes[f"/v2/acme/hello/blobs/{digest}"] = Reply(chart_archive())
    with pytest.raises(DigestMismatch):
        await sources.resolve(registry.request())


@pytest.mark.parametrize("claimed", [2 * MIB, 10])
async def test_a_layer_over_the_bound_is_refused(sources: ChartSources, registry: Registry, claimed: int) -> None:
    registry.push("acme/hello", "0.1.0", b"\x1f\x8b" + b"x" * MIB, size=claimed)
    with pytest.raises(ChartInvalid, match="more than 1,048,576 bytes"):
        await sources.resolve(registry.request())
    assert sum("/blobs/" in request.path for request in registry.requests) == (0 if claimed > MIB else 1)


@pytest.mark.parametrize(
    ("chart", "path"), [("Hello", "/acme"), ("hello", "/Acme"), ("../x", "/acme"), ("a b", "/acme")]
)
async def test_an_invalid_registry_name_is_refused(
    sources: ChartSources, registry: Registry, chart: str, path: str
) -> None:
    with pytest.raises(ChartSourceError, match="not a valid chart name in a registry") as caught:
        await sources.resolve(registry.request(chart, path=path))
    assert caught.value.permanent
    assert not registry.requests


async def test_plain_http_is_used_only_for_loopback_names(registry: Registry, tmp_path: Path) -> None:
    registry.push("acme/hello", "0.1.0")
    settings = Settings(cache_dir=tmp_path, allow_loopback_repositories=True)
    async with ChartSources(settings, resolver=StaticResolver(registry=[["127.0.0.1"]])) as sources:
        url = f"oci://registry.example.com:{registry.url().port}/acme"
        with pytest.raises(SourceUnavailable, match=r"https://registry\.example\.com"):
            await sources.resolve(ChartRequest(repository=Repository(url=url), chart="hello", version="0.1.0"))
    assert not registry.requests


async def test_loopback_is_refused_unless_it_is_allowed(registry: Registry, tmp_path: Path) -> None:
    async with ChartSources(Settings(cache_dir=tmp_path)) as strict:
        with pytest.raises(AddressRefused):
            await strict.resolve(registry.request())
    assert not registry.requests


async def test_basic_authentication_is_supported(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.protect('Basic realm="registry"', allowed=JANES_HEADER)
    assert (await sources.resolve(registry.request(credentials=JANE))).version == "0.1.0"
    assert [request.headers.get("Authorization") for request in registry.requests] == [None, JANES_HEADER, JANES_HEADER]


async def test_token_authentication_is_supported(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("t1", expires_in=300)
    challenge = f'Bearer realm="{registry.url("/token")}",service="reg \\"x\\"",scope="repository:acme/hello:pull"'
    registry.protect(challenge, allowed="Bearer t1")
    assert (await sources.resolve(registry.request(credentials=JANE))).version == "0.1.0"
    (request,) = [request for request in registry.requests if request.path == "/token"]
    assert request.headers["Authorization"] == JANES_HEADER
    assert "scope=repository:acme/hello:pull" in request.target
    assert 'service=reg+"x"' in request.target.replace("%22", '"').replace("%20", "+")
    assert JANES_HEADER not in [one.headers.get("Authorization") for one in registry.requests if one.path != "/token"]


async def test_an_anonymous_token_is_requested_without_credentials(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.routes["/token"] = Reply(b'{"access_token": "anonymous"}')
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="Bearer anonymous")
    assert (await sources.resolve(registry.request())).version == "0.1.0"
    assert registry.authorizations("/token") == [None]
    assert "scope=repository:acme/hello:pull" in next(one.target for one in registry.requests if one.path == "/token")


async def test_a_token_is_used_until_it_expires(sources: ChartSources, registry: Registry, clock: Clock) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("t1", expires_in=120)
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="Bearer t1")
    await sources.resolve(registry.request())
    clock.now += 100
    await sources.resolve(registry.request(), revalidate=True)
    assert registry.count("/token") == 1
    clock.now += 20
    await sources.resolve(registry.request(), revalidate=True)
    assert registry.count("/token") == 2


async def test_a_rejected_token_is_replaced(sources: ChartSources, registry: Registry) -> None:
    archive = registry.push("acme/hello", "0.1.0")
    registry.issue("t1")
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="Bearer t1")
    await sources.resolve(registry.request())
    registry.push("acme/hello", "0.1.0", archive)
    registry.issue("t2")
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="Bearer t2")
    assert (await sources.resolve(registry.request(), revalidate=True)).version == "0.1.0"


@pytest.mark.parametrize("credentials", [JANE, None, TokenCredentials("wrong")])
@pytest.mark.parametrize("challenge", ['Basic realm="x"', "Bearer realm=TOKEN", "Negotiate", ""])
async def test_a_registry_that_rejects_every_request_denies_access(
    sources: ChartSources, registry: Registry, credentials: RepositoryCredentials | None, challenge: str
) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("useless")
    registry.protect(challenge.replace("TOKEN", str(registry.url("/token"))), allowed="nothing")
    with pytest.raises(ChartSourceError, match="access is denied") as caught:
        await sources.resolve(registry.request(credentials=credentials))
    assert caught.value.permanent
    assert len(registry.requests) <= 3
    if isinstance(credentials, TokenCredentials):
        assert registry.count("/token") == 0


async def test_a_configured_token_is_sent_only_to_the_registry(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("other")
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="Bearer mine")
    assert (await sources.resolve(registry.request(credentials=TokenCredentials("mine")))).version == "0.1.0"
    assert registry.count("/token") == 0


@pytest.mark.parametrize(
    "realm",
    [
        "http://169.254.169.254/token",
        "https://169.254.169.254/token",
        "http://token.example.com/",
        "file:///etc/passwd",
        "",
    ],
)
async def test_a_realm_must_satisfy_the_address_rule(sources: ChartSources, registry: Registry, realm: str) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.protect(f'Bearer realm="{realm}"', allowed="nothing")
    with pytest.raises(AddressRefused):
        await sources.resolve(registry.request(credentials=JANE))


async def test_a_realm_on_another_name_of_a_plain_registry_is_refused(
    sources: ChartSources, registry: Registry
) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("t1")
    registry.protect(f'Bearer realm="{registry.url("/token", host="localhost")}"', allowed="Bearer t1")
    with pytest.raises(AddressRefused, match="which is not https"):
        await sources.resolve(registry.request(credentials=JANE))
    assert registry.count("/token") == 0


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b'{"token": ""}', b'{"token": "a\\nb"}', b'{"token": 1}'])
async def test_an_invalid_token_response_is_a_transient_failure(
    sources: ChartSources, registry: Registry, answer: bytes
) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.routes["/token"] = Reply(answer)
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="nothing")
    with pytest.raises(SourceUnavailable, match="returned no usable token"):
        await sources.resolve(registry.request())


async def test_a_token_over_the_limit_is_a_transient_failure(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")
    registry.issue("t" * MIB)
    registry.protect(f'Bearer realm="{registry.url("/token")}"', allowed="nothing")
    with pytest.raises(SourceUnavailable, match="returned no usable token"):
        await sources.resolve(registry.request())


async def test_credentials_are_not_sent_to_the_store_of_a_layer(sources: ChartSources, registry: Registry) -> None:
    archive = registry.push("acme/hello", "0.1.0")
    blob = f"/v2/acme/hello/blobs/sha256:{hashlib.sha256(archive).hexdigest()}"
    async with WebServer() as store:
        store.routes["/blob"] = Reply(archive)
        registry.routes[blob] = redirect(store.url("/blob").with_query(signature="x"), status=307)
        resolved = await sources.resolve(registry.request(credentials=TokenCredentials("mine")))
        assert (await sources.fetch(resolved)).path.read_bytes() == archive
        assert registry.authorizations(blob) == ["Bearer mine"]
        assert store.authorizations("/blob") == [None]


async def test_a_challenge_of_a_store_is_not_answered(sources: ChartSources, registry: Registry) -> None:
    archive = registry.push("acme/hello", "0.1.0")
    blob = f"/v2/acme/hello/blobs/sha256:{hashlib.sha256(archive).hexdigest()}"
    async with WebServer() as store:
        headers = {"WWW-Authenticate": f'Bearer realm="{store.url("/token")}"'}
        store.routes["/blob"] = Reply(status=401, headers=headers)
        registry.routes[blob] = redirect(store.url("/blob"), status=307)
        with pytest.raises(ChartSourceError, match="access is denied"):
            await sources.resolve(registry.request(credentials=JANE))
        assert store.count("/token") == 0


async def test_a_registry_is_pinged(sources: ChartSources, registry: Registry) -> None:
    repository = registry.request().repository
    with pytest.raises(ChartSourceError, match="does not respond like a registry"):
        await sources.list_charts(repository)
    for status in (200, 401):
        registry.routes["/v2/"] = Reply(status=status)
        assert await sources.list_charts(repository) is None
    registry.routes["/v2/"] = Reply(status=500)
    with pytest.raises(SourceUnavailable):
        await sources.list_charts(repository)


async def test_versions_in_a_registry_are_listed(sources: ChartSources, registry: Registry) -> None:
    for version in ("0.1.0", "0.10.0", "0.9.0"):
        registry.push("acme/hello", version)
    repository = registry.request().repository
    assert [entry.version for entry in await sources.list_versions(repository, "hello")] == ["0.10.0", "0.9.0", "0.1.0"]
    assert await sources.list_versions(repository, "nothing") == ()


async def indexed(site: WebServer, registry: Registry, url: str, **entry: object) -> ChartRequest:
    """Return a request to an HTTP repository whose archives are in the registry."""
    index = {"apiVersion": "v1", "entries": {"hello": [{"version": "0.1.0", "urls": [url], **entry}]}}
    site.routes["/index.yaml"] = Reply(json.dumps(index).encode())
    return ChartRequest(repository=Repository(url=str(site.url(""))), chart="hello", version="0.1.0")


async def test_an_index_entry_may_refer_to_a_registry(sources: ChartSources, registry: Registry) -> None:
    archive = registry.push("acme/hello", "0.1.0")
    digest = hashlib.sha256(archive).hexdigest()
    async with WebServer() as site:
        for url in (
            f"oci://{registry.url().authority}/acme/hello:0.1.0",
            f"oci://{registry.url().authority}/acme/hello",
        ):
            resolved = await sources.resolve(await indexed(site, registry, url, digest=digest), revalidate=True)
            assert (resolved.version, resolved.digest) == ("0.1.0", digest)


@pytest.mark.parametrize(("entry", "kind"), [({"digest": "0" * 64}, DigestMismatch), ({}, ChartNotFound)])
async def test_an_index_entry_that_refers_to_a_missing_chart_is_refused(
    sources: ChartSources, registry: Registry, entry: dict[str, object], kind: type[XAppError]
) -> None:
    registry.push("acme/hello", "0.1.0")
    tag = "0.1.0" if entry else "0.2.0"
    async with WebServer() as site:
        request = await indexed(site, registry, f"oci://{registry.url().authority}/acme/hello:{tag}", **entry)
        with pytest.raises(kind):
            await sources.resolve(request)
