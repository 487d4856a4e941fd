"""Which network addresses a chart repository may have, and the resolver that keeps to it.

A repository's URL comes from whoever may write an XApp, and the operator sits inside the cluster: it must not become
their way to the metadata service of the cloud or to what listens on loopback beside it. Private ranges are allowed,
repositories inside the cluster live there. What counts is the address that is connected to, so the rule is applied to
resolved addresses, to literal ones, and once more to every socket; a name that resolves differently the second time
(DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

from xapp_operator.errors import AddressRefused

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA_NETWORKS: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.169.254/32",
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google Cloud
    )
)
_THIS_NETWORK: Final = ipaddress.ip_network("0.0.0.0/8")
_BROADCAST: Final = ipaddress.ip_address("255.255.255.255")
_IPV4_EMBEDDING_NETWORKS: Final = (
    tuple(  # the last 32 bits are an IPv4 address: compatible (RFC 4291), NAT64 (RFC 6052, RFC 8215)
        ipaddress.ip_network(network) for network in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")
    )
)


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Decides about addresses; `allow_loopback` is for a repository on the same machine."""

    allow_loopback: bool

    def refusal_reason(self, address: str) -> str | None:
        """Return why an address is refused (`a link-local address`), or None when it is allowed."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return "no IP address"
        return next((reason for one in _embedded_addresses(parsed) if (reason := self._refusal_reason_of(one))), None)

    def _refusal_reason_of(self, ip_address: IpAddress) -> str | None:
        if any(ip_address.version == network.version and ip_address in network for network in _METADATA_NETWORKS):
            return "the metadata address of a cloud"
        if ip_address.is_unspecified or (ip_address.version == _THIS_NETWORK.version and ip_address in _THIS_NETWORK):
            return "an unspecified address"
        if ip_address.is_loopback:
            return None if self.allow_loopback else "a loopback address"
        if ip_address.is_link_local:
            return "a link-local address"
        if ip_address.is_multicast or ip_address == _BROADCAST:
            return "a multicast address"
        return None


def _embedded_addresses(address: IpAddress) -> Iterator[IpAddress]:
    """Yield the address, or the IPv4 address that an IPv6 address carries, which is where packets may end up."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    embedded = [address.ipv4_mapped, address.sixtofour]
    if address.teredo:
        embedded.extend(address.teredo)
    if any(address in network for network in _IPV4_EMBEDDING_NETWORKS) and int(address) > 1:
        embedded.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    yield from (one for one in embedded if one is not None)
    yield address


class GuardedResolver(AbstractResolver):
    """Resolves names with another resolver and keeps the addresses that the rule allows."""

    def __init__(self, resolver: AbstractResolver, *, rule: AddressRule) -> None:
        self._resolver = resolver
        self._rule = rule

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a name. Raises AddressRefused when there are none but others."""
        resolved = await self._resolver.resolve(host, port, family)
        allowed = [one for one in resolved if self._rule.refusal_reason(one["host"]) is None]
        if resolved and not allowed:
            raise address_refused(host, self._rule.refusal_reason(resolved[0]["host"]) or "")
        return allowed

    async def close(self) -> None:
        """Close the resolver underneath."""
        await self._resolver.close()


class SocketRefused(OSError):
    """A socket to an address that the rule does not allow was asked for."""


@dataclass(frozen=True, slots=True)
class SocketFactory:
    """Makes the sockets of the connector, but none to an address that the rule does not allow."""

    rule: AddressRule

    def __call__(self, addr_info: AddrInfoType) -> socket.socket:
        """Return a socket for one result of getaddrinfo. Raises SocketRefused."""
        family, kind, protocol, _, sockaddr = addr_info
        if reason := self.rule.refusal_reason(str(sockaddr[0])):
            raise SocketRefused(reason)
        return socket.socket(family, kind, protocol)


def address_refused(host: str, reason: str) -> AddressRefused:
    """Return the refusal of a repository's host."""
    from_settings = " or set XAPP_ALLOW_LOOPBACK_REPOSITORIES=true" if "loopback" in reason else ""
    return AddressRefused(
        f"the host {host} is refused: it is {reason}, which no chart repository may have. "
        f"Use a repository at another address{from_settings}."
    )
