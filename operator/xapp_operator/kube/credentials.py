"""The address of the API server and the identity of this process, from the official client's configuration loaders.

The loaders know kubeconfig merging, exec plugins, OIDC refresh and in-cluster tokens. This module keeps the result
fresh while the process runs: it reads files again every minute, and runs an exec plugin again before its credentials
expire or when the server responds 401.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kubernetes.aio import config as loaders
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import kube_config

from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import KubeError
from xapp_operator.telemetry.logs import get_logger

REFRESH_SECONDS: Final = 60.0
EXPIRY_MARGIN_SECONDS: Final = 30.0
REFRESH_INTERVAL_MIN_SECONDS: Final = 5.0
BEARER: Final = "Bearer "
DEFAULT_KUBECONFIG: Final = "~/.kube/config"
_RENEWABLE: Final = frozenset({"auth-provider", "tokenFile", "client-certificate"})

Refresh: TypeAlias = Callable[[], Awaitable[float]]
"""Refreshes a configuration; returns the seconds until the next refresh."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """What another client library needs to connect to the same API server as the same user; certificates are PEM."""

    server: str
    token: str | None = field(repr=False)
    ca_data: str | None
    certificate_data: str | None
    private_key_data: str | None = field(repr=False)
    insecure: bool
    proxy: str | None
    tls_server_name: str | None = None

    def with_token(self, token: str) -> ConnectionInfo:
        """Return the connection of the owner of `token`: without our own client certificate and token."""
        return replace(self, token=token, certificate_data=None, private_key_data=None)


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """CA, client certificate and key as PEM, and the TLS contexts made of them; all None for plain HTTP.

    `authenticated_context` presents our client certificate, if there is one; `anonymous_context` never does.
    """

    ca_certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = field(default=None, repr=False)
    authenticated_context: ssl.SSLContext | None = field(default=None, compare=False)
    anonymous_context: ssl.SSLContext | None = field(default=None, compare=False)

    def context(self, *, own_credentials: bool) -> ssl.SSLContext | None:
        return self.authenticated_context if own_credentials else self.anonymous_context


class ClusterCredentials:
    """The address of one API server and our own, regularly refreshed identity there."""

    def __init__(
        self, configuration: Configuration, *, refresh: Refresh, first_refresh: float, kubeconfig_path: str | None
    ) -> None:
        self._configuration = configuration
        self._refresh = refresh
        # Not a SingleFlight: a caller that has waited refreshes again only if the last refresh is too old.
        self._lock = asyncio.Lock()
        self._refreshed_at = -math.inf
        self._refresh_due_at = time.monotonic() + first_refresh
        self.kubeconfig_path = kubeconfig_path
        self.server = str(configuration.host).rstrip("/")
        self.tls_server_name = configuration.tls_server_name
        self.proxy = _proxy_url(configuration, in_cluster=kubeconfig_path is None)
        self.tls = _load_tls(configuration)

    @classmethod
    async def load(cls, settings: Settings) -> ClusterCredentials:
        """Return the credentials of the kubeconfig in `settings`, of `~/.kube/config`, or of the pod, in this order.

        Raises:
            KubeError: when none of them has a server and credentials.
        """
        path = settings.kubeconfig or _default_kubeconfig()
        return await _from_kubeconfig(path) if path else _from_pod()

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, or None when we use a client certificate or nothing."""
        if time.monotonic() >= self._refresh_due_at:
            async with self._lock:
                if time.monotonic() >= self._refresh_due_at:
                    await self._refresh_now()
        value = self._configuration.api_key.get("BearerToken")
        if not value:
            return None
        scheme, _, secret = value.strip().partition(" ")
        return f"{scheme.title()} {secret.strip()}"

    async def refresh(self) -> None:
        """Refresh the credentials now, as after a 401; calls within a few seconds share one refresh."""
        async with self._lock:
            if time.monotonic() - self._refreshed_at >= REFRESH_INTERVAL_MIN_SECONDS:
                await self._refresh_now()

    async def connection(self) -> ConnectionInfo:
        """Return the connection as it is now; call it again when the token has expired."""
        authorization = await self.authorization()
        return ConnectionInfo(
            server=self.server,
            token=authorization.removeprefix(BEARER) if authorization and authorization.startswith(BEARER) else None,
            ca_data=self.tls.ca_certificate,
            certificate_data=self.tls.client_certificate,
            private_key_data=self.tls.client_key,
            insecure=not self._configuration.verify_ssl,
            proxy=self.proxy,
            tls_server_name=self.tls_server_name,
        )

    async def _refresh_now(self) -> None:
        try:
            wait = await self._refresh()
            tls = _load_tls(self._configuration)
            if tls != self.tls:
                self.tls = tls
        except (loaders.ConfigException, OSError, ValueError) as error:
            # Keep the old credentials, which often still work: a file is being replaced, or a plugin has no network.
            wait = REFRESH_INTERVAL_MIN_SECONDS
            _log.warning("credentials not refreshed", error=type(error).__name__)
        self._refreshed_at = time.monotonic()
        self._refresh_due_at = self._refreshed_at + wait


