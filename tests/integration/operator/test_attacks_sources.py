"""Repositories that hang."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

WORKERS = 10


@pytest.fixture
def hanging() -> Iterator[str]:
    """The address of a server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_repository_that_hangs_does_not_hold_up_other_xapps(
    xapps: XAppClient, hanging: str, operator: OperatorProcess
) -> None:
    assert operator.running
    stuck = [xapps.remote_manifest(f"stuck{number}", url=hanging, chart="workload") for number in range(WORKERS + 2)]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": stuck})
    xapps.wait_until(lambda: "charts" in xapps.names("chartrepository"), what="the first to be worked on")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello", seconds=30)  # the request to the hanging server times out after 60 s
    xapps.kubectl("delete", "xapps", "--all", "--timeout=60s")
