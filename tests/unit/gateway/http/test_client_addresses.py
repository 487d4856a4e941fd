"""Which address counts as the client's, behind proxies that are trusted and others that are not."""

from __future__ import annotations

import pytest

from tests.unit.gateway.http.requests import make_request
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.requests.client_addresses import ClientAddresses, client_key, parse_address

TRUSTED = ("10.0.0.0/8", "2001:db8:1::/48")


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),  # not a proxy that is trusted
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("2001:db8:1::5", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.9, garbage", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, garbage, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"),
        ("unix", "203.0.113.9", "unix"),
        (None, "203.0.113.9", ""),
    ],
)
def test_the_client_is_the_last_address_that_is_no_trusted_proxy(
    peer: str | None, forwarded: str | None, expected: str
) -> None:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    addresses = ClientAddresses.from_settings(Settings(trusted_proxies=TRUSTED))
    assert addresses.of(make_request(client=peer, headers=headers)) == expected


def test_without_trusted_proxies_the_header_does_not_count() -> None:
    request = make_request(client="10.0.0.1", headers={"X-Forwarded-For": "203.0.113.9"})
    assert ClientAddresses.from_settings(Settings()).of(request) == "10.0.0.1"


@pytest.mark.parametrize(
    ("peer", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:2:3:4::5", "2001:db8:2:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("unix", ""),
    ],
)
def test_limits_count_an_address_or_the_network_of_one_ipv6_client(peer: str, key: str) -> None:
    assert ClientAddresses(()).key_of(make_request(client=peer)) == key
    address = parse_address(peer)
    assert key == ("" if address is None else client_key(address))
