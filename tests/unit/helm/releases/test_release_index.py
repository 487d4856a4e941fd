"""The index of releases, fed with metadata only."""

import time
from collections.abc import Iterable
from dataclasses import replace

import pytest

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.helm.releases import release_index
from xapp_operator.helm.releases.release_index import (
    CleanPoint,
    ReleaseIndex,
    ReleaseKey,
    RevisionInfo,
    parse_revision,
    revisions_to_prune,
    revisions_with_leftovers,
)

CREATED = "2020-09-13T12:26:40Z"
MODIFIED = "2023-11-14T22:13:20Z"


def record(revision: int, *, status: str = "deployed", name: str = "hello", **labels: str) -> JsonObject:
    return {
        "metadata": {
            "name": f"sh.helm.release.v1.{name}.v{revision}",
            "namespace": "ric",
            "uid": f"uid-{revision}",
            "resourceVersion": str(100 + revision),
            "creationTimestamp": CREATED,
            "managedFields": [{"manager": "Helm", "time": MODIFIED}, {"manager": "kubectl-label"}],
            "labels": {
                "owner": "helm",
                "name": name,
                "status": status,
                "version": str(revision),
                "createdAt": "1",
                "modifiedAt": "2",
                **{f"xapp-operator.io/{key.replace('_', '-')}": value for key, value in labels.items()},
            },
        }
    }


def parsed(secret: JsonObject) -> tuple[ReleaseKey, RevisionInfo]:
    found = parse_revision(secret, now=time.time())
    assert found is not None
    return found


def index_of(*secrets: JsonObject) -> ReleaseIndex:
    index = ReleaseIndex()
    for secret in secrets:
        index.put_revision(*parsed(secret))
    return index


def remove(index: ReleaseIndex, secret: JsonObject) -> None:
    key, info = parsed(secret)
    index.remove_revision(key, info.revision, uid=info.secret_uid)


def test_the_newest_revision_decides_whatever_the_order_of_arrival() -> None:
    index = index_of(record(10), record(2, status="superseded"), record(9, status="superseded"))
    revisions = index.revisions(("ric", "hello"))
    assert [one.revision for one in revisions] == [2, 9, 10]
    assert revisions[-1].status == "deployed"


