"""How long a denial may come from an API server that has just started."""

from __future__ import annotations

import pytest

from tests.support.fakes.clock import FakeClock
from xapp_operator.errors import AccessDenied, ApiUnavailable, KubeError, Unauthenticated
from xapp_operator.kube import startup_denials
from xapp_operator.kube.startup_denials import StartupDenials


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    made.advance(100)
    monkeypatch.setattr(startup_denials, "time", made)
    return made


@pytest.mark.parametrize("error", [AccessDenied("no"), Unauthenticated("who?")])
def test_denials_in_a_row_may_pass_for_fifteen_seconds(clock: FakeClock, error: KubeError) -> None:
    denials = StartupDenials()
    for _ in range(2):
        assert denials.may_pass(error)
        clock.advance(14.5)
        assert denials.may_pass(error)
        clock.advance(0.5)
        assert not denials.may_pass(error)
        denials.end()


def test_another_error_is_no_denial(clock: FakeClock) -> None:
    denials = StartupDenials(seconds=2)
    assert not denials.may_pass(ApiUnavailable("down"))
    clock.advance(2)
    assert denials.may_pass(AccessDenied("no"))
