"""What a row of `xapp list` shows."""

from __future__ import annotations

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway, page
from tests.unit.cli.conftest import Xapp

MESSAGE = "revision 1 of hello 0.1.0 is deployed and healthy"
RECORD = {"name": "a", "namespace": "n", "uid": "a", "phase": "Deployed", "ready": True, "health": "Healthy"}


@pytest.mark.parametrize(("drifted", "shown"), [(True, f"drifted; {MESSAGE}"), (False, MESSAGE), (None, MESSAGE)])
@pytest.mark.parametrize("more", [(), ("-o", "wide")])
def test_an_xapp_that_has_drifted_is_marked(
    gateway: StandInGateway, xapp: Xapp, more: tuple[str, ...], drifted: bool | None, shown: str
) -> None:
    gateway.reply("/api/xapps", Reply(page({**RECORD, "drifted": drifted, "message": MESSAGE})))
    done = xapp("list", *more, "--gateway", gateway.url)
    assert done.code == 0
    heading, row = done.out.splitlines()
    assert row[heading.index("MESSAGE") :].startswith(shown)
