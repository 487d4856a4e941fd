"""Which address is advertised, and that it stays while it can."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.config.settings import Settings
from xapp_operator.kube.advertise_address import choose_address


def node(name: str, *, internal: str, external: str | None = None, ready: bool = True, created: int = 1) -> JsonObject:
    addresses: list[JsonObject] = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": internal}]
    if external:
        addresses.append({"type": "ExternalIP", "address": external})
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-0{created}T00:00:00Z"},
        "status": {"addresses": [*addresses], "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_external_address_of_the_first_ready_node_wins() -> None:
    nodes = [
        node("late", internal="10.0.0.3", created=3),
        node("sick", internal="10.0.0.1", ready=False, created=1),
        node("well", internal="10.0.0.2", external="192.0.2.2", created=2),
    ]
    assert choose_address(nodes, current=None) == "192.0.2.2"


def test_internal_address_where_no_external_is_known() -> None:
    assert choose_address([node("a", internal="10.0.0.1")], current=None) == "10.0.0.1"


def test_address_stays_while_any_node_has_it() -> None:
    nodes = [node("a", internal="10.0.0.1", created=1), node("b", internal="10.0.0.2", ready=False, created=2)]
    assert choose_address(nodes, current="10.0.0.2") == "10.0.0.2"
    assert choose_address(nodes[:1], current="10.0.0.2") == "10.0.0.1"


def test_no_ready_node_means_no_address() -> None:
    sick = node("a", internal="10.0.0.1", ready=False)
    new = node("b", internal="10.0.0.2")
    obj(new, "status").pop("conditions")
    assert choose_address([sick, new], current=None) is None


def test_an_empty_setting_is_no_address() -> None:
    """Compared as an address, it would differ from the one of the nodes in each release: an upgrade without end."""
    assert Settings.model_validate({"cluster_advertise_address": ""}).cluster_advertise_address is None
    assert Settings.model_validate({"cluster_advertise_address": "192.0.2.1"}).cluster_advertise_address == "192.0.2.1"


@pytest.mark.parametrize("address", ["192.0.2.1", "fd00::1", "node-1.example.com", "localhost", "example.com."])
def test_the_setting_may_be_an_address_or_a_name(address: str) -> None:
    assert Settings.model_validate({"cluster_advertise_address": address}).cluster_advertise_address == address


@pytest.mark.parametrize(
    "address", ["::::", "999.1.1.1", "http://node", "node:31315", "a b", "-a", "a..b", "a_b", "[fd00::1]", "a." * 127]
)
def test_the_setting_is_refused_if_nothing_can_connect_to_it(address: str) -> None:
    with pytest.raises(ValidationError, match="must be an IP address or a host name, without scheme and port"):
        Settings.model_validate({"cluster_advertise_address": address})
