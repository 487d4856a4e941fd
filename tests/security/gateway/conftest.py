"""The gateways of tests/integration/gateway."""

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