def _default_kubeconfig() -> str | None:
    path = Path(DEFAULT_KUBECONFIG).expanduser()
    return str(path) if path.is_file() else None


async def _from_kubeconfig(path: str) -> ClusterCredentials:
    configuration = Configuration()
    try:
        loader = await loaders.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=path, client_configuration=configuration, persist_config=False
        )
        is_renewable = _is_renewable(path)
    except Exception as error:
        # The loader raises TypeError, KeyError, YAML and OS errors, whose texts contain paths and file contents.
        raise KubeError(
            "the kubeconfig named by KUBECONFIG cannot be used: it must exist, be YAML and its current-context must "
            f"name a cluster and a user ({type(error).__name__})",
            permanent=True,
        ) from error
    if urlsplit(str(configuration.host)).scheme == "https" and not (
        configuration.api_key.get("BearerToken") or configuration.cert_file
    ):
        raise KubeError(
            "the kubeconfig has no credentials: its user has no token and no certificate, or its plugin failed",
            permanent=True,
        )

    def next_refresh() -> float:
        expiry = getattr(loader, "exec_plugin_expiry", None)
        if isinstance(expiry, datetime):
            left = (expiry - datetime.now(tz=UTC)).total_seconds()
            return max(left - EXPIRY_MARGIN_SECONDS, REFRESH_INTERVAL_MIN_SECONDS)
        return REFRESH_SECONDS if is_renewable else math.inf

    async def refresh() -> float:
        # The loader can renew every kind of credentials, but runs an exec plugin again only when it has no expiry of
        # the last run.
        vars(loader).pop("exec_plugin_expiry", None)
        await loader.load_and_set(configuration)
        return next_refresh()

    return ClusterCredentials(configuration, refresh=refresh, first_refresh=next_refresh(), kubeconfig_path=path)


def _is_renewable(path: str) -> bool:
    """Return whether the credentials of the kubeconfig's current user can be renewed by loading them again."""
    config = kube_config.KubeConfigMerger(path).config  # type: ignore[no-untyped-call]
    context = config["contexts"].get_with_name(config["current-context"])["context"]
    named = config["users"].get_with_name(context["user"], safe=True) if "user" in context else None
    return named is not None and any(key in named["user"] for key in _RENEWABLE)


def _from_pod() -> ClusterCredentials:
    configuration = Configuration()
    try:
        loaders.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except loaders.ConfigException as error:
        raise KubeError(
            "no cluster is configured: set KUBECONFIG, or run in a pod with a service account", permanent=True
        ) from error

    async def refresh() -> float:
        # The loader's hook reads the projected token again, at most once a minute.
        hook: Callable[[Configuration], None] | None = configuration.refresh_api_key_hook
        if hook is not None:
            hook(configuration)
        return REFRESH_SECONDS

    return ClusterCredentials(configuration, refresh=refresh, first_refresh=REFRESH_SECONDS, kubeconfig_path=None)


def _load_tls(configuration: Configuration) -> TlsConfig:
    """Read certificates and key into memory, and remove the files that the loader wrote for embedded data.

    The loader has no public way to remove them before the process ends.
    """
    if urlsplit(str(configuration.host)).scheme != "https":
        return TlsConfig()
    try:
        authority, certificate, key = (
            Path(file).read_text() if file else None
            for file in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        )
        own = bare = _tls_context_of(configuration)
        if configuration.cert_file:
            own = _tls_context_of(configuration)
            own.load_cert_chain(configuration.cert_file, configuration.key_file)
        return TlsConfig(authority, certificate, key, own, bare)
    finally:
        kube_config._cleanup_temp_files()  # type: ignore[no-untyped-call]


def _tls_context_of(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # Like kubectl: many cluster CAs lack the extensions that Python 3.13 requires by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy_url(configuration: Configuration, *, in_cluster: bool) -> str | None:
    # Python's NO_PROXY does not support the address ranges that Go supports. So a pod, which connects to a cluster
    # address, never uses a proxy from the environment.
    if configuration.proxy or in_cluster:
        return configuration.proxy
    server = urlsplit(str(configuration.host))
    if not server.hostname or is_loopback(server.hostname) or proxy_bypass(server.hostname):
        return None
    return getproxies().get(server.scheme)
