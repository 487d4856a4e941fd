"""What the answers of a gateway mean: the exit code, and what is said on stderr."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway, page, problem
from tests.unit.cli.conftest import Xapp
from xapp_operator.cli.commands import removal

RECORD = {"name": "a", "namespace": "n", "uid": "u", "phase": "Deployed", "ready": True, "stalled": False}
PATH = "/api/xapps/n/a"
ACTIONS = f"{PATH}/actions"
TOKEN = "secret-token-of-jane"


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "malformed-request", 5),
        (401, "unauthenticated", 4),
        (403, "access-denied", 4),
        (403, "quota-exceeded", 5),
        (404, "not-found", 3),
        (409, "conflict", 5),
        (412, "precondition-failed", 5),
        (413, "content-too-large", 5),
        (422, "form-invalid", 5),
        (429, "too-many-concurrent-requests", 1),
        (500, "about:blank", 1),
        (502, "kube-error", 1),
        (503, "not-ready", 1),
    ],
)
def test_a_problem_has_its_exit_code(gateway: StandInGateway, xapp: Xapp, status: int, kind: str, code: int) -> None:
    gateway.reply(PATH, problem(status, kind, "this is why"))
    done = xapp("get", "n/a", "--gateway", gateway.url)
    assert done.code == code
    assert "this is why" in done.err
    assert done.out == ""


def test_field_errors_and_missing_rights_are_listed(gateway: StandInGateway, xapp: Xapp) -> None:
    errors = [{"field": "xAppForm.owner", "message": "is required"}, {"field": "values", "message": "bad", "line": 3}]
    missing = [{"verb": "get", "group": "xapp-operator.io", "resource": "xapps", "subresource": None}]
    gateway.reply(PATH, problem(422, "form-invalid", "no", errors=errors, missing=missing))
    done = xapp("get", "n/a", "--gateway", gateway.url)
    assert "  xAppForm.owner (--owner): is required" in done.err
    assert "  values (line 3, column 0): bad" in done.err
    assert "  missing right: get on xapps.xapp-operator.io" in done.err


def test_a_field_error_is_said_once(gateway: StandInGateway, xapp: Xapp) -> None:
    detail = "phase must be one of Pending, Failed, not X"
    errors = [{"field": "phase", "message": detail.removeprefix("phase ")}]
    gateway.reply(PATH, problem(400, "malformed-request", detail, errors=errors))
    assert xapp("get", "n/a", "--gateway", gateway.url).err == f"error: Malformed request: {detail}\n"


@pytest.mark.parametrize("path", ["../../b/api/config", "a/../x", "..", "./x"])
def test_a_call_stays_in_the_api_of_its_xapp(gateway: StandInGateway, xapp: Xapp, path: str) -> None:
    done = xapp("call", "n/a", "POST", path, "--gateway", gateway.url)
    assert done.code == 2
    assert f"the path {path} leaves the API of the xApp" in done.err
    assert gateway.requests == []


@pytest.mark.parametrize("name", ["", "..", "../a", "n/..", "n/", "/a"])
def test_what_is_no_name_sends_no_request(xapp: Xapp, name: str) -> None:
    done = xapp("get", name, "-n", "n", "--gateway", "http://127.0.0.1:1")
    assert done.code == 2
    assert "no name" in done.err or "leave out one" in done.err


def test_an_upgrade_that_changes_nothing_is_a_mistake(xapp: Xapp) -> None:
    done = xapp("upgrade", "n/a", "--wait", "--gateway", "http://127.0.0.1:1")
    assert done.code == 2
    assert "name what to change" in done.err


def test_not_signed_in_says_how_to(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, problem(401, "unauthenticated", "no token"))
    assert "xapp login" in xapp("get", "n/a", "--gateway", gateway.url).err


def test_a_gateway_that_is_away_fails(xapp: Xapp) -> None:
    done = xapp("get", "n/a", "--gateway", "http://127.0.0.1:1")
    assert done.code == 1
    assert "cannot reach the gateway at http://127.0.0.1:1 (from --gateway)" in done.err


@pytest.mark.parametrize(
    ("status", "changes", "code"),
    [(200, {}, 0), (202, {"stalled": True, "message": "broken"}, 1), (202, {"ready": False, "message": "slow"}, 6)],
)
def test_waiting_ends_with_what_became_of_it(
    gateway: StandInGateway, xapp: Xapp, status: int, changes: dict[str, object], code: int
) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 300.0}}))
    gateway.reply(ACTIONS, Reply({**RECORD, **changes}, status=status))
    done = xapp("retry", "n/a", "--wait", "--timeout", "7", "--gateway", gateway.url)
    assert done.code == code
    assert str(changes.get("message", "")) in done.err
    assert gateway.requests[-1].query["wait"] == ["7"]


def test_a_wait_is_never_longer_than_the_gateway_allows(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 20.0}}))
    gateway.reply(PATH, Reply(RECORD))
    gateway.reply(ACTIONS, Reply(RECORD))
    assert xapp("resume", "n/a", "--wait", "--gateway", gateway.url).code == 0
    assert gateway.requests[-1].query["wait"] == ["20"]


UNFINISHED = {**RECORD, "ready": False, "message": "slow", "heldRevision": None, "release": {"revision": 3}}
ROLLED_BACK = {**RECORD, "heldRevision": 2, "release": {"revision": 4}}


def record_of_tests(status: str) -> dict[str, object]:
    condition = {"type": "TestSuccess", "status": status, "message": "m", "lastTransitionTime": f"{status} time"}
    return {**RECORD, "conditions": [condition]}


LONG_CHANGES = {
    "rollback": (("rollback", "n/a", "2", "--wait"), UNFINISHED, UNFINISHED, ROLLED_BACK),
    "rollback again": (
        ("rollback", "n/a", "2", "--wait"),
        {**ROLLED_BACK, "release": {"revision": 3}},
        {**ROLLED_BACK, "release": {"revision": 3}},
        ROLLED_BACK,
    ),
    "retry": (("retry", "n/a", "--wait"), UNFINISHED, UNFINISHED, RECORD),
    "resume": (("resume", "n/a", "--wait"), UNFINISHED, UNFINISHED, RECORD),
    "suspend": (("suspend", "n/a", "--wait"), {**RECORD, "stalled": True}, RECORD, {**RECORD, "phase": "Suspended"}),
    "test": (("test", "n/a"), RECORD, record_of_tests("Unknown"), record_of_tests("True")),
    "test again": (("test", "n/a"), record_of_tests("False"), record_of_tests("False"), record_of_tests("True")),
}
"""A command, and the record before it, when the gateway stops waiting, and once it has taken effect."""


def prepare_long_change(gateway: StandInGateway, change: str, *later: dict[str, object]) -> tuple[str, ...]:
    arguments, before, during, _ = LONG_CHANGES[change]
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 1.0}}))
    for path in (ACTIONS, f"{PATH}/rollback"):
        gateway.reply(path, Reply(during, status=202))
    looks_before = [] if change == "retry" else [Reply(before)]
    gateway.reply(PATH, *looks_before, *(Reply(record) for record in later))
    gateway.reply(f"{PATH}/tests", Reply([]))
    return arguments


@pytest.mark.parametrize("change", LONG_CHANGES)
def test_a_change_that_takes_longer_than_a_gateway_waits_is_waited_for(
    gateway: StandInGateway, xapp: Xapp, change: str
) -> None:
    _, _, during, after = LONG_CHANGES[change]
    arguments = prepare_long_change(gateway, change, during, after)
    done = xapp(*arguments, "--timeout", "30", "--gateway", gateway.url)
    assert (done.code, done.err) == (0, "")
    posted = next(number for number, each in enumerate(gateway.requests) if each.method == "POST")
    assert gateway.requests[posted].query["wait"] == ["1"]
    assert [each.path for each in gateway.requests[posted + 1 :]].count(PATH) >= 2


@pytest.mark.parametrize("change", LONG_CHANGES)
def test_a_change_without_effect_ends_with_the_timeout(gateway: StandInGateway, xapp: Xapp, change: str) -> None:
    arguments = prepare_long_change(gateway, change, LONG_CHANGES[change][2])
    done = xapp(*arguments, "--timeout", "2", "--gateway", gateway.url)
    assert done.code == 6
    assert "has not taken effect in time" in done.err


def test_a_token_is_never_shown(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, problem(401, "unauthenticated", "unknown token"))
    done = xapp("get", "n/a", "--gateway", gateway.url, "--token", TOKEN)
    assert gateway.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in done.out + done.err


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "größe", " "])
def test_what_cannot_be_a_token_is_a_usage_error_that_does_not_show_it(
    gateway: StandInGateway, xapp: Xapp, token: str
) -> None:
    done = xapp("get", "n/a", "--gateway", gateway.url, "--token", token)
    assert done.code == 2
    assert token.strip() == "" or token not in done.err
    assert gateway.requests == []


def test_messages_of_others_are_harmless(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, problem(404, "not-found", "\x1b[2Jgone"))
    assert "\x1b" not in xapp("get", "n/a", "--gateway", gateway.url).err


def test_json_is_the_record_unchanged(gateway: StandInGateway, xapp: Xapp) -> None:
    record = {**RECORD, "message": "\x1b[31m\u202e", "big": 9223372036854775807, "unknown": {"x": None}}
    gateway.reply(PATH, Reply(record))
    done = xapp("get", "n/a", "-o", "json", "--gateway", gateway.url)
    assert json.loads(done.out) == record
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_a_list_is_walked_in_one_snapshot(gateway: StandInGateway, xapp: Xapp) -> None:
    first = Reply(page({**RECORD, "name": "a"}, number=1, last=2), headers={"Snapshot": "token"})
    gateway.reply("/api/xapps", first, Reply(page({**RECORD, "name": "b"}, number=2, last=2)))
    done = xapp("list", "-o", "name", "--gateway", gateway.url)
    assert done.out.split() == ["n/a", "n/b"]
    queries = [request.query for request in gateway.requests]
    assert [query["snapshot"] for query in queries] == [["new"], ["token"]]
    assert [query.get("page") for query in queries] == [None, ["2"]]
    assert {tuple(query["per_page"]) for query in queries} == {("100",)}


def test_a_limit_asks_for_no_more_than_it_shows(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/xapps", Reply(page(RECORD, RECORD, number=1, last=50)))
    assert len(xapp("list", "--limit", "2", "-o", "name", "--gateway", gateway.url).out.split()) == 2
    assert [request.query["per_page"] for request in gateway.requests] == [["2"]]
    assert "snapshot" not in gateway.requests[0].query


def test_a_snapshot_that_is_gone_begins_again(gateway: StandInGateway, xapp: Xapp) -> None:
    first = Reply(page(RECORD, number=1, last=2), headers={"Snapshot": "token"})
    gateway.reply("/api/xapps", first, problem(410, "snapshot-expired", "gone"), Reply(page(RECORD)))
    assert xapp("list", "-o", "name", "--gateway", gateway.url).out.split() == ["n/a"]


def test_lists_without_pages_and_with_small_pages_work(gateway: StandInGateway, xapp: Xapp) -> None:
    bad = problem(400, "malformed-request", "per_page")
    gateway.reply("/api/about", Reply({"limits": {"perPage": 100}, "unpaginated": ["xapps"]}))
    gateway.reply("/api/xapps", bad, Reply([RECORD]))
    assert xapp("list", "-o", "name", "--gateway", gateway.url).out.split() == ["n/a"]
    assert "per_page" not in gateway.requests[-1].query
    gateway.reply("/api/about", Reply({"limits": {"perPage": 20}, "unpaginated": []}))
    gateway.reply("/api/xapps", bad, Reply(page(RECORD)))
    assert xapp("list", "-o", "name", "--gateway", gateway.url).code == 0
    assert gateway.requests[-1].query["per_page"] == ["20"]


def test_removing_needs_yes_without_a_terminal(gateway: StandInGateway, xapp: Xapp) -> None:
    done = xapp("delete", "n/a", "--gateway", gateway.url)
    assert done.code == 2
    assert "--yes" in done.err
    assert gateway.requests == []


def test_quiet_prints_results_and_errors_only(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/xapps", Reply(page()))
    assert xapp("list", "--gateway", gateway.url, "-q") == (done := xapp("list", "--gateway", gateway.url, "-q"))
    assert (done.out, done.err) == ("", "")


def test_a_removal_that_is_stalled_ends_the_wait_and_says_why(gateway: StandInGateway, xapp: Xapp) -> None:
    stalled = {**RECORD, "ready": False, "stalled": True, "message": "may not delete secrets"}
    going = Reply({**stalled, "stalled": False}, status=202)
    gateway.reply("/api/deployment/xapp", going, going, Reply(stalled, status=202))
    done = xapp("delete", "n/a", "--yes", "--wait", "--gateway", gateway.url)
    assert done.code == 1
    assert "n/a cannot be removed: may not delete secrets\n  When that is mended, run `xapp retry n/a`." in done.err
    assert len(gateway.requests) == 3


@pytest.mark.parametrize(("ready", "why"), [(False, ": it waits for the hook Job a-pre"), (True, "")])
def test_a_removal_that_takes_too_long_says_what_it_waits_for(
    gateway: StandInGateway, xapp: Xapp, monkeypatch: pytest.MonkeyPatch, ready: bool, why: str
) -> None:
    monkeypatch.setattr(removal, "time", SimpleNamespace(monotonic=iter([0.0, 0.0, 9.5]).__next__))
    going = {**RECORD, "ready": ready, "message": "it waits for the hook Job a-pre"}
    gateway.reply("/api/deployment/xapp", Reply(going, status=202))
    done = xapp("delete", "n/a", "--yes", "--wait", "--timeout", "10", "--gateway", gateway.url)
    assert done.code == 6
    assert f"n/a is still being removed{why}\n  Watch it with `xapp status n/a -w`." in done.err


def test_a_removal_waits_until_the_xapp_is_gone(gateway: StandInGateway, xapp: Xapp) -> None:
    going = Reply({**RECORD, "ready": False}, status=202)
    for last in (Reply(RECORD), problem(404, "not-found", "gone")):
        gateway.reply("/api/deployment/xapp", going, going, last)
        done = xapp("delete", "n/a", "--yes", "--wait", "--gateway", gateway.url)
        assert (done.code, done.out) == (0, "n/a is removed\n"), done.err
