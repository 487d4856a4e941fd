"""The gateways of tests/integration/gateway, and one in front of an xApp with a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.conftest import (
    api,
    authenticated_gateway,
    caller_factory,
    client,
    crds,
    gateway,
    helm_user,
    namespace,
    user_roles,
)
from tests.integration.gateway.proxy.conftest import create_service, create_xapp
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.security.gateway.session_client import SignedInClient, serve_xapp_gateway, sign_in
from tests.support.apiserver import ApiServer
from tests.support.gateway import GatewayServer
from tests.support.xapp_server import XAppServer, serve_xapp

__all__ = [
    "api",
    "authenticated_gateway",
    "caller_factory",
    "client",
    "crds",
    "gateway",
    "helm_user",
    "namespace",
    "user_roles",
]


@pytest.fixture(scope="package")
def xapp_server() -> Iterator[XAppServer]:
    """The API of an xApp."""
    with serve_xapp() as one:
        yield one


@pytest.fixture(scope="package")
def xapp_gateway(
    cluster: Cluster,
    api: ApiServer,
    user_roles: None,
    xapp_server: XAppServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayServer]:
    """A gateway that requires authentication and connects to that API for every Service."""
    with serve_xapp_gateway(cluster, tmp_path_factory.mktemp("sessions"), xapp_server) as one:
        yield one


@pytest.fixture
def session(
    api: ApiServer, caller_factory: CallerFactory, xapp_gateway: GatewayServer, xapp_server: XAppServer
) -> SignedInClient:
    """A session of the editor jane, in a namespace with an xApp."""
    namespace = caller_factory.namespace
    create_xapp(api, namespace)
    create_service(api, namespace, address="192.0.2.5", port=8080)
    made = sign_in(xapp_gateway, caller_factory.create_account("jane", "edit"), namespace=namespace)
    with made.http() as http:
        wait_until(lambda: http.get(f"{made.proxy_path}/json").status_code == 200, timeout=60, what="the xApp")
    xapp_server.requests.clear()
    xapp_server.disconnects.clear()
    return made
