"""Where the API server is and how this process proves who it is, through the official client's configuration loaders.

Lives in `kube` because only this layer imports the Kubernetes client. It takes from it what is hard and changes with
Kubernetes (kubeconfig merging, exec plugins, OIDC refresh, in-cluster tokens) and keeps it fresh while the process
runs: files are read again every minute, exec plugins run again before their answer expires or when the server says 401.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kubernetes.aio import config as loaders
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import kube_config

from xapp_operator.config import Settings
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
"""Brings a configuration up to date; returns the seconds after which it wants to be called again."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """What another client library needs to speak to the same API server as the same user; certificates are PEM."""

    server: str
    token: str | None = field(repr=False)
    ca_data: str | None
    certificate_data: str | None
    private_key_data: str | None = field(repr=False)
    insecure: bool
    proxy: str | None


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """Authority, certificate and key as PEM, and the TLS contexts made of them; all None for plain HTTP.

    `own` shows our client certificate, where we have one; `bare` never does.
    """

    ca_certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = field(default=None, repr=False)
    authenticated_context: ssl.SSLContext | None = field(default=None, compare=False)
    anonymous_context: ssl.SSLContext | None = field(default=None, compare=False)


class ClusterCredentials:
    """The address of one API server and our own identity there, kept fresh."""

    def __init__(
        self, configuration: Configuration, *, refresh: Refresh, first_refresh: float, kubeconfig_path: str | None
    ) -> None:
        self._configuration = configuration
        self._refresh = refresh
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
            KubeError: where none of them gives a server and credentials.
        """
        path = settings.kubeconfig or _default_kubeconfig()
        return await _from_kubeconfig(path) if path else _from_pod()

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, or None where a client certificate or nothing is used."""
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
        """Bring the credentials up to date now, as after a 401; several calls within a few seconds are one."""
        async with self._lock:
            if time.monotonic() - self._refreshed_at >= REFRESH_INTERVAL_MIN_SECONDS:
                await self._refresh_now()

    async def connection(self) -> ConnectionInfo:
        """Return the connection as it is now; ask again when its token has expired."""
        authorization = await self.authorization()
        return ConnectionInfo(
            server=self.server,
            token=authorization.removeprefix(BEARER) if authorization and authorization.startswith(BEARER) else None,
            ca_data=self.tls.ca_certificate,
            certificate_data=self.tls.client_certificate,
            private_key_data=self.tls.client_key,
            insecure=not self._configuration.verify_ssl,
            proxy=self.proxy,
        )

    async def _refresh_now(self) -> None:
        try:
            wait = await self._refresh()
            tls = _load_tls(self._configuration)
            if tls != self.tls:
                self.tls = tls
        except (loaders.ConfigException, OSError, ValueError) as error:
            # What was good a minute ago often still is: a file that is being replaced, a plugin without network.
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
    except Exception as error:
        # The loader lets TypeError, KeyError, YAML and OS errors through, whose texts hold paths and file contents.
        raise KubeError(
            "the kubeconfig named by KUBECONFIG cannot be used: it must exist, be YAML and its current-context must "
            f"name a cluster and a user ({type(error).__name__})",
            permanent=True,
        ) from error
    if urlsplit(str(configuration.host)).scheme == "https" and not (
        configuration.api_key.get("BearerToken") or configuration.cert_file
    ):
        raise KubeError(
            "the kubeconfig gives no credentials: its user has no token and no certificate, or its plugin failed",
            permanent=True,
        )
    user = getattr(loader, "_user", None)
    is_renewable = user is not None and any(key in user for key in _RENEWABLE)

    def next_refresh() -> float:
        expiry = getattr(loader, "exec_plugin_expiry", None)
        if isinstance(expiry, datetime):
            left = (expiry - datetime.now(tz=UTC)).total_seconds()
            return max(left - EXPIRY_MARGIN_SECONDS, REFRESH_INTERVAL_MIN_SECONDS)
        return REFRESH_SECONDS if is_renewable else math.inf

    async def refresh() -> float:
        # The loader knows for every kind of credentials how to renew it; an exec plugin it asks again only when it
        # has forgotten the expiry of the last answer.
        vars(loader).pop("exec_plugin_expiry", None)
        await loader.load_and_set(configuration)
        return next_refresh()

    return ClusterCredentials(configuration, refresh=refresh, first_refresh=next_refresh(), kubeconfig_path=path)


def _from_pod() -> ClusterCredentials:
    configuration = Configuration()
    try:
        loaders.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except loaders.ConfigException as error:
        raise KubeError(
            "no cluster is configured: set KUBECONFIG, or run in a pod with a service account", permanent=True
        ) from error

    async def refresh() -> float:
        # Reads the projected token again, at most once a minute, as the loader's own hook does.
        hook: Callable[[Configuration], None] | None = configuration.refresh_api_key_hook
        if hook is not None:
            hook(configuration)
        return REFRESH_SECONDS

    return ClusterCredentials(configuration, refresh=refresh, first_refresh=REFRESH_SECONDS, kubeconfig_path=None)


def _load_tls(configuration: Configuration) -> TlsConfig:
    """Read what the configuration names into memory, and remove the files that the loader made of embedded data."""
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
    # As kubectl does: many cluster authorities lack the extensions that Python 3.13 asks for by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy_url(configuration: Configuration, *, in_cluster: bool) -> str | None:
    # Python reads NO_PROXY without the address ranges that Go knows, so a pod, which reaches its server by a cluster
    # address, never goes through a proxy of the environment.
    if configuration.proxy or in_cluster:
        return configuration.proxy
    server = urlsplit(str(configuration.host))
    if not server.hostname or is_loopback(server.hostname) or proxy_bypass(server.hostname):
        return None
    return getproxies().get(server.scheme)
