"""GET /api/namespaces: where a caller may do something, and nothing about namespaces that they may not know of."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import JsonObject

pytestmark = pytest.mark.integration


def read(client: GatewayClient, **query: Any) -> JsonObject:
    answer = client.http.get("/api/namespaces", params=query)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def found(client: GatewayClient, **query: Any) -> list[JsonObject]:
    items: list[JsonObject] = read(client, per_page=100, **query)["content"]
    return items


@pytest.fixture
def jane(caller_factory: CallerFactory) -> Iterator[GatewayClient]:
    """A caller with the role edit in one namespace, who may not list namespaces."""
    with caller_factory.client_with_token(caller_factory.create_account("jane", "edit")) as one:
        yield one


def test_an_administrator_sees_all_namespaces_by_name_with_their_xapps(client: GatewayClient) -> None:
    client.deploy()
    wait_until(lambda: found(client, search=client.namespace)[0]["xapps"], timeout=60, what="the list to have the xApp")
    assert found(client, search=client.namespace) == [
        {"name": client.namespace, "exists": True, "allowed": True, "xapps": 1}
    ]
    names = [each["name"] for each in found(client)]
    assert {"default", "kube-system", client.namespace} <= set(names)
    assert names == sorted(names)
    assert [each["name"] for each in found(client, search="KUBE-SYS")] == ["kube-sys", "kube-system"]


def test_the_pages_of_a_search_agree(client: GatewayClient) -> None:
    first, second = (read(client, search="kube-", per_page=1, page=page) for page in (1, 2))
    assert first["total_count"] == second["total_count"] == first["last_page"] >= 3
    assert first["content"][0]["name"] < second["content"][0]["name"]


def test_a_name_that_does_not_exist_and_may_be_created_comes_first(client: GatewayClient) -> None:
    name = f"new-{secrets.token_hex(4)}"
    assert found(client, search=name) == [{"name": name, "exists": False, "allowed": True, "xapps": 0}]


@pytest.mark.parametrize("search", ["-kube", "a_b", "a" * 64, "x/y", "kube-"])
def test_a_search_that_is_no_name_is_only_a_search(client: GatewayClient, search: str) -> None:
    assert all(search in each["name"] and each["exists"] for each in found(client, search=search))


def test_the_own_namespace_is_found_by_name_before_it_has_xapps(jane: GatewayClient) -> None:
    own = {"name": jane.namespace, "exists": True, "allowed": True, "xapps": 0}
    assert found(jane, search=jane.namespace) == [own]
    assert jane.namespace not in {each["name"] for each in found(jane)}
    jane.deploy()
    wait_until(lambda: found(jane) == [{**own, "xapps": 1}], timeout=60, what="the list to have the namespace")


def test_namespaces_of_others_are_the_same_whether_they_exist_or_not(jane: GatewayClient) -> None:
    for name in ("kube-system", "nowhere-at-all"):
        for action in ("deploy", "view", "list", "createNamespace"):
            assert found(jane, search=name, action=action) == [
                {"name": name, "exists": None, "allowed": False, "xapps": None}
            ]


def test_rights_to_read_xapps_everywhere_do_not_tell_which_namespaces_exist(caller_factory: CallerFactory) -> None:
    token = caller_factory.create_account("reader")
    with (
        caller_factory.grant_in_all_namespaces("reader", xapps=["get", "list"]),
        caller_factory.client_with_token(token) as reader,
    ):
        for name in ("kube-public", "nowhere-at-all"):
            assert found(reader, search=name, action="view") == [
                {"name": name, "exists": None, "allowed": True, "xapps": 0}
            ]


def test_a_new_namespace_also_needs_the_right_to_create_it(caller_factory: CallerFactory) -> None:
    name, token = f"new-{secrets.token_hex(4)}", caller_factory.create_account("roamer")
    with (
        caller_factory.grant_in_all_namespaces("roamer", xapps=["create"]),
        caller_factory.client_with_token(token) as roamer,
    ):
        assert found(roamer, search=name) == [{"name": name, "exists": False, "allowed": False, "xapps": None}]
        assert found(roamer, search="default")[0] == {"name": "default", "exists": True, "allowed": True, "xapps": None}
    builder = caller_factory.create_account("builder")
    with (
        caller_factory.grant_in_all_namespaces("builder", xapps=["create"]),
        caller_factory.grant_in_all_namespaces("builder", group="", namespaces=["create"]),
        caller_factory.client_with_token(builder) as both,
    ):
        assert found(both, search=name) == [{"name": name, "exists": False, "allowed": True, "xapps": None}]


def test_who_may_list_namespaces_sees_where_they_may_deploy(caller_factory: CallerFactory) -> None:
    token = caller_factory.create_account("lister", "edit")
    with (
        caller_factory.grant_in_all_namespaces("lister", group="", namespaces=["list"]),
        caller_factory.client_with_token(token) as lister,
    ):
        # The list is some seconds old, so that it may lack a namespace that was created just now.
        wait_until(
            lambda: caller_factory.namespace in {each["name"] for each in found(lister)}, timeout=60, what="the names"
        )
        choices = {each["name"]: each for each in found(lister)}
    assert choices[caller_factory.namespace]["allowed"] is True
    assert choices["kube-system"] == {"name": "kube-system", "exists": True, "allowed": False, "xapps": None}


def test_a_caller_sees_namespaces_whose_xapps_they_may_list(caller_factory: CallerFactory, jane: GatewayClient) -> None:
    jane.deploy()
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        wait_until(lambda: found(viewer), timeout=60, what="the list to have the namespace")
        own = {"name": viewer.namespace, "exists": True, "xapps": 1}
        assert found(viewer) == [{**own, "allowed": False}]
        assert found(viewer, action="view") == [{**own, "allowed": True}]


@pytest.mark.parametrize(
    "query", ["action=delete", "action=Deploy", "page=0", "per_page=101", "namespace=a", "page=9999"]
)
def test_bad_queries_are_400(client: GatewayClient, query: str) -> None:
    assert client.http.get(f"/api/namespaces?{query}").status_code == 400
