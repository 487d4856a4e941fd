"""What the gateway says about itself, and its warnings about plain HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.openapi_contract import OpenApiContract

Served = Callable[..., GatewayServer]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serves a gateway that requires authentication, with changed settings."""
    settings, opened = offline_gateway(tmp_path)
    with ExitStack() as running:

        def serve(**changes: object) -> GatewayServer:
            return running.enter_context(
                serve_gateway(settings.model_copy(update={"auth": "kubernetes", **changes}), opened)
            )

        yield serve


def test_anybody_sees_version_and_authentication_only(served: Served) -> None:
    gateway = served()
    contract = OpenApiContract.from_gateway(gateway)
    with gateway.client(event_hooks={"response": [contract.check_response]}) as http:
        expected = {"version": version("xapp-operator"), "auth": "kubernetes"}
        assert http.get("/api/about").json() == expected
        assert http.get("/api/v1/about").json() == expected
        assert http.get("/api/about", headers={"Cookie": "xapp_session=garbled"}).json() == expected
        assert http.get("/api/about", headers={"Authorization": "Basic YTpi"}).status_code == 401
        assert http.get("/api/about?a=b").status_code == 400
        assert http.get("/api/about").headers["Cache-Control"] == "no-store"


def test_who_may_do_everything_sees_everything(served: Served) -> None:
    gateway = served(
        auth="none",
        commit="abc123",
        unpaginated_lists=("history",),
        cluster_advertise_address="10.0.0.5",
        fetch_timeout_seconds=7.0,
    )
    contract = OpenApiContract.from_gateway(gateway)
    with gateway.client(event_hooks={"response": [contract.check_response]}) as http:
        about = http.get("/api/about").json()

    assert about == {
        "version": version("xapp-operator"),
        "auth": "none",
        "commit": "abc123",
        "kubernetes": None,
        "address": "10.0.0.5",
        "limits": {
            "chartBytes": 1024 * 1024,
            "valuesBytes": 1024 * 1024,
            "waitSeconds": 300.0,
            "fetchSeconds": 7.0,
            "perPage": 100,
        },
        "unpaginated": ["history"],
        "insecure": None,
    }


@pytest.mark.parametrize(
    ("changes", "headers", "warned"),
    [
        ({}, {}, ""),
        ({"host": "0.0.0.0"}, {}, "speaks plain HTTP"),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, {"X-Forwarded-Proto": "https"}, ""),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, {}, ""),  # from this machine
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, {"Host": "gateway.example.com"}, "speaks plain HTTP"),
        ({"insecure_sessions": True}, {}, "XAPP_INSECURE_SESSIONS"),
        ({"host": "0.0.0.0"}, {"X-Forwarded-Proto": "https"}, "speaks plain HTTP"),
    ],
    ids=str,
)
def test_a_page_can_warn_before_somebody_signs_in(
    served: Served, changes: dict[str, object], headers: dict[str, str], warned: str
) -> None:
    with served(**changes).client(headers=headers) as http:
        about, page = http.get("/api/about").json(), http.get("/").text

    assert ("insecure" in about, "Warning" in page) == (bool(warned), bool(warned))
    assert warned in about.get("insecure", "")
    assert warned in page
