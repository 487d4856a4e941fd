"""What a person does with helm to the release of a history: the new revision inherits the labels of the one before."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.support.fakes.api_server import target_of
from tests.support.fakes.helm_records import manifest_of, objects_of, owned, record_secret, record_target, render
from tests.support.fakes.histories import CHART, History
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE


def upgrade_by_hand(history: History, tag: str, *, status: str = "deployed", number: int | None = None) -> None:
    """Upgrade the release, or leave the new revision in another status.

    `number`: of the new revision, if helm has read an earlier history.
    """
    history.note(f"upgrade by hand to {tag}: {status}")
    known = [each for each in history.records if number is None or each["version"] < number]
    if known:
        manifest = manifest_of(render(CHART, {"tag": tag}, "hello"))
        source = {**known[-1], "config": {"tag": tag}, "manifest": manifest}
        _add_revision(history, source, "Upgrade complete", status=status, number=number)


def roll_back_by_hand(history: History, revision: int) -> None:
    """Roll back to a revision, if it is stored."""
    history.note(f"roll back by hand to {revision}")
    source = next((each for each in history.records if each["version"] == revision), None)
    if source is not None:
        _add_revision(history, source, f"Rollback to {revision}", status="deployed")


def begin_overtaken_rollback_by_hand(history: History, revision: int, *, number: int) -> None:
    """Begin a rollback as revision `number`, which helm has chosen before newer ones were there."""
    source = next(each for each in history.records if each["version"] == revision)
    history.note(f"begin to roll back by hand to {revision} as revision {number}")
    _add_revision(history, source, f"Rollback to {revision}", status="pending-rollback", number=number)


def begin_rollback_by_hand(history: History, revision: int, *, keep: int) -> int:
    """Begin `helm rollback --history-max=KEEP`, which deletes the oldest revisions first; return the new revision."""
    source = next(each for each in history.records if each["version"] == revision)
    old = [each["version"] for each in history.records if each["info"]["status"] != "deployed"]
    for each in old[: max(len(history.records) - (keep - 1), 0)]:
        delete_record(history, each)
    history.note(f"begin to roll back by hand to {revision}")
    _add_revision(history, source, f"Rollback to {revision}", status="pending-rollback")
    return max(history.cluster.revisions)


def finish_by_hand(history: History, revision: int, *, status: str = "deployed") -> None:
    """End a helm that was left pending at `revision`: it applies its objects, and records the status."""
    history.note(f"helm by hand ends with revision {revision}: {status}")
    [record] = [each for each in history.records if each["version"] == revision]
    now, server = history.cluster.clock.now(), history.cluster.server
    _apply_objects(history, record)
    ended = {**record, "info": {**record["info"], "status": status}}
    server.patch(record_target(NAMESPACE, "hello", revision), record_secret(ended, "modifiedAt", now=now), manager="")


def install_again_by_hand(history: History, tag: str) -> None:
    """Install over a release that was uninstalled with `--keep-history`, as `helm install --replace` does."""
    history.note(f"install again by hand: {tag}")
    manifest, now = manifest_of(render(CHART, {"tag": tag}, "hello")), history.cluster.clock.now()
    info = {**history.records[-1]["info"], "first_deployed": datetime.fromtimestamp(now, UTC).isoformat()}
    source = {**history.records[-1], "labels": {}, "config": {"tag": tag}, "manifest": manifest, "info": info}
    _add_revision(history, source, "Install complete", status="deployed")


def delete_record(history: History, revision: int) -> None:
    history.note(f"delete the record of revision {revision}")
    history.cluster.server.delete(record_target(NAMESPACE, "hello", revision), {})


def write_record(history: History, revision: int, change: Json) -> None:
    history.note(f"write the record of revision {revision}")
    history.cluster.server.patch(record_target(NAMESPACE, "hello", revision), change, manager="")


def _apply_objects(history: History, record: Json) -> None:
    for each in objects_of(record["manifest"]):
        target = target_of(each, namespace=NAMESPACE)
        history.cluster.server.apply(target, owned(each, "hello", NAMESPACE), manager="helm")


def _add_revision(history: History, source: Json, description: str, *, status: str, number: int | None = None) -> None:
    before, now, server = history.records, history.cluster.clock.now(), history.cluster.server
    times = {"last_deployed": datetime.fromtimestamp(now, UTC).isoformat(), "description": description}
    number = number or before[-1]["version"] + 1
    record = {**source, "version": number, "info": {**source["info"], **times, "status": status}}
    server.create(record_target(NAMESPACE, "hello", number), record_secret(record, "createdAt", now=now))
    if status != "deployed":
        return
    _apply_objects(history, record)
    for each in before:
        if each["info"]["status"] == "deployed" and each["version"] < number:
            superseded = {**each, "info": {**each["info"], "status": "superseded"}}
            target = record_target(NAMESPACE, "hello", each["version"])
            server.patch(target, record_secret(superseded, "modifiedAt", now=now), manager="")


def change_by_hand(history: History, plural: str) -> None:
    """Change an object of the release as a person's `kubectl edit` does, if it exists."""
    history.note(f"change {plural} by hand")
    body = history.cluster.server.find(plural, "hello")
    if body is None:
        return
    container = {"name": "main", "image": "example.com/xapp:theirs"}
    changes: dict[str, Json] = {
        "configmaps": {"data": {"tag": "theirs"}},
        "deployments": {"spec": {"template": {"spec": {"containers": [container]}}}},
    }
    history.cluster.server.patch(target_of(body, namespace=NAMESPACE), changes[plural], manager="kubectl-edit")
