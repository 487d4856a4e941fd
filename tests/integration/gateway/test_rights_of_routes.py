"""Each route demands exactly the rights of its actions, which GET /api/permissions reports too.

RBAC is real. An account has all rights of a route but one, and gets a 403 that names this one; another has just these
rights, and is let through.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.integration.gateway.caller_factory import (
    ACCOUNTS,
    BINDINGS,
    ROLES,
    create_token,
    is_allowed,
)
from tests.integration.gateway.permission_matrix import ACCESS_RULES, ANY_ACCOUNT, LISTS_OF_A_NAMESPACE, PermissionRow
from tests.integration.gateway.tenants import Tenant, bearer_header, contract_client, create_tenant
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, ApiServer
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from tests.support.routes import RouteKey
from xapp_operator.gateway.auth.actions import NEEDED_RIGHTS, Action, Right, needed_permissions

pytestmark = pytest.mark.integration

Rights = frozenset[Right]
CASES: Final = [
    *((route, row) for route, row in ACCESS_RULES.items() if row.allowed_accounts != ANY_ACCOUNT),
    *LISTS_OF_A_NAMESPACE.items(),
]


def rights_of(*actions: Action) -> Rights:
    return frozenset(right for action in actions for right in NEEDED_RIGHTS[action] if right.resource.namespaced)


def missing_json(right: Right) -> dict[str, Any]:
    resource = right.resource
    return {
        "verb": right.verb,
        "group": resource.group,
        "resource": resource.plural,
        "subresource": right.subresource,
    }


def in_order(missing: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(missing, key=str)


@dataclass(frozen=True, slots=True)
class Accounts:
    """Accounts of one tenant's namespace, by their rights."""

    tenant: Tenant
    tokens: dict[Rights, str]


def wanted_rights() -> set[Rights]:
    found = {rights_of(*row.actions) for _, row in CASES} | {rights_of(action) for action in Action}
    return found | {rights - {right} for rights in found for right in rights}


