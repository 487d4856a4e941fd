"""Release records that do not say what their names do: what an XApp tells of them, and how it is removed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import FakeHelm, Fault, HelmFailed, _Run
from tests.support.fakes.helm_records import decode_record, encode_record, record_target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.test_removals import NOT_FOUND, RECORD, events, install, wait_gone
from tests.unit.histories.test_retries import REFUSED
from xapp_operator.config.settings import Settings
from xapp_operator.helm.releases.release_storage import JSON_VALUES_MAX
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.verbs.uninstall import RECORDS_CAME_BACK


def change_record(history: History, **changes: object) -> None:
    """Change the payload of the first revision."""
    server = history.cluster.server
    record = decode_record(server.get(RECORD))
    assert record is not None
    server.patch(RECORD, {"data": {"release": encode_record({**record, **changes})}}, manager="")


def copy_record(history: History, copied: int, number: int) -> None:
    """Store the record of a revision under the name of another one, too."""
    server, target = history.cluster.server, record_target(NAMESPACE, "hello", number)
    record: Json = server.get(record_target(NAMESPACE, "hello", copied))
    if number in history.cluster.revisions:
        server.delete(target, {})
    labels = {**record["metadata"]["labels"], "version": str(number)}
    server.create(target, {**record, "metadata": {"name": target.name, "labels": labels}})


SECONDS = 20.0
RESTORED = 4
"""How often the release is there again."""


def test_a_release_that_is_there_after_the_uninstall_is_uninstalled_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has installed it anew, so that its record is needed."""
    uninstall, uninstalled_at = FakeHelm._uninstall, list[float]()

    async def replace_record(self: FakeHelm, run: _Run) -> str:
        uninstalled_at.append(self.clock.now())
        if len(uninstalled_at) > RESTORED:
            return await uninstall(self, run)
        record = self.server.get(RECORD)
        self.server.delete(RECORD, {})
        self.server.create(RECORD, {**record, "metadata": {**record["metadata"], "uid": None}})
        raise HelmFailed(NOT_FOUND)

    monkeypatch.setattr(FakeHelm, "_uninstall", replace_record)

    async def play(history: History) -> None:
        await install(history)
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", *["uninstall"] * (RESTORED + 1)]
    assert history.live_tags == set()
    pauses = [after - before for before, after in pairwise(uninstalled_at)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]
    assert {message for _, message in events(history, "UninstallFailed")} == {RECORDS_CAME_BACK}


@pytest.mark.parametrize(("copied", "number"), [(1, 7), (2, 3), (2, 1)])
def test_a_record_under_the_name_of_another_revision_goes_with_the_release(
    settings: Settings, copied: int, number: int
) -> None:
    """Helm goes by what a record says, and stops at the second one of a revision, which it does not find."""

    async def play(history: History) -> None:
        await install(history)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        copy_record(history, copied, number)
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert history.cluster.revisions == {}
    assert history.live_tags == set()
    assert len([each for each in history.helm_steps if each.command == "uninstall"]) == (number < copied)


