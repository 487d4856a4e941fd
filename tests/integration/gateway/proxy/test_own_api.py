"""What the configuration of an xApp says about the xApp's own API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.proxied_xapp import ProxiedXApp
from tests.support.xapp_server import XAppServer

pytestmark = pytest.mark.integration

JSON = "application/json"


def own_api(xapp: ProxiedXApp) -> dict[str, Any]:
    with xapp.gateway.client() as http:
        answer = http.get(f"{xapp.xapp_path}/config")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["ownApi"]
    return found


def asked(server: XAppServer) -> list[str]:
    return sorted(each.target for each in server.requests if each.target in {"/config", "/config/schema"})


@pytest.fixture
def xapp(via_apiserver: ProxiedXApp) -> Iterator[ProxiedXApp]:
    """An xApp of which nothing is known yet."""
    via_apiserver.gateway.run_in_loop(lambda gateway: gateway.own_apis._found.clear())
    via_apiserver.api.requests.clear()
    yield via_apiserver
    via_apiserver.api.answers.clear()


@pytest.mark.parametrize(
    ("answers", "config", "schema"),
    [
        ({"/config": (200, JSON), "/config/schema": (200, "application/schema+json")}, True, True),
        ({"/config": (200, JSON), "/config/schema": (404, JSON)}, True, False),
        ({"/config": (200, "text/html"), "/config/schema": (405, JSON)}, False, False),
        ({"/config": (500, JSON), "/config/schema": (401, JSON)}, None, None),
    ],
)
def test_an_xapp_is_asked_whether_it_has_a_configuration(
    xapp: ProxiedXApp, answers: dict[str, tuple[int, str]], config: bool | None, schema: bool | None
) -> None:
    xapp.api.answers.update(answers)

    assert own_api(xapp) == {"base": f"{xapp.xapp_path}/api", "config": config, "schema": schema}


def test_an_xapp_is_not_asked_by_each_request(xapp: ProxiedXApp) -> None:
    xapp.api.answers.update({"/config": (200, JSON), "/config/schema": (404, JSON)})
    first = own_api(xapp)
    xapp.api.answers.clear()

    assert [own_api(xapp) for _ in range(3)] == [first] * 3
    assert asked(xapp.api) == ["/config", "/config/schema"]
