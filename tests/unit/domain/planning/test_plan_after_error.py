"""What users are told of errors while an XApp is observed, or an action is executed."""

from __future__ import annotations

import pytest

from tests.unit.domain.planning.plan_inputs import spec
from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.actions import Wait
from xapp_operator.domain.planning.plan import plan_after_error
from xapp_operator.errors import AccessDenied, KubeError, MissingRight

PASSING = KubeError("the API server does not answer")
LASTING = KubeError("the API server refuses it", permanent=True)


@pytest.mark.parametrize(("deleting", "reason"), [(False, Reason.UPGRADE_FAILED), (True, Reason.UNINSTALL_FAILED)])
def test_an_error_that_does_not_pass_stalls(deleting: bool, reason: Reason) -> None:
    found = plan_after_error(LASTING, spec(), deleting=deleting, again=False)
    assert found == Wait(reason, LASTING.message, stalled=True)


def test_an_error_that_may_pass_is_told_when_it_comes_again() -> None:
    assert plan_after_error(PASSING, spec(), deleting=False, again=False) is None
    assert plan_after_error(PASSING, spec(), deleting=False, again=True) == Wait(Reason.PROGRESSING, PASSING.message)


@pytest.mark.parametrize("error", [PASSING, LASTING])
def test_an_xapp_that_is_suspended_stays_so_unless_it_is_being_deleted(error: KubeError) -> None:
    suspended = spec(suspend=True)
    found = plan_after_error(error, suspended, deleting=False, again=True)
    assert found is not None
    assert (found.reason, found.stalled) == (Reason.SUSPENDED, False)
    deleting = plan_after_error(error, suspended, deleting=True, again=True)
    assert deleting == plan_after_error(error, spec(), deleting=True, again=True)


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (MissingRight("create", "apps", "deployments"), "denied. Grant that permission, then request a retry"),
        (MissingRight("impersonate", "", "serviceaccounts"), "denied"),  # that message says it
        (None, "denied"),
    ],
)
def test_whoever_lacks_a_right_is_told_what_to_do(missing: MissingRight | None, told: str) -> None:
    error = AccessDenied("denied", missing=(missing,) if missing is not None else ())
    found = plan_after_error(error, spec(), deleting=False, again=False)
    assert found == Wait(Reason.ACCESS_DENIED, told, stalled=True)
