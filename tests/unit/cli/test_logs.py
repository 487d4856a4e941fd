"""Logs that are followed: a broken or limited stream goes on where it was."""

from __future__ import annotations

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp
from xapp_operator.cli.http.event_stream import parse_events

PATH = "/api/xapps/n/a/logs"
STREAM = {"Content-Type": "text/event-stream"}


def test_events_of_a_stream() -> None:
    lines = [": comment", "id: 1", "data: a", "data:b", "", "event: end", "data:", "", "data: cut off"]
    events = [(event.kind, event.data, event.id) for event in parse_events(lines)]
    assert events == [("message", "a\nb", "1"), ("end", "", None)]


def test_a_log_is_followed_to_its_end(gateway: StandInGateway, xapp: Xapp) -> None:
    first = Reply(b"id: t1\ndata: one\n\nid: t1\nevent: limit\ndata:\n\n", headers=STREAM)
    second = Reply(b"id: t2\ndata: two\n\nevent: end\ndata:\n\n", headers=STREAM)
    gateway.reply(PATH, first, second)
    done = xapp("logs", "n/a", "-f", "--gateway", gateway.url)
    assert (done.code, done.out) == (0, "one\ntwo\n")
    assert [request.headers.get("Last-Event-ID") for request in gateway.requests] == [None, "t1"]
    assert gateway.requests[0].query == {"follow": ["true"]}


def test_options_of_logs_reach_the_gateway(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, Reply(b"\x1b[31mline\n", headers={"X-Pods": "p, q", "X-Pod": "p", "X-Container": "c"}))
    options = ["--pod", "p", "-c", "c", "--tail", "5", "--since", "10m", "--previous"]
    done = xapp("logs", "n/a", *options, "--gateway", gateway.url)
    assert done.out == "\\x1b[31mline\n"
    assert "--pod chooses another of: p, q" in done.err
    assert {key: value for key, (value,) in gateway.requests[0].query.items()} == {
        **{"pod": "p", "container": "c", "tail": "5", "since": "10m", "previous": "true"}
    }
    assert xapp("logs", "n/a", "--raw", "--gateway", gateway.url).out == "\x1b[31mline\n"
