"""The xApp that a request is about, and the errors for one that no XApp resource manages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xapp_operator.common.text import quote_input
from xapp_operator.config import Settings
from xapp_operator.errors import GatewayNotFound, NoXAppResource
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import SOURCE_LABELS, XAppEntry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.monitor.registry import XAppRegistry


class XAppServices(Protocol):
    """What the modules of this package use of the running gateway (`state.Gateway`)."""

    @property
    def settings(self) -> Settings: ...
    @property
    def kube(self) -> KubeClient: ...
    @property
    def store(self) -> XAppRecordStore: ...
    @property
    def registry(self) -> XAppRegistry: ...
    @property
    def deployer(self) -> Deployer: ...
    @property
    def proxy(self) -> XAppProxy: ...
    @property
    def advertise(self) -> AdvertiseAddress: ...


@dataclass(frozen=True, slots=True)
class XAppContext:
    """One request about one xApp, by a caller who may have what was asked for."""

    gateway: XAppServices
    caller: Caller
    query: StrictQuery
    entry: XAppEntry


def require_managed_xapp(context: XAppContext) -> None:
    """Refuse an action on an xApp that no XApp stands for.

    Raises:
        NoXAppResource: for one that is known only by its labels; the message says how to adopt it.
    """
    if context.entry.source == SOURCE_LABELS:
        raise labels_only_error(context.gateway, context.entry)


def xapp_not_found(gateway: XAppServices, *, namespace: str, name: str, hint: str) -> GatewayNotFound | NoXAppResource:
    """Return why no XApp can be acted on: it is known by its labels only, or there is none; then `else_do`."""
    entry = gateway.store.get(namespace, name)
    if entry is not None and entry.source == SOURCE_LABELS:
        return labels_only_error(gateway, entry)
    return GatewayNotFound(f"there is no xApp {quote_input(name)} in the namespace {quote_input(namespace)}: {hint}")


def labels_only_error(gateway: XAppServices, entry: XAppEntry) -> NoXAppResource:
    """Return what tells that an xApp is known by its labels only, and what to do about it."""
    registered = gateway.registry.get(entry.namespace, entry.release)
    subject = (
        f"the xApp {quote_input(entry.name)} in the namespace {quote_input(entry.namespace)} is known by "
        "its labels only: "
    )
    if registered is not None and not registered.made_by_helm:
        return NoXAppResource(
            f"{subject}it was not installed with Helm, so there is no release to adopt; change it with the "
            "means by which "
            "it was made, or remove it and deploy its chart"
        )
    # What an XApp has left behind is its own still: helm's record names it.
    former_xapp = registered.first_value(lambda mark: mark.xapp) if registered is not None else ""
    named = f"named {former_xapp} " if former_xapp else ""
    return NoXAppResource(
        f"{subject}to adopt it, make an XApp {named}in this namespace with releaseName: {entry.release} and "
        "adopt: true; "
        "without that, change it with helm"
    )