def test_a_record_of_another_release_does_not_uninstall_that(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        change_record(history, name="other")
        record, theirs = server.get(RECORD), record_target(NAMESPACE, "other", 1)
        labels = {**record["metadata"]["labels"], "name": "other"}
        server.create(theirs, {**record, "metadata": {"name": theirs.name, "labels": labels}})
        history.delete()
        await wait_gone(history)
        assert [each["metadata"]["name"] for each in server.all("secrets")] == [theirs.name]
        server.delete(theirs, {})
        history.removed.clear()  # it noted that record

    history = run_history(settings, play)
    assert history.live_tags == set()


def test_a_release_whose_record_is_empty_is_uninstalled(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.server.patch(RECORD, {"data": {"release": encode_record({})}})
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert history.live_tags == set()
    assert history.cluster.revisions == {}


@pytest.mark.parametrize("changes", [{"name": "other"}, {"version": 2}, {"info": {}}])
def test_a_record_of_something_else_is_told_after_a_restart(settings: Settings, changes: dict[str, object]) -> None:
    async def play(history: History) -> None:
        await install(history)
        change_record(history, **changes)
        history.cluster.restart()
        await history.cluster.wait(20.0)
        assert history.outcome == "Stalled UpgradeFailed"
        ready = history.cluster.condition("Ready") or {}
        assert ready["message"].startswith("Secret sh.helm.release.v1.hello.v1: this release record is damaged: ")
        history.delete()
        await wait_gone(history)

    run_history(settings, play)


@pytest.mark.parametrize(
    ("label", "status"),
    [("pending-upgrade", "deployed"), ("deployed", "pending-upgrade"), ("failed", "pending-upgrade")],
)
def test_a_label_that_was_changed_by_hand_does_not_lock_the_release(
    settings: Settings, label: str, status: str
) -> None:
    """Helm goes by what a record says."""

    async def play(history: History) -> None:
        await install(history)
        history.leave_behind(status)
        history.cluster.server.patch(RECORD, {"metadata": {"labels": {"status": label}}}, manager="")
        history.set_tag("two")
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready ")
    assert len(events(history, "LabelCorrected")) == 1
    assert len(events(history, "Unlocked")) == (status != "deployed")


@pytest.mark.parametrize("status", ["superseded", "failed"])
def test_a_copy_as_the_newest_revision_is_told_and_changes_nothing(settings: Settings, status: str) -> None:
    async def play(history: History) -> None:
        await install(history)
        copy_record(history, 1, 7)
        copy = record_target(NAMESPACE, "hello", 7)
        history.cluster.server.patch(copy, {"metadata": {"labels": {"status": status}}}, manager="")
        await history.cluster.wait(60.0)
        assert history.outcome == "Stalled UpgradeFailed"
        history.cluster.server.delete(copy, {})
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready ")
    assert [each.command for each in history.helm_steps] == ["install"]


def test_a_record_that_is_too_large_to_be_read_is_uninstalled_by_helm(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        change_record(history, config={"numbers": [1] * (JSON_VALUES_MAX + 1)})
        history.delete()
        await wait_gone(history)

    assert [each.command for each in run_history(settings, play).helm_steps] == ["install", "uninstall"]


@pytest.mark.parametrize("deleting", [False, True])
def test_a_record_that_is_gone_before_it_is_read_is_no_failure(settings: Settings, deleting: bool) -> None:
    def hide(request: ApiRequest) -> None:
        if request.method == "GET" and request.path.endswith("/sh.helm.release.v1.hello.v1"):
            raise Refused(404, "NotFound", "not found")

    async def play(history: History) -> None:
        await install(history)
        history.cluster.refuse = hide
        if deleting:
            history.delete()
            await wait_gone(history)
        else:
            history.leave_behind("superseded")
            await history.cluster.wait(20.0)

    commands = [each.command for each in run_history(settings, play).helm_steps]
    assert commands == ["install", "uninstall" if deleting else "upgrade"]


@pytest.mark.parametrize("known", [False, True])
def test_a_damaged_record_without_an_attempt_writes_the_status_once(settings: Settings, known: bool) -> None:
    """The XApp is new, or a retry has cleared its attempt."""

    async def play(history: History) -> None:
        history.create(tag="one", deletionPolicy="Uninstall" if known else "Orphan")
        await history.cluster.wait(SECONDS)
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(REFUSED, writes=1)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        if not known:
            history.delete()
            await history.cluster.wait(SECONDS)
        damaged = record_target(NAMESPACE, "hello", max(history.cluster.revisions))
        history.cluster.server.patch(damaged, {"data": {"release": "bm90aGluZw=="}}, manager="")
        if known:
            history.cluster.restart()
            await history.cluster.wait(SECONDS)
            history.annotate("retry-at")
        else:
            history.create(tag="one")
        await history.cluster.wait(SECONDS)
        before = len(history.cluster.writes)
        await history.cluster.wait(60.0)
        assert history.cluster.writes[before:] == []

    run_history(settings, play)


HALF_A_PAIR = "\ud800"
WEEK = "2026-W01-1T00:00:00+00:00"


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"first_deployed": WEEK}),
        (1, {"last_deployed": WEEK}),
        (2, {"description": HALF_A_PAIR}),
        (3, {"first_deployed": WEEK}),
        (3, {"description": HALF_A_PAIR}),
    ],
)
def test_texts_that_helm_reads_otherwise_keep_nothing_from_being_deleted(
    settings: Settings, number: int, changes: Json
) -> None:
    """The second revision has failed. Go reads half a surrogate pair as another character, and fewer forms of times."""

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(REFUSED, 2)
        for tag in ("two", "three"):
            history.set_tag(tag)
            await history.cluster.wait(SECONDS)
        server, target = history.cluster.server, record_target(NAMESPACE, "hello", number)
        record = decode_record(server.get(target))
        assert record is not None
        record["info"] |= changes
        if number < 3:  # the stand-in of helm reads YAML as Python does
            record["manifest"] += f"# {HALF_A_PAIR}\n"
        server.patch(target, {"data": {"release": encode_record(record)}}, manager="")
        history.cluster.restart()
        await history.cluster.wait(SECONDS)
        assert history.outcome.startswith("Ready")
        history.delete()
        await wait_gone(history)
        assert history.live_tags == set()

    run_history(settings, play)


FOREIGN = "a Helm release with this name exists, and no XApp created it"


@pytest.mark.parametrize("damaged", [True, False])
def test_a_newest_record_that_no_xapp_has_written_and_that_cannot_be_read(settings: Settings, damaged: bool) -> None:
    """A damaged one may be of a release of a person. One that is gone says nothing of the release."""
    told: set[str] = set()

    def note(plural: str, body: Json) -> None:
        told.update(each["message"].partition(".")[0] for each in body.get("status", {}).get("conditions", ()))

    async def play(history: History) -> None:
        cluster, target = history.cluster, record_target(NAMESPACE, "hello", 2)

        def remove(request: ApiRequest) -> None:
            if request.path.endswith(target.name) and not damaged:
                cluster.refuse = lambda _: None
                cluster.server.delete(target, {})

        await install(history)
        record = cluster.server.get(RECORD)
        labels = {key: record["metadata"]["labels"][key] for key in ("owner", "name", "status")}
        metadata = {"name": target.name, "labels": {**labels, "version": "2"}}
        cluster.refuse = remove
        cluster.server.on_stored.append(note)
        cluster.server.create(target, {**record, "metadata": metadata, "data": {"release": "eA=="}})
        await cluster.wait(SECONDS)
        if damaged:
            cluster.server.delete(target, {})

    run_history(settings, play)
    assert (FOREIGN in told) == damaged
