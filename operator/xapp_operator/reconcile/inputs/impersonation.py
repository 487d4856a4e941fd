"""The identity that the operator uses for an XApp: a service account of the XApp's namespace.

Helm, label patches, Unlock, and reading values and archives use it, so that nobody gains rights by creating an XApp.
The operator's own identity is used only where the settings allow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xapp_operator.api.models import XApp
from xapp_operator.config import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.reader import KubeReader


class ReaderImpersonation(Protocol):
    """Gives clients that read with the identity of an XApp; `Impersonation` does."""

    def client_for(self, xapp: XApp) -> KubeReader:
        """Return a client with the identity of `xapp`."""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Chooses the identity for each XApp and namespace."""

    kube: KubeClient
    settings: Settings

    def user_for(self, xapp: XApp) -> str | None:
        """Return the user to impersonate for `xapp`; None is the operator itself, where that is allowed."""
        return self._user(xapp.metadata.namespace, xapp.spec.service_account_name)

    def client_for(self, xapp: XApp) -> KubeClient:
        return self._client(self.user_for(xapp))

    def client_for_namespace(self, namespace: str) -> KubeClient:
        """Return a client for what belongs to no single XApp in `namespace`: chart repositories."""
        return self._client(self._user(namespace, None))

    def _user(self, namespace: str, account: str | None) -> str | None:
        name = account or self.settings.default_service_account
        return None if name is None else f"system:serviceaccount:{namespace}:{name}"

    def _client(self, user: str | None) -> KubeClient:
        return self.kube if user is None else self.kube.impersonate(user)
