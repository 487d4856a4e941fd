"""Where the API server is and how this process proves who it is, through the official client's configuration loaders.

Lives in `kube` because only this layer imports the Kubernetes client. It takes from it what is hard and changes with
Kubernetes (kubeconfig merging, exec plugins, OIDC refresh, in-cluster tokens) and keeps it fresh while the process
runs: tokens in files are read again, exec plugins run again before their answer expires or when the server says 401.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kubernetes.aio import config as kube_config
from kubernetes.aio.client import Configuration

from xapp_operator.config import Settings
from xapp_operator.errors import KubeError

TOKEN_FILE_REREAD_SECONDS: Final = 60.0
EXPIRY_MARGIN_SECONDS: Final = 30.0
FORCED_REFRESH_INTERVAL_SECONDS: Final = 5.0
DEFAULT_KUBECONFIG: Final = "~/.kube/config"

_Refresh = Callable[[], Awaitable[float]]
"""Brings the configuration up to date; returns after how many seconds it wants to be called again."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What another client library needs to speak to the same API server as the same user."""

    server: str
    token: str | None
    ca_path: str | None
    ca_data: str | bytes | None
    certificate_path: str | None
    private_key_path: str | None
    insecure: bool
    proxy: str | None


class Credentials:
    """The address of one API server and our own identity there, kept fresh.

    `certificate` changes when the client certificate or its key does, and is empty without one.
    """

    def __init__(
        self, configuration: Configuration, *, refresh: _Refresh, first_refresh: float, kubeconfig_path: str | None
    ) -> None:
        self._configuration = configuration
        self._refresh = refresh
        self._lock = asyncio.Lock()
        self._refreshed = -math.inf
        self._due = time.monotonic() + first_refresh
        self.kubeconfig_path = kubeconfig_path
        self.proxy = _proxy(configuration, in_cluster=kubeconfig_path is None)
        self.certificate = _certificate_digest(configuration)

    @classmethod
    async def load(cls, settings: Settings) -> Credentials:
        """Return the credentials of the kubeconfig in `settings`, of `~/.kube/config`, or of the pod, in this order.

        Raises:
            KubeError: where none of them gives a server and credentials.
        """
        path = settings.kubeconfig or _default_kubeconfig()
        return await _from_kubeconfig(path) if path else _from_pod()

    @property
    def server(self) -> str:
        """Return the base URL of the API server, without a slash at its end."""
        return str(self._configuration.host).rstrip("/")

    @property
    def tls_server_name(self) -> str | None:
        """Return the name to expect in the server's certificate, where it is not the host of the URL."""
        return self._configuration.tls_server_name

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, or None where a client certificate or nothing is used."""
        if time.monotonic() >= self._due:
            async with self._lock:
                if time.monotonic() >= self._due:
                    await self._run_refresh()
        value = self._configuration.api_key.get("BearerToken")
        return value.strip() if value else None

    async def refresh(self) -> None:
        """Bring the credentials up to date now, as after a 401; several calls within a few seconds are one."""
        async with self._lock:
            if time.monotonic() - self._refreshed >= FORCED_REFRESH_INTERVAL_SECONDS:
                await self._run_refresh()

    async def connection(self) -> Connection:
        """Return the connection as it is now; ask again when its token has expired."""
        authorization = await self.authorization()
        configuration = self._configuration
        return Connection(
            server=self.server,
            token=authorization.removeprefix("Bearer ") if authorization else None,
            ca_path=configuration.ssl_ca_cert,
            ca_data=configuration.ca_cert_data,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
            insecure=not configuration.verify_ssl,
            proxy=self.proxy,
        )

    def ssl_context(self, *, client_certificate: bool) -> ssl.SSLContext | None:
        """Return the TLS context for this server, or None for plain HTTP; with our certificate only when asked."""
        if urlsplit(self.server).scheme != "https":
            return None
        configuration = self._configuration
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
        # As kubectl does: many cluster authorities lack the extensions that Python 3.13 asks for by default.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if client_certificate and configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
        return context

    async def _run_refresh(self) -> None:
        wait = await self._refresh()
        self.certificate = _certificate_digest(self._configuration)
        self._refreshed = time.monotonic()
        self._due = self._refreshed + wait


def _default_kubeconfig() -> str | None:
    path = Path(DEFAULT_KUBECONFIG).expanduser()
    return str(path) if path.is_file() else None


async def _from_kubeconfig(path: str) -> Credentials:
    configuration = Configuration()
    try:
        loader = await kube_config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=path, client_configuration=configuration, persist_config=False
        )
    except Exception as error:
        # The loader lets TypeError, KeyError, yaml and OS errors through, whose texts hold paths and file contents.
        raise KubeError(
            "the kubeconfig named by KUBECONFIG cannot be used: it must exist, be YAML and its current-context must "
            f"name a cluster and a user ({type(error).__name__})",
            permanent=True,
        ) from error

    user = getattr(loader, "_user", None)
    runs_plugin = user is not None and "exec" in user

    def next_refresh() -> float:
        expiry = getattr(loader, "exec_plugin_expiry", None)
        if isinstance(expiry, datetime):
            left = (expiry - datetime.now(tz=UTC)).total_seconds()
            return max(left - EXPIRY_MARGIN_SECONDS, FORCED_REFRESH_INTERVAL_SECONDS)
        return math.inf if runs_plugin else TOKEN_FILE_REREAD_SECONDS

    async def refresh() -> float:
        # The loader knows for every kind of credentials how to renew it; an exec plugin it asks again only when it
        # has forgotten the expiry of the last answer.
        vars(loader).pop("exec_plugin_expiry", None)
        await loader.load_and_set(configuration)
        return next_refresh()

    if urlsplit(str(configuration.host)).scheme == "https" and not (
        configuration.api_key.get("BearerToken") or configuration.cert_file
    ):
        raise KubeError(
            "the kubeconfig gives no credentials: its user has no token and no certificate, or its plugin failed",
            permanent=True,
        )
    return Credentials(configuration, refresh=refresh, first_refresh=next_refresh(), kubeconfig_path=path)


def _from_pod() -> Credentials:
    configuration = Configuration()
    try:
        kube_config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except kube_config.ConfigException as error:
        raise KubeError(
            "no cluster is configured: set KUBECONFIG, or run in a pod with a service account", permanent=True
        ) from error

    async def refresh() -> float:
        # Reads the projected token again, at most once a minute, as the loader's own hook does.
        hook: Callable[[Configuration], None] | None = configuration.refresh_api_key_hook
        if hook is not None:
            hook(configuration)
        return TOKEN_FILE_REREAD_SECONDS

    return Credentials(configuration, refresh=refresh, first_refresh=TOKEN_FILE_REREAD_SECONDS, kubeconfig_path=None)


def _certificate_digest(configuration: Configuration) -> str:
    if not configuration.cert_file:
        return ""
    files = (configuration.cert_file, configuration.key_file)
    return hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in files if file)).hexdigest()


def _proxy(configuration: Configuration, *, in_cluster: bool) -> str | None:
    # Python reads NO_PROXY without the address ranges that Go knows, so a pod, which reaches its server by a cluster
    # address, never goes through a proxy of the environment.
    if configuration.proxy or in_cluster:
        return configuration.proxy
    server = urlsplit(str(configuration.host))
    if not server.hostname or server.hostname in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(server.hostname):
        return None
    return getproxies().get(server.scheme)
