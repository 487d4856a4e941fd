"""Threat: a tenant uploads charts that take helm to its memory limit, so that nobody else can upload.

Each rendering has 256 MiB, and one namespace never gets the last two of them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus

import httpx
import pytest

from tests.integration.gateway.gateway_client import GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, ApiServer
from tests.support.charts import chart_archive

pytestmark = pytest.mark.integration

UPLOADS = 20
DOUBLING_TEMPLATE = '{{ $x := "x" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}'


@pytest.fixture
def neighbour_namespace(api: ApiServer) -> Iterator[str]:
    name = f"neighbour-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


def test_charts_that_need_all_memory_do_not_delay_uploads_to_another_namespace(
    client: GatewayClient, neighbour_namespace: str
) -> None:
    greedy = chart_archive({"templates/a.yaml": DOUBLING_TEMPLATE})

    def upload(number: int) -> httpx.Response:
        return client.post_deployment(client.deployment_form(team=f"team-{number}"), file=greedy, dryRun="true")

    with ThreadPoolExecutor(UPLOADS) as pool:
        attacks: list[Future[httpx.Response]] = [pool.submit(upload, number) for number in range(UPLOADS)]
        wait_until(lambda: any(attack.done() for attack in attacks), timeout=60, what="a chart to be refused")
        began = time.monotonic()
        form = client.deployment_form(namespace=neighbour_namespace)
        answer = client.post_deployment(form, file=chart_archive(), dryRun="true")
        print(f"measured: {time.monotonic() - began:.2f} s")
        unfinished = sum(not attack.done() for attack in attacks)
    assert answer.status_code == HTTPStatus.OK, answer.text
    assert unfinished > 0, "the neighbour had to wait for every other upload"
    for attack in attacks:
        assert attack.result().status_code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert "256 MiB of memory" in attack.result().json()["detail"]
        assert "XAPP_RENDER_MEMORY" in attack.result().json()["detail"]
