"""The identity that the operator uses for an XApp: a service account of the XApp's namespace.

Helm, label patches, Unlock, and reading values and archives use it, so that nobody gains rights by creating an XApp.
The operator's own identity is used only where the settings allow it.

The API server refuses an account that does not exist like one without rights. So after a refusal, the account is looked
for, with the right to list that the operator has for drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from xapp_operator.api.models import XApp
from xapp_operator.common.text import escape_input
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, KubeError, XAppError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.reader import KubeReader, first_page
from xapp_operator.kube.resources import SERVICE_ACCOUNTS

_IMPERSONATE: Final = "impersonate"


class ReaderImpersonation(Protocol):
    """Gives clients that read with the identity of an XApp; `Impersonation` does."""

    def client_for(self, xapp: XApp) -> KubeReader:
        """Return a client with the identity of `xapp`."""

    async def explain(self, xapp: XApp, error: XAppError) -> XAppError:
        """Return `error`, or one that says that the service account of `xapp` does not exist."""


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

    async def explain(self, xapp: XApp, error: XAppError) -> XAppError:
        """Return `error`, or one that says that the service account of `xapp` does not exist, if that is why.

        Only what is refused to that account, or to the operator when it acts as it, costs a request.
        """
        user, name = self.user_for(xapp), xapp.spec.service_account_name or self.settings.default_service_account
        if user is None or name is None or not isinstance(error, AccessDenied):
            return error
        if user not in error.message and _IMPERSONATE not in error.message:
            return error
        namespace = xapp.metadata.namespace
        missing = f"the service account {escape_input(name)} does not exist in the namespace {namespace}"
        try:
            found = await first_page(
                self.kube, SERVICE_ACCOUNTS, namespace, limit=1, field_selector=f"metadata.name={name}"
            )
        except AccessDenied:
            message = f"{error.message}. Perhaps {missing}: the operator may not list service accounts there"
            return AccessDenied(message, errors=error.errors, permanent=error.permanent, missing=error.missing)
        except KubeError:
            return error
        if found:
            return error
        default = "apply manifests/xapp-namespace to the namespace, or create it"
        mend = default if xapp.spec.service_account_name is None else "create it, or correct spec.serviceAccountName"
        message = f"{missing}: {mend}, then request a retry. The refused request: {error.message}"
        return AccessDenied(message, errors=error.errors, permanent=error.permanent)

    def client_for_namespace(self, namespace: str) -> KubeClient:
        """Return a client for what belongs to no single XApp in `namespace`: chart repositories."""
        return self._client(self._user(namespace, None))

    def _user(self, namespace: str, account: str | None) -> str | None:
        name = account or self.settings.default_service_account
        return None if name is None else f"system:serviceaccount:{namespace}:{name}"

    def _client(self, user: str | None) -> KubeClient:
        return self.kube if user is None else self.kube.impersonate(user)
