"""The history in the status: what Helm keeps, and what is known of the health of each revision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus, XApp
from xapp_operator.domain.planning.plan_input import (
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    TestOutcome,
    TestRun,
)
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.reconcile.status.revision_history import (
    FAILURE_MAX,
    UNKNOWN_REVISIONS_MAX,
    UNSETTLED_SECONDS,
    HealthMarks,
    build_history,
    find_copies,
    find_digests,
    find_rollback_target,
    find_undescribed,
    forget_other_revisions,
    with_failed_revision,
)
from xapp_operator.reconcile.status.status_draft import StatusDraft

KEY = ("ns", "hello")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
UPGRADE = Attempt("Upgrade", AttemptOutcome.RELEASED, None, first_at=1.0, last_at=1.0)
DEPLOYED = ReleaseStatus(
    revision=3,
    chart="hello",
    chart_version="0.1.0",
    app_version="1",
    chart_digest="c3",
    values_digest="v3",
    description="done",
)


def info(revision: int, status: str = "superseded") -> RevisionInfo:
    return RevisionInfo(
        revision=revision,
        status=status,
        xapp="hello",
        chart_digest=f"c{revision}",
        values_digest=f"v{revision}",
        attempt="",
        created=0,
        modified=0,
        secret_uid="u",
        resource_version="1",
    )


def known(revision: int, *, healthy: bool | None = None, status: str = "deployed") -> RevisionStatus:
    return RevisionStatus(revision=revision, status=status, was_healthy=healthy)


def draft(*history: RevisionStatus, attempt: Attempt | None = UPGRADE) -> StatusDraft:
    return replace(StatusDraft.from_status(XApp.model_validate(raw()), now=1.0), history=history, attempt=attempt)


def recorded(*uids: str) -> ObservedRelease:
    """Return a release whose revisions, from 1 on, have these uids."""
    past = tuple(PastRevision(number, "superseded", secret_uid=uid) for number, uid in enumerate(uids[:-1], start=1))
    return ObservedRelease(
        len(uids),
        "deployed",
        "hello",
        None,
        has_own_attempt=True,
        modified_at=1.0,
        past_revisions=past,
        secret_uid=uids[-1],
    )


def known_until(revision: int, *uids: str | None) -> StatusDraft:
    """Return what the status knows of revisions, of which `revision` is in force and tested; the oldest is 1."""
    history = [RevisionStatus(revision=number, status="x", secret_uid=uid) for number, uid in enumerate(uids, start=1)]
    test = TestRun(revision, TestOutcome.FAILED, first_at=1.0, last_at=1.0, secret_uid=uids[revision - 1] or "")
    release = DEPLOYED.model_copy(update={"revision": revision})
    return replace(draft(*reversed(history)), release=release, test=test, labelled_revision=revision)


def what_is_left(before: StatusDraft, release: ObservedRelease | None) -> tuple[list[int], int | None, int | None]:
    """Return the revisions of which history, release and tests still tell."""
    after = forget_other_revisions(before, release)
    in_force = after.release.revision
    assert after.labelled_revision == in_force
    assert (after.release.chart_digest, after.release.values_digest) == (("c3", "v3") if in_force else (None, None))
    assert after.release.chart == "hello"
    return [each.revision for each in after.history], in_force, None if after.test is None else after.test.revision


@pytest.mark.parametrize(
    ("before", "release", "expected"),
    [
        (known_until(3, "a", "b", "c"), recorded("a", "b", "c"), ([3, 2, 1], 3, 3)),
        (known_until(3, "a", "b", "c"), recorded("a", "b", "c", "d"), ([3, 2, 1], 3, 3)),
        (known_until(3, "a", "b", "c"), recorded("x", "y", "z"), ([], None, None)),
        (known_until(3, "a", "b", "c"), recorded("x", "y", "z", "w"), ([], None, None)),
        (known_until(3, "a", "b", "c"), recorded("x"), ([], None, None)),
        (known_until(3, "a", "b", "c"), None, ([], None, None)),
        (known_until(2, "a", "b", "c"), recorded("a", "b"), ([2, 1], 2, 2)),
        (known_until(3, "a", "b", "c"), recorded("a", "b", "other"), ([2, 1], None, None)),
        (known_until(2, "a", "b", "c"), recorded("a", "b", "other"), ([2, 1], 2, 2)),
        (known_until(3, None, None, None), recorded("a", "b", "c"), ([3, 2, 1], 3, 3)),
        (known_until(3, "a", "b", "c"), recorded("", "", ""), ([3, 2, 1], 3, 3)),
        (known_until(3, None, None, None), recorded("a"), ([1], None, None)),
    ],
)
def test_what_is_known_of_another_record_is_forgotten(
    before: StatusDraft, release: ObservedRelease | None, expected: tuple[list[int], int | None, int | None]
) -> None:
    assert what_is_left(before, release) == expected


def test_what_is_known_of_a_revision_that_was_pruned_is_kept() -> None:
    there = replace(recorded("a", "b", "c", "d"), past_revisions=(PastRevision(3, "superseded", secret_uid="c"),))
    assert what_is_left(known_until(3, "a", "b", "c"), there) == ([3, 2, 1], 3, 3)
    only_newest = replace(there, past_revisions=())
    assert what_is_left(known_until(3, "a", "b", "c"), only_newest) == ([3, 2, 1], 3, 3)


def test_the_uid_of_a_record_is_noted_when_it_is_first_seen() -> None:
    found = build_history(draft(known(2)), DEPLOYED, [info(1), info(2), info(3, "deployed")])
    assert [(each.revision, each.secret_uid) for each in found] == [(3, "u"), (2, None), (1, "u")]


def test_of_thousands_of_revisions_the_newest_and_the_known_ones_are_looked_at() -> None:
    stored = [*map(info, range(1, 5000)), info(5000, "deployed")]
    deployed = DEPLOYED.model_copy(update={"revision": 5000})
    found = build_history(draft(known(7, healthy=True), known(3)), deployed, stored)
    newest = range(5000, 5000 - UNKNOWN_REVISIONS_MAX, -1)
    assert [each.revision for each in found] == [*newest, 7, 3]


def test_a_new_revision_comes_first_and_was_not_healthy_yet() -> None:
    found = build_history(draft(known(2, healthy=True)), DEPLOYED, [info(2), info(3, "deployed")])
    assert found == (
        RevisionStatus(
            revision=3,
            secret_uid="u",
            status="deployed",
            chart="hello",
            chart_version="0.1.0",
            app_version="1",
            action="Upgrade",
            description="done",
            was_healthy=False,
            chart_digest="c3",
            values_digest="v3",
        ),
        RevisionStatus(revision=2, status="superseded", was_healthy=True, chart_digest="c2", values_digest="v2"),
    )


@pytest.mark.parametrize(
    ("attempt", "before", "healthy"),
    [(None, (known(2),), None), (UPGRADE, (known(4),), None), (UPGRADE, (), False), (UPGRADE, (known(2),), False)],
)
def test_of_a_release_that_was_there_before_nothing_is_known(
    attempt: Attempt | None, before: tuple[RevisionStatus, ...], healthy: bool | None
) -> None:
    (found,) = build_history(draft(*before, attempt=attempt), DEPLOYED, [info(3, "deployed")])
    assert (found.was_healthy, found.action) == (healthy, attempt and "Upgrade")


@pytest.mark.parametrize("attempt", [None, UPGRADE])
def test_a_revision_that_helm_rolled_back_to_is_a_rollback(attempt: Attempt | None) -> None:
    deployed = DEPLOYED.model_copy(update={"description": "Rollback to 1"})
    (found,) = build_history(draft(known(2), attempt=attempt), deployed, [info(3, "deployed")])
    assert found.action == "Rollback"


@pytest.mark.parametrize(
    ("description", "action"),
    [("Install complete", "Install"), ("Upgrade complete", "Upgrade"), ("more cells", "Install"), (None, "Install")],
)
def test_helm_tells_what_made_a_revision_and_not_the_step_before(description: str | None, action: str) -> None:
    deployed = DEPLOYED.model_copy(update={"description": description})
    installed = replace(UPGRADE, action="Install")
    (found,) = build_history(draft(known(2), attempt=installed), deployed, [info(3, "deployed")])
    assert found.action == action


def test_a_revision_that_is_known_keeps_what_is_known() -> None:
    before = RevisionStatus(revision=3, status="deployed", action="Install", was_healthy=True)
    (found,) = build_history(draft(before), DEPLOYED, [info(3, "deployed")])
    assert (found.action, found.was_healthy, found.chart) == ("Install", True, None)


@pytest.mark.parametrize("status", ["deployed", "superseded"])
def test_the_digests_of_what_was_deployed_stay_as_they_were_found(status: str) -> None:
    found_before = known(2).model_copy(update={"deployed_at": NOW, "chart_digest": None, "values_digest": None})
    deployed = DEPLOYED.model_copy(update={"chart_digest": None, "values_digest": None})
    found = build_history(draft(found_before, known(1)), deployed, [info(1), info(2, status), info(3, "deployed")])
    assert [(each.chart_digest, each.values_digest) for each in found] == [(None, None), (None, None), ("c1", "v1")]


@pytest.mark.parametrize(
    ("description", "first", "history", "is_known"),
    [
        ("Upgrade complete", 3, {}, True),
        ("Upgrade complete", 2, {}, False),  # a person's: it has the labels of the one before
        ("Upgrade complete", 1, {}, False),
        (None, 2, {}, False),
        ("Rollback to 1", 1, {}, True),
        ("Rollback to 2", 1, {}, False),  # a copy of a person's upgrade
        ("Rollback to 2", 1, {2: "3"}, True),
        ("Rollback to 1", 1, {1: None}, False),
        ("Rollback to 1", 3, {1: None}, False),  # all others are deleted
        ("Rollback to 1", 1, {1: "1"}, False),  # the number was used again
        ("Upgrade complete", 3, {3: "3"}, True),
        ("Upgrade complete", 1, {3: "3"}, True),
        ("Upgrade complete", 3, {3: None}, False),
        ("Rollback to 1", 1, {3: None, 1: "3"}, False),
    ],
)
@pytest.mark.parametrize("changed", ["chart_digest", "values_digest"])
def test_the_digests_of_a_revision_are_those_that_it_was_made_from(
    changed: str, description: str | None, first: int, history: dict[int, str | None], is_known: bool
) -> None:
    digests = {"chart_digest": "c3", "values_digest": "v3"}
    entries = [
        known(number).model_copy(update={**digests, changed: digest and f"{changed[0]}{digest}", "deployed_at": NOW})
        for number, digest in history.items()
    ]
    deployed = ReleaseStatus(revision=3, description=description)
    found = find_digests(deployed, info(3, "deployed"), entries, first=first)
    assert found == (Digests("c3", "v3") if is_known else None)


def test_what_was_never_seen_deployed_tells_nothing_of_a_copy() -> None:
    deployed = ReleaseStatus(revision=3, description="Rollback to 2")
    newest = info(3, "deployed")
    assert find_digests(deployed, newest, [known(2)], first=2) == Digests("c3", "v3")
    assert find_digests(deployed, newest, [known(2)], first=2, undescribed={2}) is None
    assert find_digests(deployed, newest, [known(2)], first=3, undescribed={2}) == Digests("c3", "v3")


def failed_attempt(message: str = "refused", outcome: AttemptOutcome = AttemptOutcome.FAILED) -> Attempt:
    return replace(UPGRADE, outcome=outcome, message=message)


def attempted(revision: int, status: str = "failed", *, label: str = "mine") -> RevisionInfo:
    return replace(info(revision, status), attempt=label)


def test_a_revision_that_failed_tells_what_was_tried_and_why() -> None:
    before = draft(known(3, healthy=True), attempt=failed_attempt())
    after = with_failed_revision(before, DEPLOYED, [attempted(4), info(3, "deployed")], labels=["mine"], keep=9)
    assert after == replace(before, history=(after.history[0], *before.history))
    assert after.history[0] == RevisionStatus(
        revision=4,
        secret_uid="u",
        status="failed",
        chart="hello",
        chart_version="0.1.0",
        app_version="1",
        chart_digest="c3",
        values_digest="v3",
        action="Upgrade",
        description="refused",
        was_healthy=False,
    )


@pytest.mark.parametrize(
    ("attempt", "stored", "after"),
    [
        (None, [attempted(4)], 0),
        (failed_attempt(), [], 0),
        (failed_attempt(), [attempted(4, label="other")], 0),
        (failed_attempt(), [attempted(4, "deployed")], 0),
        (failed_attempt(), [attempted(4, "pending-upgrade")], 0),
        (failed_attempt(), [attempted(4, "deployed"), attempted(5)], 0),  # a person's, with the labels of ours
        (failed_attempt(), [attempted(3)], 0),  # known already
        (failed_attempt(), [attempted(4)], 4),
    ],
)
def test_only_what_the_attempt_has_made_is_told_as_failed(
    attempt: Attempt | None, stored: list[RevisionInfo], after: int
) -> None:
    before = draft(known(3), attempt=attempt)
    assert with_failed_revision(before, DEPLOYED, stored, labels=["mine"], keep=9, after=after) is before


def test_of_a_step_that_was_repeated_any_run_is_told() -> None:
    before, stored = draft(known(3), attempt=failed_attempt()), [attempted(4), attempted(5, label="second")]
    for kept, expected in ((stored, 4), (stored[1:], 5)):
        found = with_failed_revision(before, DEPLOYED, kept, labels=["mine", "second"], keep=9).history
        assert [each.revision for each in found if each.description == "refused"] == [expected]


def test_of_a_copy_only_the_first_revision_after_the_newest_is_told() -> None:
    stored = [attempted(each) for each in (6, 2, 5, 4)]
    found = with_failed_revision(
        draft(attempt=failed_attempt()), DEPLOYED, stored, labels=["mine"], keep=9, after=4
    ).history
    assert [each.revision for each in found] == [5]


@pytest.mark.parametrize(
    ("keep", "numbers", "expected"), [(2, (1, 3), [3, 1]), (3, (1, 3), [4, 3, 1]), (3, (2, 3), [4, 3, 2])]
)
def test_a_revision_that_failed_takes_no_place_of_one_that_is_kept(
    keep: int, numbers: tuple[int, ...], expected: list[int]
) -> None:
    before = draft(*(known(each) for each in reversed(numbers)), attempt=failed_attempt())
    kept = [*(info(each) for each in numbers), attempted(4)]
    found = with_failed_revision(before, DEPLOYED, kept, labels=["mine"], keep=keep)
    assert [each.revision for each in found.history] == expected


def test_what_is_deleted_after_the_step_is_not_told_beside_what_failed() -> None:
    before = draft(known(3), known(2), known(1), attempt=failed_attempt())
    found = with_failed_revision(before, DEPLOYED, [info(1), info(3), attempted(4)], labels=["mine"], keep=3)
    assert [each.revision for each in found.history] == [4, 3, 1]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("a\n b", "a b"),
        ("x" * FAILURE_MAX, "x" * FAILURE_MAX),
        ("x" * (FAILURE_MAX + 1), "x" * (FAILURE_MAX - 1) + "…"),
        ("", "interrupted before it was over"),
    ],
)
def test_the_error_of_a_revision_that_failed_is_one_short_line(message: str, shown: str) -> None:
    before = draft(attempt=failed_attempt(message))
    (found,) = with_failed_revision(before, DEPLOYED, [attempted(4)], labels=["mine"], keep=9).history
    assert found.description == shown


@pytest.mark.parametrize(
    ("before", "expected"),
    [((), [(6, False)]), ((known(3),), [(6, False), (5, False), (4, False), (3, None)])],
)
def test_what_is_between_the_known_revisions_and_a_failed_one_never_was_healthy(
    before: tuple[RevisionStatus, ...], expected: list[tuple[int, bool | None]]
) -> None:
    stored = [info(2), info(3), info(4), info(5), attempted(6), info(7)]
    found = with_failed_revision(
        draft(*before, attempt=failed_attempt()), DEPLOYED, stored, labels=["mine"], keep=9
    ).history
    assert [(each.revision, each.was_healthy) for each in found] == expected


def test_the_digests_of_a_revision_that_failed_stay_as_they_were_known() -> None:
    failed = known(2).model_copy(update={"action": "Rollback"})
    found = build_history(draft(failed), DEPLOYED, [info(2, "failed"), info(3, "deployed")])
    assert [(each.chart_digest, each.values_digest) for each in found] == [("c3", "v3"), (None, None)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, {2}),
        ({"deployed_at": NOW}, set()),
        ({"action": "Install"}, set()),
        ({"action": "Upgrade"}, set()),
        ({"action": "Rollback"}, {2}),
    ],
)
def test_what_a_chart_was_tried_for_is_described(row: dict[str, object], expected: set[int]) -> None:
    assert find_undescribed([known(2).model_copy(update=row)]) == expected


def test_a_revision_after_the_known_ones_never_was_healthy() -> None:
    found = build_history(draft(known(3)), DEPLOYED, [info(number) for number in (2, 3, 4)])
    assert [(each.revision, each.was_healthy) for each in found] == [(4, False), (3, None), (2, None)]
    found = build_history(draft(), ReleaseStatus(), [info(2)])
    assert [(each.revision, each.was_healthy) for each in found] == [(2, None)]


def release(*past: PastRevision, status: str = "deployed") -> ObservedRelease:
    return ObservedRelease(3, status, "hello", None, has_own_attempt=True, modified_at=1.0, past_revisions=past)


@pytest.mark.parametrize(
    ("observed", "health", "expected"),
    [
        (release(), HealthStatus.HEALTHY, [True, False, None]),
        (release(status="failed"), HealthStatus.HEALTHY, [False, False, None]),
        (release(), HealthStatus.PROGRESSING, [False, False, None]),
        (None, HealthStatus.HEALTHY, [False, False, None]),
    ],
)
def test_a_deployed_revision_becomes_healthy(
    observed: ObservedRelease | None, health: HealthStatus, expected: list[bool | None]
) -> None:
    history = (known(3, healthy=False), known(2, healthy=False), known(1))
    found = HealthMarks().with_health(KEY, history, observed, health, now=0.0)
    assert [each.was_healthy for each in found] == expected


@pytest.mark.parametrize("health", [HealthStatus.HEALTHY, HealthStatus.DEGRADED])
def test_what_is_not_known_of_the_deployed_revision_stays_unknown(health: HealthStatus) -> None:
    history = (known(3),)
    assert HealthMarks().with_health(KEY, history, release(), health, now=0.0) == history


@pytest.mark.parametrize(
    ("health", "seconds", "healthy"),
    [
        (HealthStatus.DEGRADED, UNSETTLED_SECONDS - 1.0, False),
        (HealthStatus.DEGRADED, UNSETTLED_SECONDS, True),
        (HealthStatus.PROGRESSING, 1.0, True),
        (HealthStatus.UNKNOWN, 1.0, True),
    ],
)
def test_a_revision_that_is_degraded_soon_after_it_was_healthy_never_was(
    health: HealthStatus, seconds: float, healthy: bool
) -> None:
    marks = HealthMarks()
    history = marks.with_health(
        KEY, (known(3, healthy=False), known(2, healthy=True)), release(), HealthStatus.HEALTHY, now=100.0
    )
    history = marks.with_health(KEY, history, release(), HealthStatus.HEALTHY, now=100.5 + seconds)  # says nothing new
    found = marks.with_health(KEY, history, release(), health, now=100.0 + seconds)
    assert [each.was_healthy for each in found] == [healthy, True]


def test_only_the_xapp_and_revision_that_became_healthy_are_unsettled() -> None:
    marks, healthy = HealthMarks(), (known(3, healthy=True),)
    marks.with_health(KEY, (known(3, healthy=False),), release(), HealthStatus.HEALTHY, now=100.0)
    assert marks.with_health(("ns", "other"), healthy, release(), HealthStatus.DEGRADED, now=101.0) == healthy
    newer, history = replace(release(), revision=4), (known(4, healthy=True), *healthy)
    assert marks.with_health(KEY, history, newer, HealthStatus.DEGRADED, now=101.0) == history
    marks.forget(KEY)
    assert marks.with_health(KEY, healthy, release(), HealthStatus.DEGRADED, now=101.0) == healthy


@pytest.mark.parametrize(
    ("held", "descriptions", "newest", "copies"),
    [
        (None, {3: "Rollback to 1"}, "Rollback to 1", set()),
        (1, {}, None, {1}),
        (1, {}, "Upgrade complete", {1}),
        (1, {}, "Rollback to 1", {1, 9}),
        (1, {}, "Rollback to 11", {1}),
        (1, {3: "Rollback to 1", 2: "Upgrade complete"}, "Upgrade complete", {1, 3}),
        (1, {5: "Rollback to 3", 3: "Rollback to 1"}, "Rollback to 5", {1, 3, 5, 9}),
        (1, {5: "Rollback to 3", 3: "Rollback to 2"}, "Rollback to 5", {1}),
        (1, {9: "Rollback to 1"}, "Upgrade complete", {1}),
    ],
)
def test_copies_of_a_revision_are_found_by_the_descriptions_of_rollbacks(
    held: int | None, descriptions: dict[int, str], newest: str | None, copies: set[int]
) -> None:
    history = [
        RevisionStatus(revision=number, status="superseded", description=each) for number, each in descriptions.items()
    ]
    assert find_copies(held, history, ReleaseStatus(revision=9, description=newest)) == copies
    others = copies - {9} if 9 not in descriptions else copies | {9}
    assert find_copies(held, history, ReleaseStatus()) == others


@pytest.mark.parametrize(
    ("history", "target"),
    [
        ([known(3, healthy=True), known(2, status="superseded")], 3),
        ([known(3, healthy=False), known(2, status="superseded"), known(1, status="superseded")], 2),
        ([known(3, status="failed"), known(2, healthy=True, status="superseded")], 2),
        ([known(3, status="pending-upgrade"), known(2, status="uninstalled")], None),
        ([], None),
    ],
)
def test_an_upgrade_rolls_back_to_the_newest_revision_that_was_deployed_and_not_unhealthy(
    history: list[RevisionStatus], target: int | None
) -> None:
    assert find_rollback_target(history) == target
