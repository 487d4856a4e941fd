"""Which network addresses the operator and the gateway may connect to on behalf of a user.

Repository URLs and Services come from people who can create XApps, and both processes run inside the cluster. The rule
keeps these people away from the metadata service of the cloud and from whatever listens on loopback. Private ranges are
allowed, because repositories and pods inside the cluster have such addresses. Apply the rule to the address that you
connect to, not to a name: a name may resolve differently the second time (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

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
    """Allows or refuses addresses; `allow_loopback` is for a repository on the same machine."""

    allow_loopback: bool

    def refusal_reason(self, address: str) -> str | None:
        """Return why an address is refused (`a link-local address`), or None when it is allowed."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return "an invalid address"
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
    """Yield the address and every IPv4 address embedded in it, where packets may go instead."""
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


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback name or address, judged by its text alone."""
    name = host.lower().rstrip(".").removeprefix("[").removesuffix("]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