def test_thousands_of_revisions_in_any_order_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody who may write Secrets in a namespace can have as many. A list has them in the order of their names."""
    sorts: list[int] = []

    def counting(numbers: Iterable[int]) -> list[int]:
        found = sorted(numbers)
        sorts.append(len(found))
        return found

    monkeypatch.setattr(release_index, "sorted", counting, raising=False)
    numbers = sorted(range(1, 2001), key=str)
    index = index_of(*(record(number, attempt=f"a{number}") for number in numbers))
    assert [each.revision for each in index.revisions(("ric", "hello"))] == list(range(1, 2001))
    assert index.revisions(("ric", "hello"))[-1] == index.get_revision(("ric", "hello"), 2000)
    assert sorts == [2000]


def test_labels_of_the_operator_are_read() -> None:
    secret = record(1, xapp="acme", chart_digest="c" * 40, values_digest="v" * 40, attempt="a1")
    assert parsed(secret)[0] == ("ric", "hello")
    index = index_of(secret)
    revisions = index.revisions(("ric", "hello"))
    latest = revisions[-1]
    assert (latest.xapp, latest.chart_digest, latest.values_digest) == ("acme", "c" * 40, "v" * 40)
    assert (latest.attempt, latest.modified) == ("a1", 1700000000)
    assert (latest.secret_uid, latest.resource_version) == ("uid-1", "101")


def test_the_first_revision_of_an_attempt_is_known_while_another_may_have_its_labels() -> None:
    def first(number: int, attempt: str) -> int:
        return index.first_revision(("ric", "hello"), parsed(record(number, attempt=attempt))[1])

    index = index_of(record(4, attempt="a"), record(2, attempt="a"), record(3, attempt="b"), record(5, attempt="c"))
    assert (first(4, "a"), first(3, "b"), first(6, "d")) == (2, 3, 6)
    remove(index, record(2, attempt="a"))
    assert first(4, "a") == 2  # revision 4 has its labels
    remove(index, record(5, attempt="c"))
    assert first(6, "c") == 5  # helm deletes before it creates
    remove(index, record(4, attempt="a"))
    assert (first(6, "a"), first(6, "b")) == (2, 3)
    index.put_revision(*parsed(record(7, attempt="d")))
    assert (first(8, "a"), first(8, "b"), first(8, "c")) == (8, 3, 5)
    remove(index, record(3, attempt="b"))
    index.put_revision(*parsed(record(8, attempt="e")))
    assert (first(9, "b"), first(9, "c"), first(9, "d")) == (9, 9, 7)
    remove(index, record(8, attempt="e"))
    remove(index, record(7, attempt="d"))
    assert first(8, "d") == 8
    index.put_revision(*parsed(record(1, attempt="d")))
    index.remove_namespace("ric")
    assert first(8, "d") == 8


def test_a_changed_secret_replaces_the_stored_revision() -> None:
    index = index_of(record(1, status="pending-install"))
    index.put_revision(*parsed(record(1, status="failed")))
    revisions = index.revisions(("ric", "hello"))
    assert [one.status for one in revisions] == ["failed"]


@pytest.mark.parametrize(
    ("versions", "uid", "first"),
    [
        (("105", "130"), "same", 105),
        (("130", "105"), "same", 105),  # the list was faster than the watch
        (("105", "130"), "other", 130),
    ],
)
def test_a_later_write_of_a_secret_does_not_change_its_first_version(
    versions: tuple[str, str], uid: str, first: int
) -> None:
    def written(version: str, uid: str) -> JsonObject:
        one = record(1)
        return {**one, "metadata": {**obj(one, "metadata"), "resourceVersion": version, "uid": uid}}

    index = index_of(written(versions[0], "same"), written(versions[1], uid))
    [found] = index.revisions(("ric", "hello"))
    assert (found.first_version, found.resource_version) == (first, "130")


@pytest.mark.parametrize(
    ("revision", "statuses", "late"),
    [
        (1, ("pending-upgrade", "deployed"), 130),
        (1, ("pending-upgrade", "pending-rollback"), 0),
        (1, ("deployed", "superseded"), 0),
        (2, ("pending-upgrade", "deployed"), 0),
    ],
)
def test_a_revision_that_ends_after_a_newer_one_exists_is_late(
    revision: int, statuses: tuple[str, str], late: int
) -> None:
    def written(status: str, version: str) -> JsonObject:
        one = record(revision, status=status)
        return {**one, "metadata": {**obj(one, "metadata"), "resourceVersion": version}}

    index = index_of(record(2), written(statuses[0], "110"), written(statuses[1], "130"), written(statuses[1], "140"))
    assert {each.revision: each.late_version for each in index.revisions(("ric", "hello"))}[revision] == late


def test_a_release_without_secrets_is_removed() -> None:
    index = index_of(record(1), record(2))
    remove(index, record(1))
    assert index.revisions(("ric", "hello"))
    remove(index, record(2))
    assert not index.revisions(("ric", "hello"))
    remove(index, record(2))


def test_other_secrets_are_ignored() -> None:
    assert parse_revision({"metadata": {"name": "db-password", "namespace": "ric"}}, now=time.time()) is None


def test_names_of_other_releases_are_not_mixed_up() -> None:
    index = index_of(record(1, name="a"), record(1, name="a.v1"))
    for name in ("a", "a.v1"):
        revisions = index.revisions(("ric", name))
        assert [one.revision for one in revisions] == [1]


def test_surplus_revisions_are_the_oldest_but_never_a_deployed_one() -> None:
    index = index_of(record(1), *(record(n, status="failed") for n in range(2, 8)))
    revisions = index.revisions(("ric", "hello"))
    assert [one.revision for one in revisions_to_prune(revisions, keep=3)] == [2, 3, 4, 5]
    assert revisions_to_prune(revisions, keep=50) == ()
    assert 7 not in [one.revision for one in revisions_to_prune(revisions, keep=0)]


@pytest.mark.parametrize(
    ("statuses", "target", "pruned"),
    [
        (("superseded", "superseded", "deployed", "failed"), 1, [2]),
        (("superseded", "superseded", "deployed", "failed"), 2, [1]),
        (("superseded", "deployed", "failed", "failed"), 1, [3]),
        (("superseded", "failed", "failed"), 1, []),
    ],
)
def test_a_rollback_that_is_to_be_repeated_keeps_its_target(
    statuses: tuple[str, ...], target: int, pruned: list[int]
) -> None:
    index = index_of(*(record(number, status=status) for number, status in enumerate(statuses, start=1)))
    found = revisions_to_prune(index.revisions(("ric", "hello")), keep=3, rollback_target=target)
    assert [one.revision for one in found] == pruned


@pytest.mark.parametrize(
    ("statuses", "in_force", "target", "pruned"),
    [
        # helm calls a rollback that failed superseded when the next one begins
        (("superseded", "superseded", "deployed", "superseded", "superseded", "failed"), 3, 1, [4, 5]),
        (("superseded", "superseded", "superseded", "superseded", "superseded", "deployed"), 3, None, [4, 5]),
        (("superseded", "superseded", "superseded", "failed", "deployed"), 3, None, [4]),
        (("superseded", "superseded", "superseded", "superseded", "deployed"), 4, None, [1]),
    ],
)
def test_failed_tries_go_before_good_revisions(
    statuses: tuple[str, ...], in_force: int, target: int | None, pruned: list[int]
) -> None:
    index = index_of(*(record(number, status=status) for number, status in enumerate(statuses, start=1)))
    found = revisions_to_prune(index.revisions(("ric", "hello")), keep=4, rollback_target=target, in_force=in_force)
    assert [one.revision for one in found] == pruned


@pytest.mark.parametrize(
    ("statuses", "in_force", "never_healthy", "pruned"),
    [
        (("superseded", "superseded", "superseded", "superseded", "deployed"), 5, {3}, [3, 1]),
        (("superseded", "superseded", "superseded", "superseded", "deployed"), 5, {2, 3, 4}, [2, 3]),
        (("superseded", "superseded", "failed", "superseded", "deployed"), 5, {4}, [3, 4]),
        (("superseded", "superseded", "superseded", "superseded", "deployed"), 5, {5}, [1, 2]),
        (("superseded", "superseded", "superseded", "superseded", "failed"), None, {3, 4}, [3, 4]),
        (("superseded", "superseded", "superseded", "superseded", "failed"), None, {1, 2, 3, 4}, [1, 2]),
    ],
)
def test_revisions_that_never_were_healthy_go_before_good_ones(
    statuses: tuple[str, ...], in_force: int | None, never_healthy: set[int], pruned: list[int]
) -> None:
    index = index_of(*(record(number, status=status) for number, status in enumerate(statuses, start=1)))
    revisions = index.revisions(("ric", "hello"))
    found = revisions_to_prune(revisions, keep=3, in_force=in_force, never_healthy=never_healthy)
    assert [one.revision for one in found] == pruned


@pytest.mark.parametrize(
    ("statuses", "in_force", "pruned"),
    [
        (("superseded", "superseded", "failed", "failed"), None, [3, 1]),
        (("superseded", "superseded", "superseded", "failed"), 2, [3, 1]),  # 3 is a rollback that failed
        (("failed", "superseded", "failed"), 1, [1]),  # somebody has deleted what was in force
        (("superseded", "pending-upgrade", "failed"), None, []),  # another helm works on 2
        (("superseded", "superseded"), None, [1]),
        (("superseded", "deployed", "failed"), 2, [1]),
        (("failed", "failed"), None, [1]),
    ],
)
def test_the_last_good_revision_is_kept_while_none_is_deployed(
    statuses: tuple[str, ...], in_force: int | None, pruned: list[int]
) -> None:
    index = index_of(*(record(number, status=status) for number, status in enumerate(statuses, start=1)))
    found = revisions_to_prune(index.revisions(("ric", "hello")), keep=1, in_force=in_force)
    assert [one.revision for one in found] == pruned


@pytest.mark.parametrize(
    ("statuses", "attempts", "clean", "found"),
    [
        ("ssd", "abc", None, []),
        ("sfd", "abc", None, [1, 2]),
        ("sfsd", "abcd", "uid-3", []),
        ("sssd", "abad", None, [1, 2, 3]),  # a rollback may have failed: helm does not tell when it is superseded
        ("sssd", "abad", "uid-3", [3]),
        ("sssd", "abad", "uid-4", []),
        ("ssd", "aba", None, []),
        ("sssd", "----", None, []),
    ],
)
def test_revisions_may_have_leftovers_if_one_failed_or_may_have(
    statuses: str, attempts: str, clean: str | None, found: list[int]
) -> None:
    names = {"s": "superseded", "f": "failed", "d": "deployed"}
    tries = enumerate(zip(statuses, attempts, strict=True), 1)
    records = [
        record(number, status=names[status], xapp="hello", attempt=attempt.strip("-"))
        for number, (status, attempt) in tries
    ]
    revisions = index_of(*records).revisions(("ric", "hello"))
    point = CleanPoint(clean, version=200) if clean else None
    assert [one.revision for one in revisions_with_leftovers(revisions, clean=point)] == found
    persons = tuple(replace(one, xapp="") for one in revisions)
    assert revisions_with_leftovers(persons, clean=point) == ()


@pytest.mark.parametrize(("version", "found"), [(249, [2, 3]), (250, [])])
def test_a_revision_that_ended_late_may_have_leftovers_until_they_were_looked_for(
    version: int, found: list[int]
) -> None:
    names = {1: "superseded", 2: "superseded", 3: "superseded", 4: "deployed"}
    records = [record(number, status=status, xapp="hello", attempt=str(number)) for number, status in names.items()]
    stored = index_of(*records).revisions(("ric", "hello"))
    revisions = tuple(replace(each, late_version=250) if each.revision == 2 else each for each in stored)
    found_now = revisions_with_leftovers(revisions, clean=CleanPoint("uid-3", version))
    assert [one.revision for one in found_now] == found
    assert CleanPoint.at(revisions) == CleanPoint("uid-4", 104)


def test_equal_texts_are_stored_once() -> None:
    index = index_of(*(record(n, name=f"r{n}", chart_digest="c" * 40) for n in range(1, 3)))
    (one,), (other,) = (index.revisions(("ric", name)) for name in ("r1", "r2"))
    assert one.chart_digest is other.chart_digest


def test_a_late_event_changes_nothing() -> None:
    again = record(1)
    again["metadata"] = {**_metadata(again), "uid": "uid-again", "resourceVersion": "200"}
    index = index_of(again)
    index.put_revision(*parsed(record(1, status="uninstalling")))
    remove(index, record(1))
    revisions = index.revisions(("ric", "hello"))
    assert (revisions[-1].secret_uid, revisions[-1].status) == ("uid-again", "deployed")


def _metadata(secret: JsonObject) -> JsonObject:
    metadata = secret["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def test_a_time_in_the_future_counts_as_now() -> None:
    secret = record(1)
    _metadata(secret)["creationTimestamp"] = "9999-12-31T23:59:59Z"
    before = int(time.time())
    info = parsed(secret)[1]
    assert before <= info.modified <= int(time.time())


def test_a_record_that_nobody_has_changed_was_modified_when_it_was_created() -> None:
    secret = record(1)
    del _metadata(secret)["managedFields"]
    info = parsed(secret)[1]
    assert info.modified == 1600000000


def test_what_the_api_server_does_not_tell_is_unknown() -> None:
    secret = record(1)
    for each in ("creationTimestamp", "managedFields", "resourceVersion"):
        del _metadata(secret)[each]
    info = parsed(secret)[1]
    assert (info.created, info.modified, info.version, info.first_version) == (0, 0, 0, 0)
