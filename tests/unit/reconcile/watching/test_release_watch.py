"""What the labels of Helm's Secrets tell of a release, and how the operator learns of a change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.kube.list_watch_server import ListWatchServer
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.common.clock import SYSTEM_CLOCK
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning.plan_input import (
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    PastRevision,
    PendingRevision,
)
from xapp_operator.errors import KubeError
from xapp_operator.reconcile.watching.release_watch import ReleaseWatch
from xapp_operator.reconcile.watching.secret_watch import SecretWatch

OURS = {"xapp-operator.io/xapp": "hello", "xapp-operator.io/chart-digest": "c", "xapp-operator.io/values-digest": "v"}
ATTEMPT = "xapp-operator.io/attempt"
CREATED = "1970-01-01T00:01:40Z"
CAUSE = RollbackCause(revision=1, reason="HealthCheckFailed", message="pod a-0: OOM")
ROLLBACK = Attempt("Rollback", AttemptOutcome.RUNNING, Digests("c", "v"), first_at=1.0, last_at=1.0)


class Setup:
    """A server with the Secrets of one release, and the watch of them."""

    def __init__(self) -> None:
        self.server = ListWatchServer()
        self.lists: list[str] = []
        self.refused = False
        self.changed: list[tuple[str, str]] = []
        self.secrets: SecretWatch
        self.releases: ReleaseWatch

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "name=hello" in request.query.get("labelSelector", ""):
            self.lists.append(request.query["labelSelector"])
            if self.refused:
                return web.json_response({"kind": "Status", "code": 403, "reason": "Forbidden"}, status=403)
            items = list(self.server.objects.values())
            return web.json_response({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items})
        return await self.server.handle(request)

    def body(
        self, revision: int, status: str, *, created: str = CREATED, modified: str = "", **labels: str
    ) -> dict[str, Any]:
        self.server.version += 1
        name = f"sh.helm.release.v1.hello.v{revision}"
        own = {"owner": "helm", "name": "hello", "status": status, "version": str(revision)}
        metadata = {"name": name, "namespace": "ric", "uid": f"uid-{revision}", "labels": {**own, **labels}}
        times = {"creationTimestamp": created, "managedFields": [{"manager": "Helm", "time": modified or created}]}
        return {"metadata": {**metadata, **times, "resourceVersion": str(self.server.version)}}

    def store(self, revision: int, status: str, **given: str) -> dict[str, Any]:
        body = self.body(revision, status, **given)
        self.server.objects["ric", body["metadata"]["name"]] = body
        return body

    def release(self, attempt: Attempt | None = None) -> ObservedRelease | None:
        return self.releases.get_release("ric", "hello", attempt=attempt)

    async def start(self) -> None:
        self.secrets.set_needed("ric", needed=True)
        await eventually(lambda: self.secrets.is_watched("ric"), what="the first list")


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    one = Setup()
    kube = await connect(one.handle)
    one.secrets = SecretWatch(kube, Settings(), on_status=lambda _: None)
    one.releases = ReleaseWatch(kube, one.secrets, on_change=one.changed.append, clock=SYSTEM_CLOCK)
    yield one
    await one.secrets.stop()


async def test_the_newest_revision_is_the_release(setup: Setup) -> None:
    setup.store(1, "superseded", **OURS, **{ATTEMPT: "one"})
    setup.store(2, "deployed", **OURS, **{ATTEMPT: "two"}, modified="1970-01-01T00:03:20Z", modifiedAt="150")
    assert setup.release() is None
    await setup.start()
    assert setup.release() == ObservedRelease(
        revision=2,
        status="deployed",
        owner="hello",
        digests=Digests("c", "v"),
        has_own_attempt=True,
        modified_at=200.0,
        past_revisions=(PastRevision(1, "superseded", Digests("c", "v"), secret_uid="uid-1"),),
        secret_uid="uid-2",
    )
    assert setup.releases.get_release("ric", "other", attempt=None) is None


async def test_a_release_without_labels_belongs_to_nobody(setup: Setup) -> None:
    setup.store(1, "deployed")
    await setup.start()
    found = setup.release()
    assert found is not None
    assert (found.owner, found.digests, found.has_own_attempt, found.modified_at) == (None, None, False, 100.0)


@pytest.mark.parametrize("missing", ["xapp-operator.io/chart-digest", "xapp-operator.io/values-digest"])
async def test_one_digest_alone_counts_as_none(setup: Setup, missing: str) -> None:
    setup.store(1, "deployed", **{key: value for key, value in OURS.items() if key != missing})
    await setup.start()
    found = setup.release()
    assert found is not None
    assert found.digests is None


async def test_a_copy_keeps_its_digests_until_it_is_read_when_the_revisions_between_are_deleted(setup: Setup) -> None:
    for revision in (5, 7):
        setup.store(revision, "deployed", **OURS, **{ATTEMPT: "five"})
    await setup.start()
    found = setup.release()
    assert found is not None
    assert found.digests == Digests("c", "v")


async def test_what_helm_copied_labels_from_is_known_after_it_is_deleted(setup: Setup) -> None:
    for revision in (5, 7):
        setup.store(revision, "deployed", **OURS, **{ATTEMPT: "five"})
    await setup.start()
    assert setup.releases.first_revision("ric", "hello") == 5
    await setup.server.delete("sh.helm.release.v1.hello.v5")
    await eventually(lambda: len(setup.releases.revisions("ric", "hello")) == 1, what="the deletion")
    found = setup.release()
    assert found is not None
    assert (found.has_own_attempt, setup.releases.first_revision("ric", "hello")) == (False, 5)
    assert setup.releases.first_revision("ric", "other") == 0


@pytest.mark.parametrize(
    ("status", "made", "is_written_after", "overtaken"),
    [
        ("deployed", "before", True, False),
        ("deployed", "at once", True, True),
        ("deployed", "after", True, True),
        ("failed", "after", True, True),
        ("pending-upgrade", "after", True, True),
        ("superseded", "after", True, False),  # the operator has called it so
        ("deployed", "after", False, False),  # by a clock that was set back since
        ("pending-upgrade", "after", False, True),
        ("pending-upgrade", "before", True, False),  # but it is waited for
    ],
)
async def test_a_revision_that_is_made_after_the_newest_one_overtakes_it(
    setup: Setup, status: str, made: str, is_written_after: bool, overtaken: bool
) -> None:
    created = {"before": "1970-01-01T00:01:39Z", "at once": CREATED, "after": "1970-01-01T00:01:41Z"}[made]
    older = {"created": created, **OURS, ATTEMPT: "one"}
    if not is_written_after:
        setup.store(1, status, **older)
    setup.store(2, "deployed", **OURS, **{ATTEMPT: "two"})
    if is_written_after:
        setup.store(1, status, **older)
    await setup.start()
    found = setup.release()
    assert found is not None
    assert (found.overtaken, found.digests) == (overtaken, None if overtaken else Digests("c", "v"))
    late = PendingRevision(1, status, {"before": 99.0, "after": 101.0}[made]) if "pending" in status else None
    assert found.late_pending == late


@pytest.mark.parametrize("status", ["deployed", "failed", "superseded"])
async def test_a_pending_revision_that_ends_after_a_newer_one_was_made_overtakes_it(setup: Setup, status: str) -> None:
    """Although it began before that."""
    older = {"created": "1970-01-01T00:01:39Z", **OURS, ATTEMPT: "one"}
    setup.store(1, "pending-upgrade", **older)
    setup.store(2, "deployed", **OURS, **{ATTEMPT: "two"})
    await setup.start()
    found = setup.release()
    assert found is not None
    assert (found.overtaken, found.late_pending is not None) == (False, True)
    setup.store(1, status, **older)
    await setup.releases.refresh("ric", "hello")
    found = setup.release()
    assert found is not None
    assert (found.overtaken, found.late_pending) == (status != "superseded", None)


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ([("", ""), ("hello", "two"), ("", "")], "hello"),  # a person's rollback to before the adoption
        ([("", ""), ("", ""), ("hello", "three"), ("", "")], "hello"),
        ([("other", "one"), ("hello", "two"), ("other", "one")], "hello"),
        ([("hello", "one"), ("other", "two"), ("other", "two")], "other"),
        ([("hello", "one"), ("other", "two"), ("hello", "three"), ("other", "two")], "hello"),
        ([("hello", ""), ("", ""), ("hello", "")], "hello"),  # the operator's rollback to before the adoption
        ([("hello", "two"), ("", "")], "hello"),  # the one that a person rolled back to is deleted
        ([("", ""), ("", "")], None),
    ],
)
async def test_a_revision_with_the_labels_of_an_earlier_one_changes_no_owner(
    setup: Setup, labels: list[tuple[str, str]], owner: str | None
) -> None:
    for revision, (xapp, attempt) in enumerate(labels, start=1):
        given = {"xapp-operator.io/xapp": xapp, ATTEMPT: attempt}
        setup.store(revision, "deployed", **{key: value for key, value in given.items() if value})
    await setup.start()
    found = setup.release()
    assert found is not None
    assert found.owner == owner


@pytest.mark.parametrize(
    ("attempts", "has_own", "has_digests"),
    [
        (("one", "two"), True, True),
        (("one", "one"), False, False),  # a person's upgrade inherits the labels
        (("", ""), False, True),
        (("one", "two", "one"), False, True),  # a rollback copies those of its revision
    ],
)
async def test_labels_that_were_copied_tell_nothing(
    setup: Setup, attempts: tuple[str, ...], has_own: bool, has_digests: bool
) -> None:
    for revision, attempt in enumerate(attempts, start=1):
        setup.store(revision, "deployed", **OURS, **({ATTEMPT: attempt} if attempt else {}))
    await setup.start()
    found = setup.release()
    assert found is not None
    assert (found.has_own_attempt, found.digests is not None) == (has_own, has_digests)


@pytest.mark.parametrize(
    ("status", "action", "outcome", "last_at", "own"),
    [
        ("pending-rollback", "Rollback", AttemptOutcome.RUNNING, 100.0, True),
        ("pending-rollback", "Rollback", AttemptOutcome.FAILED, 100.0, True),
        ("pending-rollback", "Rollback", AttemptOutcome.INTERRUPTED, 100.0, True),
        ("pending-rollback", "Rollback", AttemptOutcome.RUNNING, 99.0, True),
        ("pending-rollback", "Rollback", AttemptOutcome.FAILED, 99.0, False),
        ("pending-rollback", "Rollback", AttemptOutcome.INTERRUPTED, 99.0, False),
        ("pending-rollback", "Rollback", AttemptOutcome.SUCCEEDED, 100.0, False),
        ("pending-rollback", "Upgrade", AttemptOutcome.RUNNING, 100.0, False),
        ("pending-rollback", None, AttemptOutcome.RUNNING, 100.0, False),
        ("pending-upgrade", "Rollback", AttemptOutcome.RUNNING, 100.0, False),
    ],
)
async def test_a_rollback_of_the_operator_is_known_by_its_attempt(
    setup: Setup, *, status: str, action: str | None, outcome: AttemptOutcome, last_at: float, own: bool
) -> None:
    setup.store(1, "superseded", **OURS, **{ATTEMPT: "one"})
    setup.store(2, "deployed", **OURS, **{ATTEMPT: "two"})
    setup.store(3, status, **OURS, **{ATTEMPT: "one"})
    await setup.start()
    attempt = None if action is None else Attempt(action, outcome, None, first_at=1.0, last_at=last_at)
    found = setup.release(attempt)
    assert found is not None
    assert found.has_own_attempt is own


async def test_a_rollback_that_a_changed_spec_has_ended_is_known_too(setup: Setup) -> None:
    setup.store(1, "superseded", **OURS, **{ATTEMPT: "one"})
    setup.store(2, "deployed", **OURS, **{ATTEMPT: "two"})
    setup.store(3, "pending-rollback", **OURS, **{ATTEMPT: "one"})
    await setup.start()
    ended = Attempt("Upgrade", AttemptOutcome.INTERRUPTED, None, first_at=1.0, last_at=1.0, rollback_cause=CAUSE)
    found = [setup.release(each) for each in (ended, replace(ended, rollback_cause=None))]
    assert [each is not None and each.has_own_attempt for each in found] == [True, False]


async def test_a_change_is_reported_once_whoever_made_the_revision(setup: Setup) -> None:
    setup.store(1, "deployed", **OURS)
    await setup.start()
    assert setup.changed == [("ric", "hello")]
    body = setup.store(2, "pending-upgrade", **OURS)
    await setup.server.send_event("ADDED", body)
    await eventually(lambda: setup.changed == 2 * [("ric", "hello")], what="the change")
    foreign = setup.store(3, "pending-upgrade")
    await setup.server.send_event("ADDED", foreign)
    setup.server.version += 1
    body["metadata"]["resourceVersion"] = str(setup.server.version)
    await setup.server.send_event("DELETED", body)
    await eventually(lambda: setup.changed == 4 * [("ric", "hello")], what="both changes")
    assert [each.revision for each in setup.releases.revisions("ric", "hello")] == [1, 3]


async def test_a_refresh_adds_and_removes(setup: Setup) -> None:
    setup.store(1, "superseded", **OURS)
    gone = setup.store(2, "deployed", **OURS)
    await setup.start()
    del setup.server.objects["ric", gone["metadata"]["name"]]
    setup.store(3, "deployed", **OURS)
    await setup.releases.refresh("ric", "hello")
    assert [(each.revision, each.status) for each in setup.releases.revisions("ric", "hello")] == [
        (1, "superseded"),
        (3, "deployed"),
    ]
    assert setup.lists == ["owner=helm,name=hello"]
    found = setup.releases.get_revision("ric", "hello", 3)
    assert found is not None
    assert found.status == "deployed"
    assert setup.releases.get_revision("ric", "hello", 2) is None


async def test_a_release_is_forgotten(setup: Setup) -> None:
    setup.store(1, "superseded", **OURS)
    setup.store(2, "deployed", **OURS)
    await setup.start()
    setup.releases.forget("ric", "hello")
    assert setup.releases.revisions("ric", "hello") == ()


async def test_nothing_is_listed_when_the_watch_shows_the_step(setup: Setup) -> None:
    await setup.start()
    waiting = asyncio.create_task(setup.releases.wait_deployed("ric", "hello", 1, attempt="one"))
    for status, attempt in (("pending-install", "one"), ("deployed", "one")):
        await setup.server.send_event("ADDED", setup.store(1, status, **OURS, **{ATTEMPT: attempt}))
    async with asyncio.timeout(0.8):
        await waiting
    assert setup.lists == []


async def test_of_a_namespace_that_is_not_watched_nothing_is_kept(setup: Setup) -> None:
    setup.store(1, "deployed", **OURS)
    assert await setup.releases.refresh("ric", "hello") == []
    assert setup.releases.revisions("ric", "hello") == ()
    await setup.start()
    listed = await setup.releases.refresh("ric", "hello")
    assert [each["name"] for each in listed] == ["sh.helm.release.v1.hello.v1"]


@pytest.mark.parametrize(("status", "attempt"), [("failed", "one"), ("deployed", "another")])
async def test_the_revisions_are_listed_when_the_watch_does_not_show_the_step(
    setup: Setup, status: str, attempt: str
) -> None:
    setup.store(1, status, **OURS, **{ATTEMPT: attempt})
    await setup.start()
    await setup.releases.wait_deployed("ric", "hello", 1, attempt="one")
    assert len(setup.lists) == 1


async def test_a_list_that_is_refused_ends_the_wait(setup: Setup) -> None:
    await setup.start()
    setup.refused = True
    with pytest.raises(KubeError):
        await setup.releases.wait_deployed("ric", "hello", 1, attempt="one")
    setup.refused = False
    await setup.server.send_event("ADDED", setup.store(1, "deployed", **OURS))
    await eventually(lambda: setup.release() is not None, what="the revision")


async def test_a_revision_that_only_a_list_has_shown_is_forgotten_with_the_watch_of_its_namespace(setup: Setup) -> None:
    setup.store(1, "superseded")
    await setup.start()
    setup.store(2, "deployed")  # no event tells of it
    await setup.releases.refresh("ric", "hello")
    assert [each.revision for each in setup.releases.revisions("ric", "hello")] == [1, 2]
    setup.secrets.set_needed("ric", needed=False)
    assert setup.releases.revisions("ric", "hello") == ()
