"""Service accounts with tokens and permissions, as callers of a gateway that authenticates.

Permissions are in effect before a test continues: RBAC needs some time, and the gateway caches a denial for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ApiServer
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract

ACCOUNTS: Final = "/api/v1/namespaces/{}/serviceaccounts"
BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles"
CLUSTER_BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
CLUSTER_ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
API_GROUP: Final = "xapp-operator.io"
VERB_OF_ROLE: Final = {"edit": "create", "view": "get"}
"""What only who has a role of that name may do with our objects."""


def create_token(api: ApiServer, account: str, *, namespace: str) -> str:
    review = api.create(f"{ACCOUNTS.format(namespace)}/{account}/token", {"spec": {"expirationSeconds": 3600}})
    token: str = review["status"]["token"]
    return token


def is_allowed(api: ApiServer, user: str, verb: str, resource: str, *, group: str, namespace: str | None) -> bool:
    """Return whether a service account (`namespace:name`) may do that; without `namespace`, in all namespaces."""
    attributes = {"group": group, "resource": resource, "verb": verb, "namespace": namespace or ""}
    spec = {"user": f"system:serviceaccount:{user}", "resourceAttributes": attributes}
    answer = api.create(
        ACCESS_REVIEWS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    )
    return answer["status"]["allowed"] is True


def wait_until_allowed(
    api: ApiServer, user: str, rights: dict[str, list[str]], *, namespace: str | None, group: str = API_GROUP
) -> None:
    """Wait until a service account (`namespace:name`) may do `resource: verbs`."""

    def known() -> bool:
        return all(
            is_allowed(api, user, verb, resource, group=group, namespace=namespace)
            for resource, verbs in rights.items()
            for verb in verbs
        )

    wait_until(known, timeout=60, what=f"RBAC to know the rights of {user}")


def wait_for_role(api: ApiServer, user: str, role: str, *, namespace: str) -> None:
    """Wait until a service account (`namespace:name`) has one of the roles of VERB_OF_ROLE."""
    wait_until_allowed(
        api,
        user,
        {kind: [VERB_OF_ROLE[role]] for kind in ("xapps", "chartrepositories", "chartarchives")},
        namespace=namespace,
    )


class CallerFactory:
    """Creates callers with permissions in one namespace."""

    def __init__(self, authenticated_gateway: GatewayServer, api: ApiServer, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._authenticated_gateway = authenticated_gateway
        self._contract = OpenApiContract.from_gateway(authenticated_gateway)

    def create_account(self, name: str, role: str | None = None) -> str:
        """Create a service account, bind it to a cluster role in the namespace, and return its token."""
        self.api.create(ACCOUNTS.format(self.namespace), {"metadata": {"name": name}})
        if role is not None:
            self._bind(name, role, "ClusterRole")
            wait_for_role(self.api, f"{self.namespace}:{name}", role, namespace=self.namespace)
        return create_token(self.api, name, namespace=self.namespace)

    def grant(self, name: str, *, group: str = API_GROUP, **rights: list[str]) -> None:
        """Allow an account `resource=verbs` of a group in the namespace."""
        rules = [{"apiGroups": [group], "resources": [kind], "verbs": verbs} for kind, verbs in rights.items()]
        role = f"{name}-{group or 'core'}"
        self.api.create(ROLES.format(self.namespace), {"metadata": {"name": role}, "rules": rules})
        self._bind(name, role, "Role")
        wait_until_allowed(self.api, f"{self.namespace}:{name}", rights, group=group, namespace=self.namespace)

    @contextmanager
    def grant_in_all_namespaces(self, name: str, *, group: str = API_GROUP, **rights: list[str]) -> Iterator[None]:
        """Allow an account `resource=verbs` of a group in all namespaces."""
        role = f"{self.namespace}-{name}-{group or 'core'}"
        rules = [{"apiGroups": [group], "resources": [kind], "verbs": verbs} for kind, verbs in rights.items()]
        self.api.create(CLUSTER_ROLES, {"metadata": {"name": role}, "rules": rules})
        self.api.create(CLUSTER_BINDINGS, {**self._binding(name, role, "ClusterRole"), "metadata": {"name": role}})
        try:
            wait_until_allowed(self.api, f"{self.namespace}:{name}", rights, group=group, namespace=None)
            yield
        finally:
            self.api.delete(f"{CLUSTER_BINDINGS}/{role}")
            self.api.delete(f"{CLUSTER_ROLES}/{role}")

    @contextmanager
    def client_with_token(self, token: str) -> Iterator[GatewayClient]:
        headers = {"Authorization": f"Bearer {token}"}
        with self._authenticated_gateway.client(
            headers=headers, event_hooks={"response": [self._contract.check_response]}
        ) as http:
            yield GatewayClient(
                http=http,
                api=self.api,
                namespace=self.namespace,
                uploads=self._authenticated_gateway.gateway.upload_folder,
            )

    def _bind(self, name: str, role: str, kind: str) -> None:
        self.api.create(BINDINGS.format(self.namespace), self._binding(name, role, kind))

    def _binding(self, name: str, role: str, kind: str) -> dict[str, Any]:
        return {
            "metadata": {"name": f"{name}-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}],
        }
