"""A step that counts as failed, and of which the record of the release shows later that it has succeeded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.reconcile.xapps import raw, xapp
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import ReleaseStatus, XApp
from xapp_operator.api.names import ANNOTATION_FORCE_AT, ANNOTATION_ROLLBACK_TO
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    INSTALL,
    ROLLBACK,
    UNINSTALL,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
)
from xapp_operator.reconcile.status.attempts import rolled_back_attempt
from xapp_operator.reconcile.status.status_draft import StatusDraft, request_digest

NEW, OLD = Digests("c", "new"), Digests("c", "old")
UPGRADED = Attempt(UPGRADE, AttemptOutcome.FAILED, NEW, first_at=1.0, last_at=2.0, message="connection lost")
CAUSE = RollbackCause(revision=1, reason=Reason.HEALTH_CHECK_FAILED, message="not healthy")
ROLLED_BACK = replace(UPGRADED, action=ROLLBACK, rollback_cause=CAUSE)
UPGRADE_MADE = ObservedRelease(
    3,
    DEPLOYED,
    xapp().metadata.name,
    NEW,
    has_own_attempt=True,
    modified_at=1.0,
    past_revisions=(PastRevision(1, DEPLOYED, OLD),),
)
ROLLBACK_MADE = replace(UPGRADE_MADE, digests=OLD, has_own_attempt=False)


def draft_of(attempt: Attempt | None, found: XApp) -> StatusDraft:
    return replace(StatusDraft.from_status(found, now=2.0), attempt=attempt, release=ReleaseStatus(revision=2))


@pytest.mark.parametrize("action", [INSTALL, UPGRADE])
def test_a_step_that_has_made_the_deployed_revision_has_succeeded(action: str) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_FORCE_AT: "now"}
    asked = XApp.model_validate(body)
    failed = replace(UPGRADED, action=action, permanent=True, request_digest=request_digest(asked))
    found = draft_of(failed, asked).with_unnoticed_success(UPGRADE_MADE, asked)
    assert found.attempt == replace(failed, outcome=AttemptOutcome.RELEASED)
    assert found.handled.force_at == "now"


@pytest.mark.parametrize(
    "release",
    [
        None,
        replace(UPGRADE_MADE, status="failed"),
        replace(UPGRADE_MADE, revision=2),
        replace(UPGRADE_MADE, owner="another"),
        replace(UPGRADE_MADE, digests=None),
        replace(UPGRADE_MADE, digests=OLD),
        replace(UPGRADE_MADE, has_own_attempt=False),
    ],
    ids=["none", "failed", "known", "another owner", "a person's", "other digests", "copied labels"],
)
def test_a_step_that_has_not_made_what_is_deployed_has_failed(release: ObservedRelease | None) -> None:
    draft = draft_of(UPGRADED, xapp())
    assert draft.with_unnoticed_success(release, xapp()) is draft


@pytest.mark.parametrize(
    "attempt",
    [
        None,
        replace(UPGRADED, action=UNINSTALL),
        *(replace(UPGRADED, outcome=each) for each in AttemptOutcome if each is not AttemptOutcome.FAILED),
    ],
    ids=str,
)
def test_what_has_not_failed_stays(attempt: Attempt | None) -> None:
    draft = draft_of(attempt, xapp())
    assert draft.with_unnoticed_success(UPGRADE_MADE, xapp()) is draft


def test_an_automatic_rollback_to_what_is_deployed_has_succeeded() -> None:
    found = draft_of(ROLLED_BACK, xapp()).with_unnoticed_success(ROLLBACK_MADE, xapp())
    assert found.attempt == rolled_back_attempt(ROLLED_BACK, CAUSE)


@pytest.mark.parametrize(
    "release",
    [
        replace(ROLLBACK_MADE, revision=2),
        replace(ROLLBACK_MADE, digests=Digests("c", "other")),
        replace(ROLLBACK_MADE, past_revisions=()),
        replace(ROLLBACK_MADE, digests=None, past_revisions=(PastRevision(1, DEPLOYED),)),
    ],
    ids=["known", "other digests", "target gone", "a person's"],
)
def test_a_rollback_to_something_else_has_failed(release: ObservedRelease) -> None:
    draft = draft_of(ROLLED_BACK, xapp())
    assert draft.with_unnoticed_success(release, xapp()) is draft


@pytest.mark.parametrize(("digests", "held"), [(OLD, 1), (NEW, None)])
def test_a_requested_rollback_holds_what_is_deployed(digests: Digests, held: int | None) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_ROLLBACK_TO: "1@again"}
    body["status"]["history"] = [{"revision": 1, "status": DEPLOYED, "chartDigest": "c", "valuesDigest": "old"}]
    asked = XApp.model_validate(body)
    failed = replace(ROLLED_BACK, rollback_cause=None, rollback_to="1@again")
    found = draft_of(failed, asked).with_unnoticed_success(replace(ROLLBACK_MADE, digests=digests), asked)
    assert (found.held_revision, found.handled.rollback_to) == (held, "1@again" if held else None)
    expected = AttemptOutcome.RELEASED if held else AttemptOutcome.FAILED
    assert found.attempt == replace(failed, outcome=expected)
