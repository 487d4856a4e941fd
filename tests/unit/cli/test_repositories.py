"""What `xapp repo remove` says of the XApps that use a repository, and which one it removes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.command_line import CommandLine, plain
from tests.support.stand_in_gateway import Reply, StandInGateway, problem
from tests.unit.cli.conftest import Xapp

PATH: Final = "/api/repositories/n/acme"
RECORD: Final = {"name": "acme", "namespace": "n", "uid": "u1"}
NAMES: Final = [f"xapp-{number}" for number in range(10)]
AGAIN: Final = "running. The operator saves the address again when it next looks at one of them."
NOT_AGAIN: Final = "The operator does not save it again, because it has more than an address: until you add it again,"


def used_by(count: int) -> dict[str, Any]:
    """Return the record of a repository that so many XApps use: the gateway names ten of them."""
    return {**RECORD, "usedBy": {"count": count, "names": NAMES[:count]}}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (used_by(0), ""),
        (used_by(1), f"n/acme is used by 1 XApp: xapp-0. It keeps {AGAIN}"),
        (used_by(5), f"n/acme is used by 5 XApps: {', '.join(NAMES[:5])}. They keep {AGAIN}"),
        (used_by(6), f"n/acme is used by 6 XApps: {', '.join(NAMES[:5])}, 1 more. They keep {AGAIN}"),
        (used_by(5407), f"n/acme is used by 5407 XApps: {', '.join(NAMES[:5])}, 5402 more. They keep {AGAIN}"),
        ({**RECORD, "usedBy": None}, "n/acme may be used by XApps that you may not list"),
    ],
)
def test_the_xapps_that_use_it_are_named(
    gateway: StandInGateway, xapp: Xapp, record: dict[str, Any], said: str
) -> None:
    gateway.reply(PATH, Reply(record), Reply(b"", status=204))
    done = xapp("repo", "remove", "acme", "-n", "n", "--yes", "--gateway", gateway.url)
    warning = f"warning: {said}\n" if said else ""
    assert (done.code, done.out, done.err) == (0, "", f"{warning}n/acme is removed\n")
    assert [each.method for each in gateway.requests] == ["GET", "DELETE"]
    assert gateway.requests[-1].headers["If-Match"] == '"u1"', "another one of its name was not asked about"


@pytest.mark.parametrize(
    "setting",
    [
        {"hasCredentials": True},
        {"hasCaBundle": True},
        {"insecureSkipTLSVerify": True},
        {"allowPlainHTTP": True},
        {"verify": {"provider": "cosign", "secretRef": {"name": "keys"}}},
    ],
)
@pytest.mark.parametrize(("count", "they"), [(1, "it"), (2, "they")])
def test_one_with_more_than_an_address_is_not_saved_again(
    gateway: StandInGateway, xapp: Xapp, setting: dict[str, Any], count: int, they: str
) -> None:
    gateway.reply(PATH, Reply({**used_by(count), **setting}), Reply(b"", status=204))
    done = xapp("repo", "remove", "acme", "-n", "n", "--yes", "--gateway", gateway.url)
    assert f"running. {NOT_AGAIN} {they} cannot be upgraded.\n" in done.err
    assert "saves the address" not in done.err


def test_they_are_named_before_the_question(gateway: StandInGateway, tmp_path: Path) -> None:
    gateway.reply(PATH, Reply(used_by(2)))
    line = CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url})
    done = line.run_on_terminal("repo", "remove", "acme", "-n", "n", answers={"Remove the repository n/acme?": "n\n"})
    shown = plain(done.out)
    assert done.code == 1
    assert shown.index("is used by 2 XApps: xapp-0, xapp-1.") < shown.index("Remove the repository n/acme?")
    assert "nothing was removed" in shown
    assert [each.method for each in gateway.requests] == ["GET"]


def test_nothing_is_removed_where_nobody_can_be_asked(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, Reply(used_by(0)))
    done = xapp("repo", "remove", "acme", "-n", "n", "--gateway", gateway.url)
    assert done.code == 2
    assert "confirm with --yes" in done.err
    assert [each.method for each in gateway.requests] == ["GET"]


def test_who_may_remove_it_but_not_see_it_removes_it(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, problem(403, "forbidden", "you may not get chartrepositories"), Reply(b"", status=204))
    done = xapp("repo", "remove", "acme", "-n", "n", "--yes", "--gateway", gateway.url)
    assert done.code == 0
    assert done.err == "warning: n/acme may be used by XApps that you may not list\nn/acme is removed\n"
    assert "If-Match" not in gateway.requests[-1].headers


def test_one_that_is_not_there_is_not_asked_about(gateway: StandInGateway, xapp: Xapp) -> None:
    done = xapp("repo", "remove", "acme", "-n", "n", "--yes", "--gateway", gateway.url)
    assert done.code == 3
    assert [each.method for each in gateway.requests] == ["GET"]
