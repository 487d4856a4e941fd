"""Two tenants, an account without permissions and an anonymous caller on every route: what they may do and see.

`permission_matrix` has the row of each route. RBAC is real, with the user roles of manifests/base.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import ACCOUNTS, BINDINGS, create_token, wait_for_role
from tests.integration.gateway.permission_matrix import ACCESS_RULES, ANY_ACCOUNT
from tests.integration.gateway.tenants import Tenant, bearer_header, contract_client, create_tenant
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, REPOSITORIES, XAPPS, ApiServer
from tests.support.audit import read_audit_events
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from tests.support.routes import UNAUTHENTICATED_ROUTES, WEBSOCKET, RouteKey, all_routes, helm_repository_routes
from tests.support.sse import ServerSentEvent, parse_events

pytestmark = pytest.mark.integration

AUTHENTICATED_ROUTES: Final = [
    *(route for route in all_routes() if route not in UNAUTHENTICATED_ROUTES),
    *helm_repository_routes(),
]
SAFE_METHODS: Final = {"GET", "OPTIONS", WEBSOCKET}


@dataclass(frozen=True, slots=True)
class TwoTenants:
    """Two tenants and three accounts: `edit` may edit in a, `view` may view b, `nobody` has no permissions."""

    a: Tenant
    b: Tenant
    tokens: dict[str, str]

    def own_tenant(self, who: str) -> Tenant:
        return self.b if who == "view" else self.a

    def other_tenant(self, who: str) -> Tenant:
        return self.a if who == "view" else self.b


def create_account(api: ApiServer, who: str, *, home: str, at: str | None) -> str:
    """Create a service account with the role of its name in a namespace; return its token once RBAC applies it."""
    api.create(ACCOUNTS.format(home), {"metadata": {"name": who}})
    if at is not None:
        subject = {"kind": "ServiceAccount", "name": who, "namespace": home}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": who}
        api.create(BINDINGS.format(at), {"metadata": {"name": who}, "roleRef": role, "subjects": [subject]})
        wait_for_role(api, f"{home}:{who}", who, namespace=at)
    return create_token(api, who, namespace=home)


@pytest.fixture(scope="module")
def tenants(api: ApiServer, authenticated_gateway: GatewayServer) -> Iterator[TwoTenants]:
    a, b = create_tenant(api, "a"), create_tenant(api, "b")
    home = f"matrix-home-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": home}})
    places = {"edit": a.namespace, "view": b.namespace, "nobody": None}
    made = TwoTenants(a, b, {who: create_account(api, who, home=home, at=at) for who, at in places.items()})

    def known() -> bool:
        return authenticated_gateway.run_in_loop(
            lambda gateway: all(
                gateway.store.get(one.namespace, one.name)
                and gateway.repositories.store.get(one.namespace, one.name)
                and gateway.archives.store.get(one.namespace, one.name)
                and one.namespace in gateway.services.store.namespaces
                for one in (a, b)
            )
        )

    def listed() -> bool:
        with authenticated_gateway.client(headers={"Authorization": f"Bearer {made.tokens['view']}"}) as http:
            return any(b.marker in str(each) for each in all_items(http, "/api/discovery/services"))

    wait_until(known, timeout=60, what="the gateway to know both tenants")
    wait_until(listed, timeout=60, what="the gateway to know their Services")
    yield made
    for namespace in (a.namespace, b.namespace, home):
        api.delete(f"{NAMESPACES}/{namespace}")


@pytest.fixture(scope="module")
def openapi_contract(authenticated_gateway: GatewayServer) -> OpenApiContract:
    return OpenApiContract.from_gateway(authenticated_gateway)


def route_id(route: RouteKey) -> str:
    return f"{route.method} {route.path}"


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(ACCESS_RULES) == set(AUTHENTICATED_ROUTES)


@pytest.mark.parametrize("route", AUTHENTICATED_ROUTES, ids=route_id)
def test_every_route_follows_rbac_and_hides_the_other_tenant(
    authenticated_gateway: GatewayServer, openapi_contract: OpenApiContract, tenants: TwoTenants, route: RouteKey
) -> None:
    row = ACCESS_RULES[route]
    for who in ("edit", "view", "nobody"):
        with contract_client(authenticated_gateway, openapi_contract, **bearer_header(tenants.tokens[who])) as visitor:
            own = visitor.call(route, row, tenants.own_tenant(who))
            foreign = visitor.call(route, row, tenants.other_tenant(who))
        assert own.status_code in (row.statuses if who in row.allowed_accounts else (403,)), (who, own.text)
        assert foreign.status_code in (row.statuses if row.allowed_accounts == ANY_ACCOUNT else (403,)), (
            who,
            foreign.text,
        )
        hidden = {tenants.other_tenant(who).marker} | ({tenants.own_tenant(who).marker} if who == "nobody" else set())
        for answer in (own, foreign):
            assert not any(mark in answer.text for mark in hidden), (who, answer.text)
            if answer.status_code == 403:
                assert answer.json()["type"] == "urn:xapp-operator:problem:access-denied"


@pytest.mark.parametrize("route", AUTHENTICATED_ROUTES, ids=route_id)
def test_unauthenticated_calls_reveal_nothing(
    authenticated_gateway: GatewayServer, openapi_contract: OpenApiContract, tenants: TwoTenants, route: RouteKey
) -> None:
    row = ACCESS_RULES[route]
    for headers in ({}, bearer_header("not-known"), {"Cookie": "xapp_session=garbled"}):
        with contract_client(authenticated_gateway, openapi_contract, **headers) as visitor:
            for at in (tenants.a, tenants.b):
                answer = visitor.call(route, row, at)
                assert answer.status_code == 401, answer.text
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                assert ("xapp_session=" in answer.headers.get("Set-Cookie", "")) == ("Cookie" in headers)


def sign_in(authenticated_gateway: GatewayServer, token: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers with the cookie and with the proof of a new session."""
    with authenticated_gateway.client() as http:
        signed_in = http.post("/api/session", json={"token": token})
        assert signed_in.status_code == 201, signed_in.text
        cookie = {"Cookie": f"xapp_session={signed_in.cookies['xapp_session']}"}
        return cookie, {"X-Session-Proof": signed_in.json()["proof"]}


