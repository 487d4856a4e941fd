"""Evaluates NetworkPolicies as the API reference of networking.k8s.io/v1 defines them, without a network.

It says what policies mean, not what a network plugin enforces.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Mapping[str, Any]
Direction = Literal["ingress", "egress"]
_POLICY_TYPES = {"ingress": "Ingress", "egress": "Egress"}
_PEERS = {"ingress": "from", "egress": "to"}


@dataclass(frozen=True, slots=True)
class Peer:
    """The other side of a connection: a pod, with the labels of its namespace and its own, or an address."""

    address: str | None = None
    namespace: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def pod(
        cls, namespace: str, *, labels: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
    ) -> Peer:
        """Return a pod of a namespace, which has the label with its name that every namespace has, and others."""
        return cls(namespace={"kubernetes.io/metadata.name": namespace, **(also or {})}, labels=labels or {})


def is_allowed(
    policies: Iterable[Json], pod: Mapping[str, str], direction: Direction, peer: Peer, *, port: int, protocol: str
) -> bool:
    """Return whether a pod with these labels may have that connection.

    The policies are those of the pod's namespace. `port` is that of the server, on either side.
    """
    selecting = [
        policy["spec"]
        for policy in policies
        if _selects(policy["spec"]["podSelector"], pod) and _POLICY_TYPES[direction] in policy["spec"]["policyTypes"]
    ]
    rules = [rule for spec in selecting for rule in spec.get(direction, [])]
    return not selecting or any(
        _has_port(rule, port, protocol) and _has_peer(rule, _PEERS[direction], peer) for rule in rules
    )


def _has_port(rule: Json, port: int, protocol: str) -> bool:
    ports = rule.get("ports")
    return not ports or any(
        each.get("protocol", "TCP") == protocol and each["port"] <= port <= each.get("endPort", each["port"])
        for each in ports
    )


def _has_peer(rule: Json, key: str, peer: Peer) -> bool:
    peers = rule.get(key)
    return not peers or any(_is_peer(each, peer) for each in peers)


def _is_peer(rule: Json, peer: Peer) -> bool:
    block = rule.get("ipBlock")
    if block is not None:
        return peer.address is not None and _is_in_block(block, peer.address)
    if peer.address is not None:
        return False
    return _selects(rule["namespaceSelector"], peer.namespace) and _selects(rule.get("podSelector", {}), peer.labels)


def _is_in_block(block: Json, address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return _contains(block["cidr"], parsed) and not any(_contains(each, parsed) for each in block.get("except", []))


def _contains(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    parsed = ipaddress.ip_network(network)
    return parsed.version == address.version and address in parsed


def _selects(selector: Json, labels: Mapping[str, str]) -> bool:
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    return wanted and all(_meets(each, labels) for each in selector.get("matchExpressions", []))


def _meets(expression: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case unknown:
            raise ValueError(f"{unknown} is no operator of a label selector")
