"""Service accounts whose tokens sign in to the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.integration.gateway.caller_factory import (
    ACCOUNTS,
    BINDINGS,
    CLUSTER_BINDINGS,
    ROLES,
    create_token,
    wait_for_role,
    wait_until_allowed,
)
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ApiServer
from xapp_operator.api.json import JsonObject

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"


class Accounts:
    """Creates service accounts with rights in one namespace, and returns their tokens."""

    def __init__(self, api: ApiServer, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def with_role(self, role: str, *, name: str = "jane") -> str:
        """Return the token of an account with a cluster role: `view`, `edit` or `admin`."""
        self._create(name)
        self._bind(name, role, "ClusterRole")
        wait_for_role(
            self._api, f"{self._namespace}:{name}", "edit" if role == "admin" else role, namespace=self._namespace
        )
        return create_token(self._api, name, namespace=self._namespace)

    def with_rights(self, *, name: str = "jane", group: str = "xapp-operator.io", **rights: list[str]) -> str:
        """Return the token of an account that may do `resource=verbs` of one API group."""
        self._create(name)
        rules = [{"apiGroups": [group], "resources": [kind], "verbs": verbs} for kind, verbs in rights.items()]
        self._api.create(ROLES.format(self._namespace), {"metadata": {"name": name}, "rules": rules})
        self._bind(name, name, "Role")
        wait_until_allowed(self._api, f"{self._namespace}:{name}", rights, group=group, namespace=self._namespace)
        return create_token(self._api, name, namespace=self._namespace)

    @contextmanager
    def in_all_namespaces(self, role: str, *, name: str = "jane") -> Iterator[str]:
        """Yield the token of an account with a cluster role in all namespaces."""
        self._create(name)
        binding = f"{self._namespace}-{name}"
        self._api.create(CLUSTER_BINDINGS, self._binding(binding, name, role, "ClusterRole"))
        try:
            wait_until_allowed(self._api, f"{self._namespace}:{name}", {"xapps": ["list"]}, namespace=None)
            yield create_token(self._api, name, namespace=self._namespace)
        finally:
            self._api.delete(f"{CLUSTER_BINDINGS}/{binding}")

    def without_rights(self, *, name: str = "jane") -> str:
        """Return the token of an account that may do nothing in any namespace."""
        self._create(name)
        return create_token(self._api, name, namespace=self._namespace)

    def revoke(self, name: str, token: str) -> None:
        """End the tokens of an account, and wait until the cluster refuses this one. The account keeps its rights."""
        self._api.delete(f"{ACCOUNTS.format(self._namespace)}/{name}")
        # The API server remembers for some seconds that it has accepted a token.
        wait_until(lambda: not self._is_known(token), timeout=60, what=f"the token of {name} to end")

    def restore(self, name: str) -> str:
        """Create an account that was revoked again, and return a new token."""
        self._create(name)
        return create_token(self._api, name, namespace=self._namespace)

    def _is_known(self, token: str) -> bool:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        return self._api.create(TOKEN_REVIEWS, review)["status"].get("authenticated") is True

    def _create(self, name: str) -> None:
        self._api.create(ACCOUNTS.format(self._namespace), {"metadata": {"name": name}})

    def _bind(self, name: str, role: str, kind: str) -> None:
        self._api.create(BINDINGS.format(self._namespace), self._binding(f"{name}-{role}", name, role, kind))

    def _binding(self, binding: str, account: str, role: str, kind: str) -> JsonObject:
        return {
            "metadata": {"name": binding},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self._namespace}],
        }
