"""Decides where the gateway is and who the caller is. The first source that answers counts.

| where                                   | who                                                             |
|---|---|
| --gateway                               | --token                                                         |
| XAPP_GATEWAY                            | XAPP_TOKEN                                                      |
| `xapp login`                            | `xapp login`, for the gateway that it was for                   |
| Service xapp-gateway of the kubeconfig's cluster | the kubeconfig: token file, token, credential plugin   |
| http://127.0.0.1:31315                  |                                                                 |
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import httpx

from xapp_operator.cli.connection.cluster_lookup import LOOKUP_SECONDS, find_gateway
from xapp_operator.cli.connection.kubeconfig import Kubeconfig, read_kubeconfig
from xapp_operator.cli.connection.login_file import Login, login_path, read_login
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.http.addresses import leads_to_loopback
from xapp_operator.config.command_line import CommandLineSettings

DEFAULT_GATEWAY: Final = "http://127.0.0.1:31315"
DEFAULT: Final = "the default"
QUICK_LOOKUP_SECONDS: Final = 1.0
PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True)
class Where:
    """The gateway, and what named it."""

    url: str
    found_by: str
    ca: Path | None


@dataclass(frozen=True, slots=True)
class Who:
    """The token, and what gave it. Without a token, the caller is nobody."""

    token: str | None = field(repr=False)
    found_by: str


class Resolution:
    """Resolves each part when it is first needed.

    Args:
        gateway, token, ca: the options of the command.
        settings: the environment.
        home: the user's folder.
        quick: whether nothing may ask or take long, as while a shell completes a name.
    """

    def __init__(
        self,
        *,
        gateway: str | None,
        token: str | None,
        ca: Path | None,
        settings: CommandLineSettings,
        home: Path,
        quick: bool = False,
    ) -> None:
        self._gateway = gateway
        self._token = token
        self._ca = ca
        self._settings = settings
        self._home = home
        self._quick = quick

    @property
    def token_option(self) -> str | None:
        """Return the option --token."""
        return self._token

    @property
    def ca_option(self) -> Path | None:
        """Return the option --ca."""
        return self._ca

    @property
    def login_path(self) -> Path:
        """Return where `xapp login` keeps the sign-in."""
        return login_path(self._settings.config_home, home=self._home)

    @cached_property
    def login(self) -> Login | None:
        """Return the sign-in, if there is one."""
        return read_login(self.login_path)

    @cached_property
    def kubeconfig(self) -> Kubeconfig | None:
        """Return the current context of the kubeconfig, if there is one."""
        return read_kubeconfig(self._settings.kubeconfig, home=self._home)

    @cached_property
    def where(self) -> Where:
        """Return the gateway.

        Raises:
            UsageError: an address is not one.
            NotAllowed: nothing names it, and the user may not look it up in the cluster.
        """
        if self._gateway:
            return Where(checked_url(self._gateway, source="--gateway"), "from --gateway", self._ca_for(self._gateway))
        if self._settings.gateway:
            url = checked_url(self._settings.gateway, source="XAPP_GATEWAY")
            return Where(url, "from XAPP_GATEWAY", self._ca_for(url))
        if self.login is not None:
            url = checked_url(self.login.gateway, source=str(self.login_path))
            return Where(url, "from `xapp login`", self._ca_for(url))
        if found := self._in_cluster():
            return Where(found, "from the kubeconfig's cluster", self._ca)
        return Where(DEFAULT_GATEWAY, DEFAULT, self._ca)

    @cached_property
    def who(self) -> Who:
        """Return the caller.

        Raises:
            UsageError: a token has characters that no token has.
            CliError: the token file or the credential plugin of the kubeconfig fails.
        """
        if self._token:
            return Who(checked_token(self._token, source="--token"), "--token")
        if self._settings.token:
            return Who(checked_token(self._settings.token, source="XAPP_TOKEN"), "XAPP_TOKEN")
        if self.login is not None and _same_gateway(self.login.gateway, self.where.url):
            return Who(self.login.token, "xapp login")
        if self._may_use_kubeconfig and self._kubeconfig_token:
            return Who(checked_token(self._kubeconfig_token, source="the kubeconfig"), "the kubeconfig")
        return Who(None, "nobody")

    @property
    def namespace(self) -> str | None:
        """Return the namespace of the sign-in, or else of the kubeconfig's context."""
        if self.login is not None and self.login.namespace and _same_gateway(self.login.gateway, self.where.url):
            return self.login.namespace
        return self.kubeconfig.namespace if self.kubeconfig is not None else None

    @property
    def _may_use_kubeconfig(self) -> bool:
        """Return whether the gateway may get the token: not by default, if the cluster is on another machine."""
        return self.where.found_by != DEFAULT or (
            self.kubeconfig is not None and leads_to_loopback(self.kubeconfig.server)
        )

    @cached_property
    def _kubeconfig_token(self) -> str | None:
        return self.kubeconfig.bearer_token(interactive=not self._quick) if self.kubeconfig is not None else None

    def _in_cluster(self) -> str | None:
        if self.kubeconfig is None:
            return None
        token: str | None = None
        if self.kubeconfig.client_certificate() is None:
            with contextlib.suppress(CliError):  # who the caller is may come from elsewhere
                token = self._kubeconfig_token
        seconds = QUICK_LOOKUP_SECONDS if self._quick else LOOKUP_SECONDS
        return find_gateway(self.kubeconfig, token=token, seconds=seconds)

    def _ca_for(self, url: str) -> Path | None:
        if self._ca is not None:
            return self._ca
        if self.login is not None and self.login.ca and _same_gateway(self.login.gateway, url):
            return Path(self.login.ca)
        return None


def checked_url(url: str, *, source: str) -> str:
    """Return the base URL of a gateway without a slash at its end. Raises UsageError if it is not one."""
    address = url if "://" in url else f"http://{url}"
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    is_server = parsed.scheme in {"http", "https"} and bool(parsed.host) and (parsed.port or 1) <= PORT_MAX
    if not is_server or parsed.userinfo or parsed.query or parsed.fragment:
        raise UsageError(f"{source} must be http://HOST:PORT or https://HOST:PORT, without user, query and fragment")
    return address.rstrip("/")


def checked_token(token: str, *, source: str) -> str:
    """Return a token without white space around it. Raises UsageError if it cannot be one; the message has no token."""
    stripped = token.strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise UsageError(f"{source} is no bearer token: a token is one word of ASCII characters")
    return stripped


def _same_gateway(one: str, other: str) -> bool:
    return one.rstrip("/").lower() == other.rstrip("/").lower()
