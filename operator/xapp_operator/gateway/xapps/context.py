"""One request about one xApp, and the errors for an xApp that is missing or has no XApp resource."""

from __future__ import annotations

from dataclasses import dataclass

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, NextRequest, NotFound, NoXAppResource
from xapp_operator.gateway.auth.actions import Permission
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import SOURCE_LABELS, XAppEntry
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.kube.resources import XAPPS
from xapp_operator.monitor.live_objects import LiveObject
from xapp_operator.monitor.registry import XAppRegistry


@dataclass(frozen=True, slots=True)
class XAppContext:
    """A request of an authorised caller about an xApp that exists."""

    caller: Caller
    permissions: tuple[Permission, ...]
    query: StrictQuery
    entry: XAppEntry
    registry: XAppRegistry
    host: str
    """The Host header of the request."""

    async def recheck(self) -> None:
        """Check again that the caller may use the xApp like this; raises as `Caller.recheck`."""
        await self.caller.recheck(*self.permissions)

    @property
    def namespace(self) -> str:
        return self.entry.namespace

    @property
    def live_objects(self) -> tuple[LiveObject, ...]:
        """Return the xApp's objects as the watches show them now."""
        return self.registry.objects(self.entry.namespace, self.entry.release)

    async def get_xapp(self) -> JsonObject:
        """Return the XApp as the API server has it now, read with the caller's token.

        Raises:
            GatewayNotFound: when it does not exist.
        """
        try:
            return await self.caller.client.get(XAPPS, self.entry.name, namespace=self.namespace)
        except NotFound:
            raise xapp_not_found(self.namespace, self.entry.name) from None

    def require_xapp_resource(self) -> None:
        """Refuse a change to an xApp that has no XApp resource.

        Raises:
            NoXAppResource: for an xApp that is known by its labels only; the message says how to adopt it.
        """
        if self.entry.source == SOURCE_LABELS:
            raise labels_only_error(self.registry, self.entry)


def xapp_not_found(namespace: str, name: str) -> GatewayNotFound:
    """Return the error for an xApp that does not exist."""
    return GatewayNotFound(
        f"there is no xApp {quote_input(name)} in the namespace {quote_input(namespace)}: look for it in the "
        "list of all xApps, or deploy it"
    ).with_next(NextRequest("GET", "/api/xapps"), NextRequest("POST", "/api/deployment/xapp"))


def xapp_path(namespace: str, name: str, part: str) -> str:
    """Return the path of something that an xApp has, such as its `history`."""
    return f"/api/xapps/{namespace}/{name}/{part}"


def labels_only_error(registry: XAppRegistry, entry: XAppEntry) -> NoXAppResource:
    """Return the error for an xApp that is known by its labels only; the message says how to change it."""
    registration = registry.get(entry.namespace, entry.release)
    subject = (
        f"the xApp {quote_input(entry.name)} in the namespace {quote_input(entry.namespace)} is known by its labels "
        "only: "
    )
    if registration is not None and not registration.made_by_helm:
        return NoXAppResource(
            f"{subject}it was not installed with Helm. To adopt it, create an XApp in this namespace with releaseName: "
            f"{entry.release} and adopt: true: its chart is installed, and takes over those of its objects that exist "
            "already; otherwise change it with the tool that installed it"
        )
    # After its XApp was deleted with the policy Orphan, a release can be adopted only under the same name.
    former_xapp = registration.first_value(lambda labels: labels.registration_label(LABEL_XAPP)) if registration else ""
    named = f"named {former_xapp} " if former_xapp else ""
    return NoXAppResource(
        f"{subject}to adopt it, create an XApp {named}in this namespace with releaseName: {entry.release} and "
        "adopt: true; otherwise change it with helm"
    )
