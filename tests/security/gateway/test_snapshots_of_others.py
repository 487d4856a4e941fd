"""Threat: somebody walks through the list of another caller, or goes on with a walk after their right has ended."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import httpx
import pytest

from tests.integration.gateway.caller_factory import BINDINGS, CallerFactory
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.gateway.auth import access_reviews

pytestmark = pytest.mark.integration

COUNT = 5
QUERIES: list[Callable[[str], dict[str, str]]] = [lambda _namespace: {}, lambda namespace: {"namespace": namespace}]


@pytest.fixture(autouse=True)
def _review_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_reviews, "REVIEW_SECONDS", 0.2)


@pytest.fixture
def filled(caller_factory: CallerFactory, api: ApiServer) -> CallerFactory:
    """A namespace with COUNT XApps, and another one that nobody may see."""
    for at in range(COUNT):
        api.create(XAPPS.format(caller_factory.namespace), xapp_manifest(f"x-{at}", namespace=caller_factory.namespace))
    return caller_factory


def begin(http: httpx.Client, query: dict[str, str]) -> str:
    """Begin a walk through all of the caller's xApps, and return its token."""
    wait_until(
        lambda: http.get("/api/xapps", params=query).json().get("total_count") == COUNT,
        timeout=60,
        what="all xApps",
    )
    answer = http.get("/api/xapps", params={**query, "snapshot": "new", "per_page": "2"})
    assert answer.json()["total_count"] == COUNT
    token: str = answer.headers["snapshot"]
    return token


@pytest.mark.parametrize("query", QUERIES, ids=["all", "named"])
def test_the_token_of_a_walk_is_worth_nothing_to_others(
    filled: CallerFactory, query: Callable[[str], dict[str, str]]
) -> None:
    asked = query(filled.namespace)
    jane, joe = filled.create_account("jane", "view"), filled.create_account("joe", "view")
    with filled.client_with_token(jane) as jane_client, filled.client_with_token(joe) as joe_client:
        token = begin(jane_client.http, asked)
        page = {**asked, "snapshot": token, "per_page": "2", "page": "2"}

        assert joe_client.http.get("/api/xapps", params=page).status_code == 410
        assert len(jane_client.http.get("/api/xapps", params=page).json()["content"]) == 2


@pytest.mark.parametrize(("query", "refused"), [*zip(QUERIES, (410, 403), strict=True)], ids=["all", "named"])
def test_a_walk_ends_with_the_right_and_does_not_come_back_with_it(
    filled: CallerFactory, api: ApiServer, query: Callable[[str], dict[str, str]], refused: int
) -> None:
    asked = query(filled.namespace)
    jane = filled.create_account("jane", "view")
    binding = f"{BINDINGS.format(filled.namespace)}/jane-view"
    with filled.client_with_token(jane) as client:
        http = client.http
        page = {**asked, "snapshot": begin(http, asked), "per_page": "2", "page": "2"}
        granted = api.get(binding)
        api.delete(binding)
        wait_until(
            lambda: http.get("/api/xapps", params=page).status_code == refused, timeout=60, what="the end of the walk"
        )
        granted["metadata"] = {"name": "jane-view"}
        api.create(BINDINGS.format(filled.namespace), granted)
        begin(http, asked)

        assert http.get("/api/xapps", params=page).status_code == 410


def test_a_snapshot_shows_only_what_its_caller_may_see(filled: CallerFactory, api: ApiServer) -> None:
    other = f"other-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": other}})
    api.create(XAPPS.format(other), xapp_manifest("hidden", namespace=other))
    try:
        jane = filled.create_account("jane", "view")
        with filled.client_with_token(jane) as client:
            page = {"snapshot": begin(client.http, {}), "per_page": "100"}
            shown = client.http.get("/api/xapps", params=page).json()["content"]
            assert {record["namespace"] for record in shown} == {filled.namespace}
    finally:
        api.delete(f"{XAPPS.format(other)}/hidden")
        api.delete(f"{NAMESPACES}/{other}")
