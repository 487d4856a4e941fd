"""The address of the client of a request, also behind proxies that the administrator trusts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final, Self, TypeAlias

from starlette.requests import HTTPConnection

from xapp_operator.config.settings import Settings

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_IPV6_CLIENT_PREFIX: Final = 64
"""One client of IPv6 has all addresses of such a network."""


class ClientAddresses:
    """Tells where requests come from."""

    def __init__(self, trusted_proxies: Iterable[IpNetwork]) -> None:
        """Trust X-Forwarded-For of proxies in these networks: the last address in it that is not a proxy itself."""
        self._trusted_proxies = tuple(trusted_proxies)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(ipaddress.ip_network(each) for each in settings.trusted_proxies)

    def of(self, connection: HTTPConnection) -> str:
        """Return the address of the client; it is empty if it is not known."""
        peer = connection.client.host if connection.client else ""
        if not self._is_trusted(parse_address(peer)):
            return peer
        forwarded = ",".join(connection.headers.getlist("x-forwarded-for")).split(",")
        for value in reversed(forwarded):
            address = parse_address(value.strip())
            if address is None:
                break
            peer = str(address)
            if not self._is_trusted(address):
                break
        return peer

    def key_of(self, connection: HTTPConnection) -> str:
        """Return the key under which limits count the client; it is empty if the address is not known."""
        address = parse_address(self.of(connection))
        return "" if address is None else client_key(address)

    def _is_trusted(self, address: IpAddress | None) -> bool:
        return address is not None and any(address in network for network in self._trusted_proxies)


def client_key(address: IpAddress) -> str:
    """Return the key under which limits count a client: its address, or for IPv6 the network of it."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_CLIENT_PREFIX), strict=False))
    return str(address)


def parse_address(text: str) -> IpAddress | None:
    """Return the address, IPv4 if it is one in IPv6, or None if the text is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
