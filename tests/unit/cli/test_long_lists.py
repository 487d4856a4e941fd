"""Lists of several pages whose snapshots end, as behind a proxy that sends each request to another replica."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway, page, problem
from tests.unit.cli.conftest import Xapp

EXPIRED = problem(410, "snapshot-expired", "unknown here")
WARNING = "warning: the list may lack items"


def record(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": "n", "uid": name, "phase": "Deployed", "ready": True, "stalled": False}


def walk(*content: Any) -> Reply:
    """Return the first page of a walk whose replica does not get the next request."""
    return Reply(page(*content, number=1, last=2), headers={"Snapshot": "token"})


def broken_walks(*content: Any) -> list[Reply]:
    return [walk(*content), EXPIRED, walk(*content), EXPIRED]


def test_a_list_whose_walks_end_twice_is_read_without_a_snapshot(gateway: StandInGateway, xapp: Xapp) -> None:
    a, b, c = record("a"), record("b"), record("c")
    live = [Reply(page(a, b, number=1, last=2)), Reply(page({**b, "phase": "Failed"}, c, number=2, last=2))]
    gateway.reply("/api/xapps", *broken_walks(a, b), *live)
    done = xapp("list", "-o", "json", "--gateway", gateway.url)
    assert done.code == 0
    assert json.loads(done.out) == [a, b, c]
    assert [line for line in done.err.splitlines() if line.startswith(WARNING)] == done.err.splitlines()
    assert done.err.count("\n") == 1
    asked = [(request.query.get("snapshot"), request.query.get("page")) for request in gateway.requests]
    once = [(["new"], None), (["token"], ["2"])]
    assert asked == [*once, *once, (None, None), (None, ["2"])]


def test_a_second_walk_that_ends_well_needs_no_warning(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(
        "/api/xapps", walk(record("a")), EXPIRED, walk(record("a")), Reply(page(record("b"), number=2, last=2))
    )
    done = xapp("list", "-o", "name", "--gateway", gateway.url)
    assert (done.out.split(), done.err) == (["n/a", "n/b"], "")


def test_a_list_that_became_shorter_ends_there(gateway: StandInGateway, xapp: Xapp) -> None:
    live = [Reply(page(record("a"), number=1, last=2)), problem(400, "malformed-request", "page is at most 1")]
    gateway.reply("/api/xapps", *broken_walks(record("a")), *live)
    done = xapp("list", "-o", "name", "--gateway", gateway.url)
    assert (done.code, done.out.split()) == (0, ["n/a"])
    assert done.err.startswith(WARNING)


@pytest.mark.parametrize(
    ("path", "command", "key"),
    [
        ("/api/xapps/n/a/history", ("history", "n/a"), "revision"),
        ("/api/repositories/n/acme/charts", ("repo", "charts", "acme", "-n", "n"), "name"),
        ("/api/repositories/n/acme/charts/hello/versions", ("repo", "versions", "acme", "hello", "-n", "n"), "version"),
    ],
)
def test_items_that_come_twice_are_left_out_of_every_list(
    gateway: StandInGateway, xapp: Xapp, path: str, command: tuple[str, ...], key: str
) -> None:
    first, second, third = ({key: each, "description": "the same"} for each in (3, 2, 1))
    live = [Reply(page(first, second, number=1, last=2)), Reply(page(second, third, number=2, last=2))]
    gateway.reply(path, *broken_walks(first), *live)
    done = xapp(*command, "-o", "json", "--gateway", gateway.url)
    assert json.loads(done.out) == [first, second, third]


def test_a_removal_by_filters_needs_the_whole_list(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/xapps", *broken_walks(record("a")), Reply(page(record("a"))))
    done = xapp("delete", "--organization", "acme", "-n", "n", "--yes", "--gateway", gateway.url)
    assert (done.code, done.out) == (1, "")
    assert "unknown here" in done.err
    assert {request.method for request in gateway.requests} == {"GET"}


def test_a_cookie_of_session_persistence_is_kept_during_a_command(gateway: StandInGateway, xapp: Xapp) -> None:
    first = walk(record("a"))
    first.headers["Set-Cookie"] = "replica=one; Path=/"
    gateway.reply("/api/xapps", first, Reply(page(record("b"), number=2, last=2)))
    assert xapp("list", "-o", "name", "--gateway", gateway.url).out.split() == ["n/a", "n/b"]
    assert [request.headers.get("Cookie") for request in gateway.requests] == [None, "replica=one"]
