"""To which revision `xapp rollback` goes back by itself."""

from __future__ import annotations

import json

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp

Revision = dict[str, object]
PATH = "/api/xapps/n/a"


def revision(number: int, status: str, description: str = "", *, healthy: bool | None = None) -> Revision:
    return {"revision": number, "status": status, "description": description, "wasHealthy": healthy}


OLD = [revision(3, "failed"), revision(2, "superseded"), revision(1, "superseded")]
UNDONE = [revision(3, "deployed", "Rollback to 1"), revision(2, "superseded")]
BEFORE = [revision(4, "superseded", "Rollback to 2"), revision(3, "superseded"), revision(2, "superseded")]
LATER = [revision(6, "deployed", "Rollback to 4"), revision(5, "superseded")]
BAD = [revision(4, "deployed"), revision(3, "superseded", healthy=False)]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], None),
        ([revision(4, "deployed")], None),
        ([revision(4, "deployed"), *OLD], 2),
        ([*UNDONE, revision(1, "superseded")], None),
        ([*LATER, *BEFORE, revision(1, "superseded")], 1),
        ([revision(5, "deployed"), *BEFORE], 4),
        ([*BAD, revision(2, "superseded", healthy=True), revision(1, "superseded")], 2),
        (BAD, None),
        ([revision(2, "deployed", "Rollback to 9"), revision(1, "superseded")], 1),
    ],
)
def test_rollback_goes_where_the_dashboard_would(
    gateway: StandInGateway, xapp: Xapp, history: list[Revision], expected: int | None
) -> None:
    """The cases of "the revision to go back to" in the dashboard's cause.test.ts."""
    newest = history[0]["revision"] if history else None
    record = {"name": "a", "namespace": "n", "release": {"revision": newest}, "history": history}
    gateway.reply(PATH, Reply(record))
    gateway.reply(f"{PATH}/rollback", Reply(record, status=202))
    done = xapp("rollback", "n/a", "--gateway", gateway.url)
    if expected is None:
        assert done.code == 3
        assert "has no other revision that worked before: choose one yourself" in done.err
        return
    assert (done.code, done.out) == (0, f"n/a is being rolled back to revision {expected}\n")
    assert json.loads(gateway.requests[-1].body) == {"revision": expected}
