"""Parts of an HTTP connector that connect only to addresses that the address rule allows."""

from __future__ import annotations

import socket

from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.errors import AddressRefused


class GuardedResolver(AbstractResolver):
    """Resolves names with another resolver and returns only the addresses that the rule allows."""

    def __init__(self, resolver: AbstractResolver, *, rule: AddressRule) -> None:
        self._resolver = resolver
        self._rule = rule

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a name. Raises AddressRefused when the name has only other addresses."""
        resolved = await self._resolver.resolve(host, port, family)
        allowed = [one for one in resolved if self._rule.refusal_reason(one["host"]) is None]
        if resolved and not allowed:
            raise address_refused(host, self._rule.refusal_reason(resolved[0]["host"]) or "")
        return allowed

    async def close(self) -> None:
        await self._resolver.close()


class SocketRefused(OSError):
    """The address rule does not allow a connection to this address."""


def guarded_socket(rule: AddressRule, addr_info: AddrInfoType) -> socket.socket:
    """Return a socket for one result of getaddrinfo. Raises SocketRefused unless the rule allows its address."""
    family, kind, protocol, _, sockaddr = addr_info
    if reason := rule.refusal_reason(str(sockaddr[0])):
        raise SocketRefused(reason)
    return socket.socket(family, kind, protocol)


def address_refused(host: str, reason: str) -> AddressRefused:
    from_settings = " or set XAPP_ALLOW_LOOPBACK_REPOSITORIES=true" if "loopback" in reason else ""
    return AddressRefused(
        f"the host {host} is refused: it has {reason}, and a chart repository must not have one. "
        f"Use a repository with another address{from_settings}."
    )
