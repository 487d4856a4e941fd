"""Which network addresses the operator and the gateway may connect to on behalf of a user.

Repository URLs and Services come from people who can create XApps, and both processes run inside the cluster. The rule
keeps these people away from the metadata service of the cloud and from whatever listens on loopback. Private ranges are
allowed, because repositories and pods inside the cluster have such addresses. Apply the rule to the address that you
connect to, not to a name: a name may resolve differently the second time (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

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
class DeniedNetwork:
    """A network that is refused besides the special ones; `reason` says what its addresses are."""

    network: IpNetwork
    reason: str


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Allows or refuses addresses.

    `allow_loopback` is for a repository on the same machine; it alone decides about loopback addresses.
    """

    allow_loopback: bool
    denied: tuple[DeniedNetwork, ...] = ()

    def refusal_reason(self, address: str) -> str | None:
        """Return why an address is refused (`a link-local address`), or None when it is allowed."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return "an invalid address"
        return next((reason for one in _embedded_addresses(parsed) if (reason := self._refusal_reason_of(one))), None)

    def _refusal_reason_of(self, ip_address: IpAddress) -> str | None:
        if ip_address.is_loopback:
            return None if self.allow_loopback else "a loopback address"
        special = next((reason for reason, applies in _SPECIAL_ADDRESSES if applies(ip_address)), None)
        return special or next((each.reason for each in self.denied if ip_address in each.network), None)


def _is_multicast(address: IpAddress) -> bool:
    return address.is_multicast or address == _BROADCAST


_SPECIAL_ADDRESSES: Final[tuple[tuple[str, Callable[[IpAddress], bool]], ...]] = (
    ("the metadata address of a cloud", lambda address: any(address in each for each in _METADATA_NETWORKS)),
    ("an unspecified address", lambda address: address.is_unspecified or address in _THIS_NETWORK),
    ("a link-local address", lambda address: address.is_link_local),
    ("a site-local address", lambda address: isinstance(address, ipaddress.IPv6Address) and address.is_site_local),
    ("a multicast address", _is_multicast),
)


def parse_networks(texts: Iterable[str], *, reason: str) -> tuple[DeniedNetwork, ...]:
    """Return the networks of addresses and CIDRs (`10.0.0.1`, `fd00::/8`). Raises ValueError for anything else."""
    return tuple(DeniedNetwork(ipaddress.ip_network(text, strict=False), reason) for text in texts)


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
