"""Which addresses a connection may have."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import must_occur, occurred
from tests.unit.charts.http_site import StaticResolver
from xapp_operator.charts.downloader import GuardedResolver, SocketRefused, guarded_socket
from xapp_operator.domain.address_rule import AddressRule, is_loopback, parse_networks
from xapp_operator.errors import AddressRefused

RULE = AddressRule(allow_loopback=False)
LOCAL_RULE = AddressRule(allow_loopback=True)


@pytest.mark.parametrize("address", ["10.0.0.1", "172.16.3.4", "192.168.1.1", "8.8.8.8", "fd12::1", "2001:4860::8888"])
def test_private_and_public_addresses_are_allowed(address: str) -> None:
    assert RULE.refusal_reason(address) is None


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "a loopback address"),
        ("127.8.9.10", "a loopback address"),
        ("::1", "a loopback address"),
        ("::ffff:127.0.0.1", "a loopback address"),
        ("::127.0.0.1", "a loopback address"),
        ("64:ff9b::127.0.0.1", "a loopback address"),
        ("2002:7f00:1::", "a loopback address"),
        ("0.0.0.0", "an unspecified address"),
        ("0.1.2.3", "an unspecified address"),
        ("::", "an unspecified address"),
        ("::2", "an unspecified address"),
        ("169.254.1.1", "a link-local address"),
        ("fe80::1", "a link-local address"),
        ("fe80::1%eth0", "a link-local address"),
        ("169.254.169.254", "the metadata address of a cloud"),
        ("::ffff:169.254.169.254", "the metadata address of a cloud"),
        ("64:ff9b::a9fe:a9fe", "the metadata address of a cloud"),
        ("fd00:ec2::254", "the metadata address of a cloud"),
        ("100.100.100.200", "the metadata address of a cloud"),
        ("168.63.129.16", "the metadata address of a cloud"),
        ("192.0.0.192", "the metadata address of a cloud"),
        ("fd20:ce::254", "the metadata address of a cloud"),
        ("2001:0:a9fe:a9fe::1", "the metadata address of a cloud"),
        ("2001:0:808:808::5601:5601", "the metadata address of a cloud"),
        ("fec0::1", "a site-local address"),
        ("224.0.0.1", "a multicast address"),
        ("ff02::1", "a multicast address"),
        ("255.255.255.255", "a multicast address"),
        ("2130706433", "an invalid address"),
        ("127.1", "an invalid address"),
    ],
)
def test_special_purpose_addresses_are_refused(address: str, reason: str) -> None:
    assert RULE.refusal_reason(address) == reason


def test_a_denied_network_is_refused_with_its_reason() -> None:
    denied = parse_networks(["10.2.3.4/16", "fd01::/16"], reason="an address of a node")
    rule = AddressRule(allow_loopback=False, denied=denied)
    for address in ("10.2.0.1", "fd01::1", "::ffff:10.2.0.1"):
        assert rule.refusal_reason(address) == "an address of a node"
    assert rule.refusal_reason("10.3.0.1") is None


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_loopback_setting_allows_only_loopback(address: str) -> None:
    assert LOCAL_RULE.refusal_reason(address) is None
    assert LOCAL_RULE.refusal_reason("169.254.169.254") == "the metadata address of a cloud"
    assert LOCAL_RULE.refusal_reason("0.0.0.0") == "an unspecified address"


@must_occur(refused=10)
@given(st.ip_addresses(v=4))
def test_another_spelling_of_a_refused_address_is_refused(address: object) -> None:
    if RULE.refusal_reason(str(address)):
        occurred("refused")
        for spelling in (f"::ffff:{address}", f"64:ff9b::{address}", f"64:ff9b:1::{address}"):
            assert RULE.refusal_reason(spelling)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "ui.localhost", "127.9.9.9", "::1", "[::1]"])
def test_a_loopback_host_is_told_by_its_text(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["evillocalhost", "localhost.evil.com", "127.0.0.1.nip.io", "2130706433", "[::2]", ""])
def test_another_host_is_no_loopback_host(host: str) -> None:
    assert not is_loopback(host)


async def test_of_several_addresses_only_the_allowed_are_used() -> None:
    resolver = GuardedResolver(StaticResolver(mixed=[["169.254.169.254", "10.1.2.3", "127.0.0.1"]]), rule=lambda: RULE)
    assert [found["host"] for found in await resolver.resolve("mixed.example")] == ["10.1.2.3"]


async def test_a_name_with_no_allowed_address_is_refused() -> None:
    resolver = GuardedResolver(StaticResolver(meta=[["169.254.169.254"]]), rule=lambda: RULE)
    with pytest.raises(AddressRefused, match=r"meta\.example is refused: it has the metadata address"):
        await resolver.resolve("meta.example")


def test_no_socket_is_opened_to_a_refused_address() -> None:
    with pytest.raises(SocketRefused, match="link-local"):
        guarded_socket(lambda: RULE, (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("169.254.1.1", 80)))
