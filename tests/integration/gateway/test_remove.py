"""Removing over REST."""

from __future__ import annotations

import pytest

from tests.integration.gateway.gateway_client import DEPLOYMENT, NO_OBJECTS, XAPP_NAME, GatewayClient
from tests.support.charts import chart_archive
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


def test_removing_is_202_until_the_xapp_is_gone_and_then_404(client: GatewayClient) -> None:
    client.deploy()
    client.add_finalizer()
    wanted = {"name": XAPP_NAME, "namespace": client.namespace}
    first = client.delete_deployment(wanted)
    assert first.status_code == 202
    assert (first.json()["phase"], first.json()["ready"]) == ("Uninstalling", False)
    second = client.delete_deployment(wanted)
    assert (second.status_code, second.json()["uid"]) == (202, first.json()["uid"])
    client.remove_finalizer()
    assert client.delete_deployment(wanted).status_code == 404


def test_delete_without_finalizer_answers_with_the_last_record(client: GatewayClient) -> None:
    record = client.deploy()
    answer = client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace})
    assert answer.status_code == 202
    assert (answer.json()["uid"], answer.json()["phase"]) == (record["uid"], "Uninstalling")
    assert client.existing_objects()["xapps"] == []


async def test_a_deleted_xapp_leaves_the_list_and_can_be_recreated(client: GatewayClient) -> None:
    client.deploy()
    client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace})
    path = f"/api/xapps/{client.namespace}/{XAPP_NAME}"
    await eventually(lambda: client.http.get(path).status_code == 404, what="the record to go")
    client.deploy()
    assert client.http.get(path).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        pytest.param({"name": "not-there", "namespace": "default"}, 404, None, id="not there"),
        pytest.param({"name": "not-there", "namespace": "nowhere-at-all"}, 404, None, id="no such namespace"),
        pytest.param("", 400, None, id="empty"),
        pytest.param("{", 400, None, id="not JSON"),
        pytest.param(b"\xff\xfe", 400, None, id="not UTF-8"),
        pytest.param('{"name": "a", "name": "b", "namespace": "c"}', 422, "body", id="a key twice"),
        pytest.param("[]", 422, None, id="a list"),
        pytest.param("null", 422, None, id="null"),
        pytest.param("[" * 60_000, 400, None, id="deep and broken"),
        pytest.param("[" * 30_000 + "]" * 30_000, 400, None, id="deep"),
        pytest.param({"namespace": "ric"}, 422, "name", id="no name"),
        pytest.param({"name": "a"}, 422, "namespace", id="no namespace"),
        pytest.param({"name": 1, "namespace": "ric"}, 422, "name", id="a number as name"),
        pytest.param({"name": "", "namespace": "ric"}, 422, "name", id="an empty name"),
        pytest.param({"name": "..", "namespace": "ric"}, 422, None, id="a name that leaves its path"),
        pytest.param({"name": "a/b", "namespace": "ric"}, 422, None, id="a name with a slash"),
        pytest.param({"name": "a", "namespace": "..%2f"}, 422, None, id="a namespace that leaves its path"),
        pytest.param({"name": "x" * 254, "namespace": "ric"}, 422, "name", id="a name over the limit"),
        pytest.param({"name": "a", "namespace": "ric", "force": True}, 422, "force", id="an unknown member"),
        pytest.param('{"name": "' + "x" * 70_000 + '"}', 413, None, id="too large"),
    ],
)
def test_an_impossible_removal_is_refused(client: GatewayClient, body: object, status: int, field: str | None) -> None:
    answer = client.delete_deployment(body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    if field is not None:
        assert field in [each["field"] for each in answer.json()["errors"]]


@pytest.mark.parametrize("query", ["?dryRun=1", "?dryrun=true", "?pretty=1", "?pretty=true&pretty=true", "?x=%ff"])
def test_a_removal_with_unknown_parameters_is_refused(client: GatewayClient, query: str) -> None:
    client.deploy()
    content = f'{{"name": "{XAPP_NAME}", "namespace": "{client.namespace}"}}'
    answer = client.http.request("DELETE", DEPLOYMENT + query, content=content)
    assert answer.status_code == 400
    assert client.existing_objects()["xapps"] == [XAPP_NAME]


def test_objects_of_another_namespace_are_not_removed(client: GatewayClient) -> None:
    client.deploy(chart_archive())
    assert client.delete_deployment({"name": XAPP_NAME, "namespace": "default"}).status_code == 404
    assert client.existing_objects() != NO_OBJECTS