def create_accounts(api: ApiServer, namespace: str, wanted: set[Rights]) -> dict[Rights, str]:
    tokens: dict[Rights, str] = {}
    for number, rights in enumerate(sorted(wanted, key=str)):
        name = f"account-{number}"
        api.create(ACCOUNTS.format(namespace), {"metadata": {"name": name}})
        tokens[rights] = create_token(api, name, namespace=namespace)
        rules = [
            {
                "apiGroups": [right.resource.group],
                "resources": [right.resource.plural + (f"/{right.subresource}" if right.subresource else "")],
                "verbs": [right.verb],
            }
            for right in rights
        ]
        api.create(ROLES.format(namespace), {"metadata": {"name": name}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        api.create(BINDINGS.format(namespace), {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    return tokens


def wait_for_rbac(api: ApiServer, namespace: str, wanted: set[Rights]) -> None:
    for number, rights in enumerate(sorted(wanted, key=str)):
        for right in rights:
            if right.subresource is None:
                user, resource = f"{namespace}:account-{number}", right.resource
                wait_until(
                    lambda user=user, right=right, resource=resource: is_allowed(  # type: ignore[misc]
                        api, user, right.verb, resource.plural, group=resource.group, namespace=namespace
                    ),
                    timeout=60,
                    what=f"RBAC to know the rights of {user}",
                )
                break


@pytest.fixture(scope="module")
def accounts(api: ApiServer, authenticated_gateway: GatewayServer) -> Iterator[Accounts]:
    tenant = create_tenant(api, f"rights-{secrets.token_hex(2)}")
    wanted = wanted_rights()
    tokens = create_accounts(api, tenant.namespace, wanted)
    wait_for_rbac(api, tenant.namespace, wanted)

    def known() -> bool:
        return authenticated_gateway.run_in_loop(
            lambda gateway: all(
                store.get(tenant.namespace, tenant.name)
                for store in (gateway.store, gateway.repositories.store, gateway.archives.store)
            )
        )

    wait_until(known, timeout=60, what="the gateway to know the tenant")
    yield Accounts(tenant, tokens)
    api.delete(f"{NAMESPACES}/{tenant.namespace}")


@pytest.fixture(scope="module")
def openapi_contract(authenticated_gateway: GatewayServer) -> OpenApiContract:
    return OpenApiContract.from_gateway(authenticated_gateway)


@pytest.mark.parametrize(("route", "row"), CASES, ids=[f"{route.method} {route.path}" for route, _ in CASES])
def test_a_route_demands_the_rights_of_its_actions_and_no_others(
    authenticated_gateway: GatewayServer,
    openapi_contract: OpenApiContract,
    accounts: Accounts,
    route: RouteKey,
    row: PermissionRow,
) -> None:
    needed = rights_of(*row.actions)
    assert needed
    for right in needed:
        headers = bearer_header(accounts.tokens[needed - {right}])
        with contract_client(authenticated_gateway, openapi_contract, **headers) as visitor:
            refused = visitor.call(route, row, accounts.tenant)
        assert refused.status_code == 403, (right, refused.text)
        assert refused.json()["missing"] == [missing_json(right)]
    with contract_client(authenticated_gateway, openapi_contract, **bearer_header(accounts.tokens[needed])) as visitor:
        allowed = visitor.call(route, row, accounts.tenant)
    assert allowed.status_code in row.statuses, allowed.text


def test_a_refusal_names_all_missing_rights(authenticated_gateway: GatewayServer, accounts: Accounts) -> None:
    with authenticated_gateway.client(headers=bearer_header(accounts.tokens[frozenset()])) as http:
        refused = http.get(f"/api/xapps/{accounts.tenant.namespace}/{accounts.tenant.name}/logs").json()
    assert in_order(refused["missing"]) == in_order([missing_json(right) for right in NEEDED_RIGHTS[Action.LOGS]])
    assert "get pods/log" in refused["detail"]


@pytest.mark.parametrize("action", Action)
def test_the_report_agrees_with_the_table(
    authenticated_gateway: GatewayServer, openapi_contract: OpenApiContract, accounts: Accounts, action: Action
) -> None:
    own = rights_of(action)
    with contract_client(authenticated_gateway, openapi_contract, **bearer_header(accounts.tokens[own])) as visitor:
        answer = visitor.http.get("/api/permissions", params={"namespace": accounts.tenant.namespace})
        openapi_contract.check_response(answer)
        elsewhere = visitor.http.get("/api/permissions").json()["rights"]
    rights = {each["action"]: each for each in answer.json()["rights"]}
    assert list(rights) == [each.value for each in Action]
    for each in Action:
        missing = [missing_json(right) for right in NEEDED_RIGHTS[each] if right not in own]
        assert rights[each.value] == {"action": each.value, "allowed": not missing, "missing": missing}
    assert not any(each["allowed"] for each in elsewhere)


def test_every_action_of_a_namespace_is_what_some_route_requires() -> None:
    required = {action for row in (*ACCESS_RULES.values(), *LISTS_OF_A_NAMESPACE.values()) for action in row.actions}
    # adopt: a deployment with another form. createNamespace: part of a deployment, see test_callers. listNamespaces:
    # without it, the list has fewer names, see test_namespaces.
    assert set(Action) - required == {Action.ADOPT, Action.CREATE_NAMESPACE, Action.LIST_NAMESPACES}


def test_a_role_for_one_xapp_by_name_allows_that_one_only(
    authenticated_gateway: GatewayServer, api: ApiServer, accounts: Accounts
) -> None:
    namespace, name = accounts.tenant.namespace, accounts.tenant.name
    api.create(ACCOUNTS.format(namespace), {"metadata": {"name": "by-name"}})
    rules = [
        {"apiGroups": ["xapp-operator.io"], "resources": ["xapps"], "resourceNames": [name], "verbs": ["get", "patch"]}
    ]
    api.create(ROLES.format(namespace), {"metadata": {"name": "by-name"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "by-name", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "by-name"}
    api.create(BINDINGS.format(namespace), {"metadata": {"name": "by-name"}, "roleRef": role, "subjects": [subject]})
    token = create_token(api, "by-name", namespace=namespace)
    with authenticated_gateway.client(headers=bearer_header(token)) as http:
        path = f"/api/xapps/{namespace}"
        wait_until(lambda: http.get(f"{path}/{name}").status_code == 200, timeout=60, what="the right")
        assert http.get(f"{path}/other").status_code == 403
        assert http.get("/api/xapps", params={"namespace": namespace}).status_code == 403

        def allowed(**query: str) -> set[str]:
            rights = http.get("/api/permissions", params={"namespace": namespace, **query}).json()["rights"]
            return {each["action"] for each in rights if each["allowed"]}

        assert allowed() == set()
        assert allowed(name="other") == set()
        assert allowed(name=name) == {Action.VIEW, Action.ROLLBACK, Action.ACT}


def test_bad_queries_of_the_report_are_400(authenticated_gateway: GatewayServer, accounts: Accounts) -> None:
    with authenticated_gateway.client(headers=bearer_header(accounts.tokens[frozenset()])) as http:
        for query in ("name=a", "namespace=A", "namespace=a%2Fb", "verb=get", f"namespace={'a' * 64}"):
            answer = http.get(f"/api/permissions?{query}")
            assert (answer.status_code, answer.json()["title"]) == (400, "Malformed request"), answer.text


def test_creating_namespaces_is_asked_in_the_whole_cluster() -> None:
    asked = needed_permissions(Action.CREATE_NAMESPACE, namespace="a", name="x")
    assert [(each.namespace, each.name) for each in asked] == [(None, None)]
