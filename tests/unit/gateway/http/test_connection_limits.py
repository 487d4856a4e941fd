"""Which connection is closed when there are too many, or when they take too much memory."""

from __future__ import annotations

import asyncio
import ipaddress
import resource
from typing import cast

import pytest

from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits, available_connections

HEADS_MAX_BYTES = 16 * 1024 * 1024
UNSENT_MAX_BYTES = 32 * 1024 * 1024


class Connection:
    """The transport of one connection."""

    def __init__(self) -> None:
        self.ended = ""

    def abort(self) -> None:
        self.ended = "aborted"

    @property
    def transport(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self)


class Limits:
    """The limits of a server, and the connections that it was asked to admit."""

    def __init__(self, *, total: int = 3, per_address: int = 2) -> None:
        self.reasons: list[str] = []
        self.limits = ConnectionLimits(
            total=total,
            per_address=per_address,
            shared_networks=[ipaddress.ip_network("10.0.0.0/8")],
            on_closed=self.reasons.append,
        )

    def open(self, address: str) -> Connection:
        made = Connection()
        if not self.limits.admit(made.transport, address):
            made.ended = "refused"
        return made

    def busy(self, address: str) -> Connection:
        made = self.open(address)
        self.limits.set_busy(made.transport)
        return made


def test_the_connection_of_an_address_that_waits_longest_gives_way() -> None:
    server = Limits()
    first, second, other = server.open("192.0.2.1"), server.open("192.0.2.1"), server.open("192.0.2.2")
    third = server.open("192.0.2.1")
    assert [each.ended for each in (first, second, other, third)] == ["aborted", "", "", ""]
    assert (server.limits.open, server.reasons) == (3, ["connections_of_address"])

    server.limits.set_busy(second.transport)
    server.limits.set_waiting(second.transport)
    fourth = server.open("192.0.2.1")
    assert [each.ended for each in (second, third, fourth)] == ["", "aborted", ""]
    server.open("192.0.2.1")
    assert [each.ended for each in (second, fourth)] == ["aborted", ""]


def test_a_connection_is_refused_if_all_others_of_its_address_are_served() -> None:
    server = Limits()
    served = [server.busy("192.0.2.1") for _ in range(2)]
    assert server.open("192.0.2.1").ended == "refused"
    assert server.open("192.0.2.2").ended == ""
    assert (server.limits.open, server.reasons) == (3, ["connections_of_address"])
    server.limits.remove(served[0].transport)
    server.limits.remove(served[0].transport)
    assert server.limits.open == 2
    assert server.open("192.0.2.1").ended == ""


def test_ipv6_addresses_of_one_network_are_one_client_and_proxies_are_many() -> None:
    server = Limits(total=10)
    first, _, _ = (server.open(f"2001:db8::{each}") for each in "123")
    assert first.ended == "aborted"
    proxied = [server.open("10.1.2.3") for _ in range(4)]
    assert {each.ended for each in proxied} == {""}
    unknown = [server.open("") for _ in range(3)]
    assert {each.ended for each in unknown} == {""}


def test_of_all_connections_that_wait_the_oldest_stranger_gives_way() -> None:
    server = Limits()
    known, stranger, served = server.open("192.0.2.1"), server.open("192.0.2.2"), server.busy("192.0.2.3")
    server.limits.set_waiting(known.transport, group="jane")
    assert server.open("192.0.2.4").ended == ""
    assert [each.ended for each in (known, stranger, served)] == ["", "aborted", ""]
    assert server.reasons == ["connections"]


def test_without_strangers_the_group_with_most_connections_gives_way() -> None:
    server = Limits(total=4)
    jane, *joes = (server.open(f"192.0.2.{each}") for each in range(4))
    server.limits.set_waiting(jane.transport, group="jane")
    for each in joes:
        server.limits.set_waiting(each.transport, group="joe")
        server.limits.set_waiting(each.transport, group="joe")  # its place stays
    server.open("192.0.2.9")
    assert [each.ended for each in (jane, *joes)] == ["", "aborted", "", ""]


def test_a_connection_is_refused_if_all_are_served() -> None:
    server = Limits()
    served = [server.busy(f"192.0.2.{each}") for each in range(3)]
    assert server.open("192.0.2.9").ended == "refused"
    assert len(server.limits._clients) == 3  # a refused address takes no memory
    assert server.reasons == ["connections"]
    assert {each.ended for each in served} == {""}


def test_unfinished_requests_have_a_common_bound() -> None:
    server = Limits(total=10)
    first, second = server.open("192.0.2.1"), server.open("192.0.2.2")
    server.limits.set_request_bytes(first.transport, 1)
    server.limits.set_request_bytes(second.transport, HEADS_MAX_BYTES - 1)
    assert (server.limits.unfinished_bytes, server.reasons) == (HEADS_MAX_BYTES, [])
    server.limits.set_request_bytes(second.transport, HEADS_MAX_BYTES)
    assert [each.ended for each in (first, second)] == ["aborted", ""]
    assert (server.limits.unfinished_bytes, server.reasons) == (HEADS_MAX_BYTES, ["head_bytes"])
    server.limits.set_request_bytes(second.transport, 0)
    assert server.limits.unfinished_bytes == 0
    third = server.open("192.0.2.3")
    server.limits.set_request_bytes(third.transport, HEADS_MAX_BYTES + 1)
    assert [each.ended for each in (second, third)] == ["", "aborted"]
    server.reasons.clear()
    server.limits.set_request_bytes(second.transport, 5)
    server.limits.remove(second.transport)
    server.limits.set_request_bytes(second.transport, 5)
    assert (server.limits.unfinished_bytes, server.limits.open) == (0, 0)


def test_unread_responses_have_a_common_bound() -> None:
    server = Limits(total=10)
    first, second = server.busy("192.0.2.1"), server.busy("192.0.2.2")
    server.limits.set_waiting(first.transport, unsent_bytes=1)
    server.limits.set_waiting(second.transport, unsent_bytes=UNSENT_MAX_BYTES - 1)
    assert (server.limits.unsent_bytes, server.reasons) == (UNSENT_MAX_BYTES, [])
    server.limits.set_busy(first.transport)
    assert server.limits.unsent_bytes == UNSENT_MAX_BYTES - 1
    server.limits.set_waiting(first.transport, unsent_bytes=2)
    assert [each.ended for each in (first, second)] == ["", "aborted"]
    assert (server.limits.unsent_bytes, server.reasons) == (2, ["unsent_bytes"])
    server.limits.set_waiting(second.transport, unsent_bytes=7)  # it is gone
    server.limits.remove(first.transport)
    assert server.limits.unsent_bytes == 0


@pytest.mark.parametrize(
    ("soft", "hard", "expected", "raised"),
    [
        (100_000, 100_000, 1000, None),
        (1024, 100_000, 1000, 1512),
        (1024, resource.RLIM_INFINITY, 1000, 1512),
        (1024, 1400, 888, 1400),
        (1512, 2000, 1000, None),
        (512, 512, 1, 512),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1000, None),
    ],
)
def test_connections_leave_files_to_other_work(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, expected: int, raised: int | None
) -> None:
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: changed.append(limits))
    assert available_connections(1000) == expected
    assert changed == ([] if raised is None else [(raised, hard)])
