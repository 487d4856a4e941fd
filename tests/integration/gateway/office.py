"""Callers with tokens of their own at a gateway that wants them, and the rights they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.integration.gateway.desk import Desk
from tests.support.apiserver import ApiServer
from tests.support.contract import Contract
from tests.support.gateway import Serving

ACCOUNTS: Final = "/api/v1/namespaces/{}/serviceaccounts"
BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles"
CLUSTER_BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
CLUSTER_ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def token_of(api: ApiServer, account: str, *, namespace: str) -> str:
    review = api.create(f"{ACCOUNTS.format(namespace)}/{account}/token", {"spec": {"expirationSeconds": 3600}})
    token: str = review["status"]["token"]
    return token


class Office:
    """Callers with rights in one namespace, and their desks."""

    def __init__(self, guarded: Serving, api: ApiServer, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._guarded = guarded
        self._contract = Contract.of(guarded)

    def account(self, name: str, role: str | None = None) -> str:
        """Make a service account, bound to a cluster role in the namespace; return its token."""
        self.api.create(ACCOUNTS.format(self.namespace), {"metadata": {"name": name}})
        if role is not None:
            self.bind(name, role)
        return token_of(self.api, name, namespace=self.namespace)

    def bind(self, name: str, role: str, *, kind: str = "ClusterRole") -> None:
        self.api.create(BINDINGS.format(self.namespace), self._binding(name, role, kind))

    def grant(self, name: str, **rights: list[str]) -> None:
        """Let an account do `resource=verbs` of our own group in the namespace."""
        rules = [
            {"apiGroups": ["xapp-operator.io"], "resources": [kind], "verbs": verbs} for kind, verbs in rights.items()
        ]
        self.api.create(ROLES.format(self.namespace), {"metadata": {"name": name}, "rules": rules})
        self.bind(name, name, kind="Role")

    @contextmanager
    def everywhere(self, name: str, **rights: list[str]) -> Iterator[None]:
        """Let an account do `resource=verbs` of our own group in all namespaces."""
        role = f"{self.namespace}-{name}"
        rules = [
            {"apiGroups": ["xapp-operator.io"], "resources": [kind], "verbs": verbs} for kind, verbs in rights.items()
        ]
        self.api.create(CLUSTER_ROLES, {"metadata": {"name": role}, "rules": rules})
        self.api.create(CLUSTER_BINDINGS, {**self._binding(name, role, "ClusterRole"), "metadata": {"name": role}})
        yield
        self.api.delete(f"{CLUSTER_BINDINGS}/{role}")
        self.api.delete(f"{CLUSTER_ROLES}/{role}")

    @contextmanager
    def desk(self, token: str) -> Iterator[Desk]:
        headers = {"Authorization": f"Bearer {token}"}
        with self._guarded.client(headers=headers, event_hooks={"response": [self._contract.check]}) as http:
            yield Desk(http=http, api=self.api, namespace=self.namespace, uploads=self._guarded.gateway.uploads)

    def _binding(self, name: str, role: str, kind: str) -> dict[str, Any]:
        return {
            "metadata": {"name": f"{name}-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}],
        }
