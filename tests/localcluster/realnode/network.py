"""The network link between a node and the machine: a pair of interfaces with two addresses.

The addresses are in 198.18.0.0/15, which RFC 2544 reserves for tests, so that they hide no route. Each instance
reserves its addresses with the name of an abstract socket, which the kernel releases when the process ends.
"""

import ipaddress
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_RANGE = ipaddress.IPv4Network("198.18.0.0/15")
_PREFIX = 30
_CANDIDATES = 256


class NetworkFailed(Exception):
    """The link could not be created; the message contains the cause."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """Four addresses: the machine has the first usable one, the node the second."""

    network: ipaddress.IPv4Network

    @property
    def host_address(self) -> str:
        """The machine's address."""
        return str(self.network[1])

    @property
    def node_address(self) -> str:
        """The node's address."""
        return str(self.network[2])


@contextmanager
def reserve_subnet(seed: int) -> Iterator[Subnet]:
    """Reserve a subnet for the block that no route of the machine and no other instance uses.

    ``seed`` determines where the search begins. Raises NetworkFailed.
    """
    taken = _routed_networks()
    total = 2 ** (_PREFIX - _RANGE.prefixlen)
    for offset in range(_CANDIDATES):
        first = int(_RANGE[0]) + ((seed + offset) % total) * 2 ** (32 - _PREFIX)
        network = ipaddress.IPv4Network((first, _PREFIX))
        if any(network.overlaps(other) for other in taken):
            continue
        with socket.socket(socket.AF_UNIX) as holder:
            try:
                holder.bind(f"\0xapp-operator-node-{network[0]}")
            except OSError:
                continue
            yield Subnet(network)
            return
    raise NetworkFailed(f"no free addresses in {_RANGE} after {_CANDIDATES} tries; stop other local clusters")


def create_link(name: str, *, subnet: Subnet, holder_pid: int) -> None:
    """Create the pair: ``name`` on the machine, ``eth0`` in the network namespace of ``holder_pid``.

    Raises NetworkFailed.
    """
    _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(holder_pid))
    _ip("address", "add", f"{subnet.host_address}/{_PREFIX}", "dev", name)
    _ip("link", "set", name, "up")


def remove_link(name: str) -> None:
    """Remove the pair, if it exists. Raises NetworkFailed."""
    if any(link["ifname"] == name for link in json.loads(_ip("-json", "link", "show"))):
        try:
            _ip("link", "delete", name)
        except NetworkFailed:
            # the kernel removes it itself, soon after the last process of the namespace has ended
            if any(link["ifname"] == name for link in json.loads(_ip("-json", "link", "show"))):
                raise


def _routed_networks() -> list[ipaddress.IPv4Network]:
    routes = json.loads(_ip("-json", "-4", "route", "show", "table", "all"))
    return [
        ipaddress.IPv4Network(route["dst"], strict=False)
        for route in routes
        if route["dst"] not in {"default", "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1"}
    ]


def _ip(*arguments: str) -> str:
    program = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise NetworkFailed("the program ip is missing; install the Debian package iproute2")
    answer = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise NetworkFailed(f"ip {' '.join(arguments)}: {answer.stderr.strip()}")
    return answer.stdout
