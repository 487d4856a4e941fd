"""As whom the operator acts for an XApp: never as itself, unless that is allowed.

Lives in `reconcile`. Helm, label patches, Unlock and the reading of an XApp's values and archive act as a service
account of the XApp's own namespace, so that an author gains no right by writing an XApp.
"""

from __future__ import annotations

from dataclasses import dataclass

from xapp_operator.api.models import XApp
from xapp_operator.config import Settings
from xapp_operator.kube.client import KubeClient


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Who acts in which namespace."""

    kube: KubeClient
    settings: Settings

    def user_for(self, xapp: XApp) -> str | None:
        """Return the user to impersonate for `xapp`; None is the operator itself, where that is allowed."""
        return self._user(xapp.metadata.namespace, xapp.spec.service_account_name)

    def client_for(self, xapp: XApp) -> KubeClient:
        """Return the client that acts for `xapp`."""
        return self._client(self.user_for(xapp))

    def client_for_namespace(self, namespace: str) -> KubeClient:
        """Return the client that acts for what belongs to no XApp in `namespace`: saved repositories."""
        return self._client(self._user(namespace, None))

    def _user(self, namespace: str, account: str | None) -> str | None:
        name = account or self.settings.default_service_account
        return None if name is None else f"system:serviceaccount:{namespace}:{name}"

    def _client(self, user: str | None) -> KubeClient:
        return self.kube if user is None else self.kube.impersonate(user)
