"""Inputs for the tests of the plan: one deployed xApp, of which each test changes only what differs."""

from dataclasses import replace
from typing import Any, Literal

import pytest

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.api.spec_parts import DriftDetection, UpgradePolicy
from xapp_operator.domain.planning.actions import Action, Nothing, RejectRequest, RejectRollback, Wait
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    INSTALL,
    SUPERSEDED,
    UPGRADE,
    AnnotationRequests,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    ObservedState,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import XAppError

NAME = "acme-ran-hello-world"
NOW = 1_000_000.0
TIMEOUT = 300.0
LONG_AGO = NOW - 10 * TIMEOUT
GENERATION = 7

OLD = Digests("chart-old", "values-old")
WANTED = Digests("chart-new", "values-new")

HELD_AT_1 = Nothing(
    "rolled back to revision 1, which is held until values, version or another field of the spec changes"
)
OTHER = Digests("chart-other", "values-other")


def spec(
    *,
    adopt: bool = False,
    suspend: bool = False,
    orphan: bool = False,
    on_failure: Literal["rollback", "none"] = "rollback",
    drift: Literal["disabled", "warn", "enabled"] = "warn",
) -> XAppSpec:
    return XAppSpec(
        x_app_name="hello-world",
        organization="acme",
        team="ran",
        version="0.2.1",
        owner="jane",
        method="Upload Chart",
        namespace="ric-xapps",
        adopt=adopt,
        suspend=suspend,
        deletion_policy="Orphan" if orphan else "Uninstall",
        upgrade=UpgradePolicy(on_failure=on_failure),
        drift_detection=DriftDetection(mode=drift),
    )


def release(
    status: str = DEPLOYED,
    *,
    revision: int = 2,
    owner: str | None = NAME,
    digests: Digests | None = WANTED,
    attempt_is_ours: bool = True,
    modified_at: float = LONG_AGO,
    earlier: tuple[PastRevision, ...] = (),
) -> ObservedRelease:
    return ObservedRelease(
        revision=revision,
        status=status,
        owner=owner,
        digests=digests,
        has_own_attempt=attempt_is_ours,
        modified_at=modified_at,
        past_revisions=earlier,
    )


DEPLOYED_BEFORE = (PastRevision(1, SUPERSEDED, OLD),)
"""Revision 1, deployed before revision 2."""

NEVER_HEALTHY_BEFORE = (PastRevision(1, SUPERSEDED, OLD, was_healthy=False),)
"""Revision 1, deployed before revision 2, whose objects never became healthy."""

STILL_DEPLOYED = (PastRevision(1, DEPLOYED, OLD),)
"""Revision 1, which helm goes on calling deployed when the upgrade to revision 2 failed."""


def attempt(
    outcome: AttemptOutcome,
    *,
    action: str = UPGRADE,
    digests: Digests | None = WANTED,
    first_at: float = NOW - 2.0,
    last_at: float = NOW - 2.0,
    generation: int = GENERATION,
    count: int = 1,
    permanent: bool = False,
    reason: Reason = Reason.UPGRADE_FAILED,
    message: str = "helm's own error",
) -> Attempt:
    return Attempt(
        action=action,
        outcome=outcome,
        digests=digests,
        first_at=first_at,
        last_at=last_at,
        generation=generation,
        count=count,
        permanent=permanent,
        reason=reason,
        message=message,
    )


def plan_input(
    there: ObservedRelease | None = None,
    *,
    last: Attempt | None = None,
    desired: Digests | XAppError | None = WANTED,
    wanted: XAppSpec | None = None,
    health: HealthStatus = HealthStatus.HEALTHY,
    requests: AnnotationRequests | None = None,
    helm_running: bool = False,
    terminating: bool = False,
    waiting_for: tuple[str, ...] = (),
    deleting: bool = False,
    current: bool = True,
    held: int | None = None,
    observed: dict[str, Any] | None = None,
) -> PlanInput:
    return PlanInput(
        name=NAME,
        spec=wanted or spec(),
        generation=GENERATION,
        deleting=deleting,
        generation_observed=current,
        held_revision=held,
        observed=ObservedState(
            release=there,
            helm_running=helm_running,
            namespace_terminating=terminating,
            unready_dependencies=waiting_for,
            held_copies=frozenset() if held is None else frozenset({1, 2, 3}),
            **(observed or {}),
        ),
        desired=desired,
        health=health,
        root_cause="pod hello-world-0: CrashLoopBackOff",
        attempt=last,
        requests=requests or AnnotationRequests(),
        now=NOW,
    )


INSTALLED = attempt(AttemptOutcome.SUCCEEDED, action=INSTALL, first_at=LONG_AGO, last_at=LONG_AGO)


def wait(reason: Reason, *, stalled: bool = False, until: float | None = None) -> Wait:
    """Return a Wait whose message is left open; compare it with `without_message` of the action."""
    return Wait(reason, "", stalled=stalled, until=until)


def case(name: str, given: PlanInput, expected: Action) -> object:
    return pytest.param(given, expected, id=name)


def without_message(action: Action) -> Action:
    """Return `action` without its message."""
    return replace(action, message="") if isinstance(action, Wait | RejectRequest | RejectRollback) else action
