"""What the list of xApps, its counts, its stream and /api/about say of a real cluster."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.integration.gateway.gateway_client import GatewayClient, ready_status, stalled_status
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer, JsonObject
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from tests.support.sse import ServerSentEvent, parse_events
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

OWNERS: Final = ("jane", "jane", "joe", "june")
FAILED: Final = "hello-3"
MESSAGE: Final = "the repository answers 404"


@pytest.fixture(scope="module")
def crew(gateway: GatewayServer, api: ApiServer) -> Iterator[GatewayClient]:
    """Four XApps: three are Ready, and the last one is Stalled."""
    namespace = f"crew-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": namespace}})
    for at, owner in enumerate(OWNERS):
        manifest = xapp_manifest(f"hello-{at}", namespace=namespace, owner=owner, team=f"team-{at % 2}")
        api.create(XAPPS.format(namespace), manifest)
        status = ready_status()
        if f"hello-{at}" == FAILED:
            status = {**stalled_status(), "progress": {"step": "chart", "startedAt": "2026-11-20T08:00:00Z"}}
            for condition in status["conditions"]:
                condition["message"] = MESSAGE
        api.patch(f"{XAPPS.format(namespace)}/hello-{at}/status", {"status": status})
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        crew = GatewayClient(http=http, api=api, namespace=namespace, uploads=gateway.gateway.upload_folder)
        wait_until(
            lambda: len(names(crew, health="Healthy")) == 3 and names(crew, attention="true") == [FAILED],
            timeout=60,
            what="the crew to be seen",
        )
        yield crew
    api.delete(XAPPS.format(namespace))
    api.delete(f"{NAMESPACES}/{namespace}")


def names(crew: GatewayClient, **query: Any) -> list[str]:
    """Return the names of one page of the list."""
    return [each["name"] for each in records(crew, **query)]


def records(crew: GatewayClient, **query: Any) -> list[JsonObject]:
    answer = crew.http.get("/api/xapps", params={"namespace": crew.namespace, "sort": "name", **query})
    assert answer.status_code == 200, answer.text
    content: list[JsonObject] = answer.json()["content"]
    return content


def test_facets_count_what_the_filters_leave(crew: GatewayClient) -> None:
    def facets(**query: str) -> JsonObject:
        answer = crew.http.get("/api/xapps/facets", params={"namespace": crew.namespace, **query})
        found: JsonObject = answer.json()
        return found

    found = facets(facet="owner,health,attention")
    assert found["owner"] == [
        {"value": "jane", "count": 2},
        {"value": "joe", "count": 1},
        {"value": "june", "count": 1},
    ]
    assert {"value": "Healthy", "count": 3} in found["health"]
    assert {"value": "true", "count": 1} in found["attention"]
    assert facets(facet="owner", prefix="jo")["owner"] == [{"value": "joe", "count": 1}]
    assert facets(facet="owner", team="team-1")["owner"] == [
        {"value": "jane", "count": 1},
        {"value": "june", "count": 1},
    ]


def test_a_repeated_filter_means_either_and_the_search_covers_owners_and_messages(crew: GatewayClient) -> None:
    assert names(crew, owner=["joe", "june"]) == ["hello-2", "hello-3"]
    assert names(crew, owner=["joe", "june"], team="team-0") == ["hello-2"]
    assert names(crew, search="june") == [FAILED]
    assert names(crew, search="answers 404") == [FAILED]
    assert names(crew, sort="owner", order="desc")[0] == FAILED


def test_a_record_says_how_far_its_xapp_is(crew: GatewayClient) -> None:
    ready, *_, failed = records(crew)
    assert (ready["generation"], ready["stalled"], ready["progress"]["step"]) == (1, False, "ready")
    assert failed["stalled"] is True
    assert (failed["reason"], failed["message"], failed["progress"]["step"]) == ("ChartPullFailed", MESSAGE, "chart")


def test_the_stream_has_the_filters_and_fields_that_were_asked_for(crew: GatewayClient, gateway: GatewayServer) -> None:
    query = {"namespace": crew.namespace, "owner": "joe"}
    since = crew.http.get("/api/xapps", params=query).headers["Last-Event-ID"]
    asked = {**query, "fields": "summary"}
    headers = {"Last-Event-ID": since}
    with gateway.client() as http, http.stream("GET", "/api/stream", params=asked, headers=headers) as answer:
        events = parse_events(answer.iter_lines())
        path = f"{XAPPS.format(crew.namespace)}/{{}}"
        crew.api.patch(path.format("hello-0"), {"spec": {"version": "0.9.0"}})  # not joe's: never sent
        crew.api.patch(path.format("hello-2"), {"spec": {"version": "0.9.0"}})
        changed = _next_change(events)
        assert (changed.name, changed.data["name"], changed.data["version"]) == ("modified", "hello-2", "0.9.0")
        whole = crew.http.get(f"/api/xapps/{crew.namespace}/hello-2").json()
        assert set(changed.data) < set(whole)
        crew.api.patch(path.format("hello-2"), {"spec": {"owner": "jill"}})
        left = _next_change(events)
        assert (left.name, left.data["name"]) == ("deleted", "hello-2")
        crew.api.patch(path.format("hello-2"), {"spec": {"owner": "joe"}})
        back = _next_change(events)
        assert (back.name, back.data["name"]) == ("added", "hello-2")


def _next_change(events: Iterator[ServerSentEvent]) -> ServerSentEvent:
    return next(event for event in events if event.name in {"added", "modified", "deleted"})


def test_about_names_the_version_of_the_cluster(crew: GatewayClient, cluster: Cluster) -> None:
    about = crew.http.get("/api/about").json()
    server = cluster.kubectl("version", "-o", "json")
    assert re.search(rf'"gitVersion": "{re.escape(about["kubernetes"])}"', server)
    assert about["limits"]["perPage"] == 100