@pytest.fixture(scope="module")
def sessions(authenticated_gateway: GatewayServer, tenants: TwoTenants) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Cookie and proof of two sessions of the account `edit`, which no test signs out."""
    return [sign_in(authenticated_gateway, tenants.tokens["edit"]) for _ in range(2)]


@pytest.mark.parametrize("route", AUTHENTICATED_ROUTES, ids=route_id)
def test_a_stolen_cookie_is_worthless_without_its_proof(
    authenticated_gateway: GatewayServer,
    openapi_contract: OpenApiContract,
    tenants: TwoTenants,
    sessions: list[tuple[dict[str, str], dict[str, str]]],
    route: RouteKey,
) -> None:
    row, (cookie, proof), (_, other_proof) = ACCESS_RULES[route], *sessions
    wrong_proofs = [
        {},
        {"X-Session-Proof": ""},
        {"X-Session-Proof": proof["X-Session-Proof"][:-1]},
        other_proof,
        {"X-Requested-With": "tests", "Sec-Fetch-Site": "same-origin"},
    ]
    with contract_client(authenticated_gateway, openapi_contract, **cookie) as visitor:
        answers = [visitor.call(route, row, tenants.a, **each) for each in wrong_proofs]
        if route.method == "GET":
            answers.append(visitor.http.head(re.sub(r"\{\w+(:path)?\}", "x", route.path)))
    for answer in answers:
        assert answer.status_code == 401, answer.text
        assert "Set-Cookie" not in answer.headers  # a page of another port could sign the user out
    assert {each.json()["type"] for each in answers if each.text} == {
        "urn:xapp-operator:problem:session-proof-required"
    }


@pytest.mark.parametrize("route", AUTHENTICATED_ROUTES, ids=route_id)
def test_a_cookie_with_its_proof_signs_in_and_other_origins_change_nothing(
    authenticated_gateway: GatewayServer, openapi_contract: OpenApiContract, tenants: TwoTenants, route: RouteKey
) -> None:
    row = ACCESS_RULES[route]
    changing = route.method not in SAFE_METHODS or route.method == WEBSOCKET
    cookie, proof = sign_in(authenticated_gateway, tenants.tokens["edit"])
    with contract_client(authenticated_gateway, openapi_contract, **cookie) as visitor:
        strange = visitor.call(route, row, tenants.a, Origin="https://elsewhere.example.com", **proof)
        own = visitor.call(route, row, tenants.a, **proof)
    cookie, proof = sign_in(authenticated_gateway, tenants.tokens["edit"])
    with contract_client(authenticated_gateway, openapi_contract, **cookie) as visitor:
        foreign = visitor.call(route, row, tenants.b, **proof)
    assert own.status_code in row.statuses
    assert foreign.status_code in (row.statuses if row.allowed_accounts == ANY_ACCOUNT else (403,))
    if changing:
        assert strange.status_code == 403
        assert "another origin" in strange.json()["detail"]
    else:
        assert strange.status_code == own.status_code


def all_items(http: httpx.Client, path: str) -> list[dict[str, Any]]:
    """Return the items of all pages of a list, which must agree with the counts."""
    found: list[dict[str, Any]] = []
    for page in range(1, 1000):
        body = http.get(path, params={"page": page, "per_page": 1}).json()
        found += body["content"]
        if body["is_last_page"]:
            assert body["total_count"] == len(found)
            assert body["last_page"] == max(1, len(found))
            return found
    raise AssertionError("more pages than there can be")


@pytest.mark.parametrize(
    ("path", "sought"),
    [
        ("/api/xapps", "name"),
        ("/api/repositories", "name"),
        ("/api/charts", "name"),
        ("/api/discovery/services", "marker"),
    ],
)
def test_lists_and_counts_leave_out_what_the_caller_may_not_see(
    authenticated_gateway: GatewayServer, tenants: TwoTenants, path: str, sought: str
) -> None:
    for who, expected in (("edit", [tenants.a]), ("view", [tenants.b]), ("nobody", [])):
        with authenticated_gateway.client(headers=bearer_header(tenants.tokens[who])) as http:
            assert [each["namespace"] for each in all_items(http, path)] == [one.namespace for one in expected]
            for one in (tenants.a, tenants.b):
                search = http.get(path, params={"search": getattr(one, sought)}).json()
                assert search["total_count"] == (1 if one in expected else 0)
                answer = http.get(path, params={"namespace": one.namespace})
                assert answer.status_code == (200 if one in expected else 403)
            assert http.get(path, params={"namespace": "nowhere-at-all"}).status_code == 403


def named_in(event: ServerSentEvent) -> str:
    return str(event.data["namespace"])


def next_change(heard: Iterator[ServerSentEvent]) -> ServerSentEvent:
    """Return the next event that is no comment; comments are heartbeats."""
    return next(each for each in heard if each.name not in {"", ":"})


def test_change_streams_contain_only_the_callers_namespace(
    authenticated_gateway: GatewayServer,
    api: ApiServer,
    tenants: TwoTenants,
    record_property: Callable[[str, object], None],
) -> None:
    def touch(one: Tenant, message: str) -> None:
        status = {"status": {"release": {"name": message}}}
        api.patch(f"{XAPPS.format(one.namespace)}/{one.name}/status", status)

    with (
        authenticated_gateway.client(headers=bearer_header(tenants.tokens["edit"])) as editor,
        authenticated_gateway.client(headers=bearer_header(tenants.tokens["view"])) as viewer,
        editor.stream("GET", "/api/stream") as of_a,
        viewer.stream("GET", "/api/stream") as of_b,
    ):
        hears_a, hears_b = parse_events(of_a.iter_lines()), parse_events(of_b.iter_lines())
        next(hears_a)
        next(hears_b)
        touch(tenants.a, "first")
        started = time.monotonic()
        touch(tenants.b, "second")
        heard = next_change(hears_b)
        took = time.monotonic() - started
        touch(tenants.a, "third")
        heard_too = [next_change(hears_a), next_change(hears_a)]

    assert (named_in(heard), heard.data["release"]["name"]) == (tenants.b.namespace, "second")
    assert [named_in(each) for each in heard_too] == [tenants.a.namespace] * 2
    assert [each.data["release"]["name"] for each in heard_too] == ["first", "third"]
    summary = f"a change in the cluster reached the stream after {took:.3f} s"
    record_property("stream", summary)
    print(summary)


def test_a_revoked_permission_ends_the_streams_that_it_allowed(
    authenticated_gateway: GatewayServer, api: ApiServer, tenants: TwoTenants
) -> None:
    home = f"matrix-leaver-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": home}})
    one = create_tenant(api, "c")
    try:
        token = create_account(api, "view", home=home, at=one.namespace)
        with authenticated_gateway.client(headers=bearer_header(token)) as http:
            path = {"namespace": one.namespace}
            wait_until(lambda: http.get("/api/xapps").json()["total_count"] == 1, timeout=60, what="the xApp")
            with http.stream("GET", "/api/stream") as answer, http.stream("GET", "/api/stream", params=path) as only:
                heard, of_one = parse_events(answer.iter_lines()), parse_events(only.iter_lines())
                next(heard)
                next(of_one)
                api.delete(f"{BINDINGS.format(one.namespace)}/view")
                wait_until(
                    lambda: http.get("/api/xapps", params=path).status_code == 403, timeout=60, what="the right to end"
                )
                wait_until(
                    lambda: http.get("/api/xapps").json()["total_count"] == 0, timeout=60, what="the list to end"
                )
                status = {"status": {"release": {"name": "after"}}}
                api.patch(f"{XAPPS.format(one.namespace)}/{one.name}/status", status)
                rest = next(each for each in heard if each.name != ":")
                assert rest.name == "reset"
                assert all(each.name in {"", ":"} for each in of_one)
    finally:
        api.delete(f"{NAMESPACES}/{home}")
        api.delete(f"{NAMESPACES}/{one.namespace}")


def test_the_audit_log_names_who_changed_something_by_cookie(
    cluster: Cluster, authenticated_gateway: GatewayServer, api: ApiServer, tenants: TwoTenants
) -> None:
    if cluster.audit_log is None:
        pytest.skip("the audit log of this cluster is out of reach")
    log, name = cluster.audit_log, f"audited-{secrets.token_hex(4)}"
    body = {"name": name, "namespace": tenants.a.namespace, "url": "https://charts.example.com"}
    cookie, proof = sign_in(authenticated_gateway, tenants.tokens["edit"])
    with authenticated_gateway.client(headers=cookie | proof) as http:
        who = http.get("/api/session").json()["user"]
        assert http.post("/api/repositories", json=body).status_code == 201
    api.delete(f"{REPOSITORIES.format(tenants.a.namespace)}/{name}")

    def written() -> list[str]:
        found = read_audit_events(log, containing=f'"name":"{name}"')
        return [event["user"]["username"] for event in found if event["verb"] == "create"]

    writers = wait_until(written, timeout=60, what="the audit log", interval=0.2)
    assert who.endswith(":edit")
    assert set(writers) == {who}
