"""One operator for the tests of this folder, on a cluster of their own, and a gateway for those that need one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.helm_user import HelmUser
from tests.support.own_cluster import cluster, operator, operator_settings, prepared_cluster, xapps
from tests.support.xapps import XAppClient

__all__ = ["cluster", "operator", "operator_settings", "prepared_cluster", "xapps"]


@pytest.fixture
def helm_user(xapps: XAppClient, tmp_path: Path) -> HelmUser:
    """A person who runs helm in the namespace of the test."""
    return HelmUser(xapps.cluster, xapps.namespace, tmp_path)


@pytest.fixture(scope="module")
def gateway(prepared_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that treats every caller as the administrator."""
    with serve_gateway(settings_for(prepared_cluster, tmp_path_factory.mktemp("gateway"))) as one:
        yield one
