"""The releases, built from the metadata of Helm's Secrets alone; their data is never held.

Made for thousands of releases: one small frozen object for each revision, repeated texts are stored once, and the cost
of an update does not depend on their number. Whoever watches the Secrets feeds it.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, TypeAlias, TypeVar

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.names import LABEL_ATTEMPT, LABEL_CHART_DIGEST, LABEL_VALUES_DIGEST, LABEL_XAPP
from xapp_operator.domain.planning.plan_input import DEPLOYED, FAILED, PENDING, SUPERSEDED
from xapp_operator.helm.releases.release_storage import parse_release_secret_name

RELEASE_SELECTOR: Final = "owner=helm"

ReleaseKey: TypeAlias = tuple[str, str]
"""Namespace and release name."""


class Revision(Protocol):
    """What the choice of the revisions that are kept depends on."""

    @property
    def revision(self) -> int: ...

    @property
    def status(self) -> str: ...


R = TypeVar("R", bound=Revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionInfo:
    """One revision, from the labels of its Secret; the four labels of this operator are empty if absent.

    `created` and `modified` are when the Secret was first and last written, in seconds since the epoch, from the API
    server; 0 if unknown.
    Helm's label of the same meaning is not used: an upgrade copies `modifiedAt` of the revision before it (helm 4.3.1,
    pkg/storage/driver), and the clock of another helm may be wrong. A time in the future, from a clock that jumped,
    counts as the time at which it was first seen.

    `first_version` is the oldest resource version of the Secret that the index was given: that of its creation, or of
    the first list. Unlike `resource_version`, later writes do not change it. `late_version` is the one with which a
    revision ended that was pending although a newer one existed; 0 if none was seen to.
    """

    revision: int
    status: str
    xapp: str
    chart_digest: str
    values_digest: str
    attempt: str
    created: int
    modified: int
    secret_uid: str
    resource_version: str
    first_version: int = field(default=0, compare=False)
    late_version: int = field(default=0, compare=False)

    @property
    def version(self) -> int:
        """Return the resource version as a number; 0 if unknown."""
        return int(self.resource_version or 0)


class ReleaseIndex:
    """Releases by (namespace, name). Anybody who may write Secrets makes as many revisions as they like."""

    def __init__(self) -> None:
        self._releases: dict[ReleaseKey, _StoredRelease] = {}

    def revisions(self, key: ReleaseKey) -> tuple[RevisionInfo, ...]:
        """Return the revisions of a release, oldest first; the newest decides the state of the release."""
        found = self._releases.get(key)
        return found.in_order() if found is not None else ()

    def get_revision(self, key: ReleaseKey, number: int) -> RevisionInfo | None:
        """Return one revision of a release, or None."""
        found = self._releases.get(key)
        return found.revisions.get(number) if found is not None else None

    def first_revision(self, key: ReleaseKey, info: RevisionInfo) -> int:
        """Return the first revision with the attempt of `info`: another helm has copied its labels from there."""
        found = self._releases.get(key)
        return found.first.get(info.attempt, info.revision) if found is not None else info.revision

    def put_revision(self, key: ReleaseKey, info: RevisionInfo) -> None:
        """Add a new or changed revision; of one that is known in a newer state, only what it was first counts."""
        self._releases.setdefault(key, _StoredRelease()).put(info)

    def remove_revision(self, key: ReleaseKey, revision: int, *, uid: str | None = None) -> None:
        """Remove one revision of a release; with a `uid`, only if its Secret has this uid."""
        found = self._releases.get(key)
        known = found.revisions.get(revision) if found is not None else None
        if found is None or known is None or uid not in (None, known.secret_uid):
            return
        found.remove(revision)
        if not found.revisions:
            del self._releases[key]

    def remove_namespace(self, namespace: str) -> None:
        """Remove all releases of a namespace."""
        for key in [each for each in self._releases if each[0] == namespace]:
            del self._releases[key]


@dataclass(slots=True)
class _StoredRelease:
    """One release. What it costs to add a revision does not depend on how many there are."""

    revisions: dict[int, RevisionInfo] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)  # the first revision of each attempt, perhaps deleted since
    newest: int = 0
    _ordered: tuple[RevisionInfo, ...] | None = None

    def in_order(self) -> tuple[RevisionInfo, ...]:
        if self._ordered is None:
            self._ordered = tuple(self.revisions[number] for number in sorted(self.revisions))
        return self._ordered

    def put(self, info: RevisionInfo) -> None:
        known, self._ordered = self.revisions.get(info.revision), None
        is_last = info.revision == self.newest
        self.revisions[info.revision] = info if known is None else _merge(known, info, is_last=is_last)
        self.first[info.attempt] = min(info.revision, self.first.get(info.attempt, info.revision))
        if info.revision > self.newest:
            self.newest = info.revision
            # Not when a revision is deleted: helm deletes old ones before it creates one, which may have their labels.
            if len(self.first) > len(self.revisions):
                used, oldest = {each.attempt for each in self.revisions.values()}, min(self.revisions)
                self.first = {each: number for each, number in self.first.items() if each in used or number >= oldest}

    def remove(self, revision: int) -> None:
        del self.revisions[revision]
        self._ordered = None
        if revision == self.newest:
            self.newest = max(self.revisions, default=0)


def _merge(known: RevisionInfo, info: RevisionInfo, *, is_last: bool) -> RevisionInfo:
    """Return the newer state of a revision, with what is known of its past."""
    newer = info if info.version >= known.version else known
    if known.secret_uid != info.secret_uid:
        return newer
    has_ended = known.status in PENDING and newer.status not in PENDING
    late = newer.version if has_ended and not is_last else known.late_version
    return replace(newer, first_version=min(known.first_version, info.first_version), late_version=late)


def revisions_to_prune(
    revisions: tuple[R, ...],
    *,
    keep: int,
    rollback_target: int | None = None,
    in_force: int | None = None,
    never_healthy: Container[int] = (),
) -> tuple[R, ...]:
    """Return the ones of a release's `revisions` beyond `keep`, never the newest, a deployed or the last good one.

    Nor one that is pending: another helm works on it.

    With a limit, helm deletes the oldest revisions before it tries, so tries that fail would cost the good ones.
    Therefore helm is told to keep all, and these are deleted after the step: failed ones first, then those that never
    were healthy, then the oldest. While none is deployed, the newest good one stays: without it, the release looks as
    if it never was deployed.

    Args:
        revisions: oldest first.
        keep: how many stay.
        rollback_target: of a rollback that is to be repeated or may become necessary; it stays.
        in_force: the revision that was deployed last. Those after it are failed tries, although helm calls a rollback
            that failed superseded when the next one begins.
        never_healthy: the revisions that are known to have never been healthy: among them are tries that were killed,
            which helm also calls superseded when the next one begins.
    """

    def order(info: R) -> tuple[bool, bool, int]:
        succeeded = info.status != FAILED and (in_force is None or info.revision <= in_force)
        return succeeded, succeeded and info.revision not in never_healthy, info.revision

    deployed = [info for info in revisions if info.status == DEPLOYED]
    last_good = sorted((info for info in revisions if info.status == SUPERSEDED), key=order)[-1:]
    pending = [info for info in revisions if info.status in PENDING]
    kept = {rollback_target, *(info.revision for info in (deployed or last_good) + pending)}
    others = (info for info in revisions[:-1] if info.revision not in kept)
    surplus = max(len(revisions) - max(keep, 1), 0)
    return tuple(sorted(others, key=order))[:surplus]


@dataclass(frozen=True, slots=True)
class CleanPoint:
    """From when on helm has left nothing: the uid of a record, and the newest version of all records at that time."""

    uid: str = ""
    version: int = 0

    @classmethod
    def at(cls, revisions: Sequence[RevisionInfo]) -> CleanPoint:
        """Return the one at the newest of these revisions, oldest first."""
        return cls(revisions[-1].secret_uid, max(each.version for each in revisions))


def revisions_with_leftovers(
    revisions: Sequence[RevisionInfo], *, clean: CleanPoint | None
) -> tuple[RevisionInfo, ...]:
    """Return the revisions before the newest whose objects helm may have left; none if none can have failed.

    Args:
        revisions: oldest first. Those of persons do not count; those of an XApp that had the release before do.
        clean: from when on nothing was left, if that is known. What ended late since then may have left something.
    """
    point = clean or CleanPoint()
    first = next((each.revision for each in revisions if each.secret_uid == point.uid), 0)
    late = {each.revision for each in revisions if each.late_version > point.version}
    recent = [each for each in revisions if each.xapp and (each.revision >= first or each.revision in late)]
    doubtful = late | _copied_revisions(revisions)
    if all(each.status == DEPLOYED or (each.status == SUPERSEDED and each.revision not in doubtful) for each in recent):
        return ()
    return tuple(each for each in recent if each.revision < revisions[-1].revision)


def _copied_revisions(revisions: Iterable[RevisionInfo]) -> set[int]:
    """Return the revisions that helm has made with the labels of an older one: rollbacks, and those of persons.

    When one has replaced a rollback that failed, helm calls that superseded, and the revision before it too.
    """
    attempts, copied = set[str](), set[int]()
    for each in revisions:
        if each.attempt in attempts:
            copied.add(each.revision)
        elif each.attempt:
            attempts.add(each.attempt)
    return copied


def parse_revision(secret: JsonObject, *, now: float) -> tuple[ReleaseKey, RevisionInfo] | None:
    """Return the release and the revision of a Secret from its metadata, or None if it records no release.

    `now` is the time in seconds since the epoch: no time of the release is later.
    """
    metadata = obj(secret, "metadata")
    parsed = parse_release_secret_name(text(metadata, "name"))
    if parsed is None:
        return None
    name, revision = parsed
    labels = obj(metadata, "labels")
    times = [text(metadata, "creationTimestamp"), *(text(entry, "time") for entry in items(metadata, "managedFields"))]
    return (sys.intern(text(metadata, "namespace")), sys.intern(name)), RevisionInfo(
        revision=revision,
        status=sys.intern(text(labels, "status")),
        xapp=sys.intern(text(labels, LABEL_XAPP)),
        chart_digest=sys.intern(text(labels, LABEL_CHART_DIGEST)),
        values_digest=sys.intern(text(labels, LABEL_VALUES_DIGEST)),
        attempt=text(labels, LABEL_ATTEMPT),
        created=_seconds(times[0], now=int(now)),
        modified=_seconds(max(times), now=int(now)),
        secret_uid=text(metadata, "uid"),
        resource_version=text(metadata, "resourceVersion"),
        first_version=int(text(metadata, "resourceVersion") or 0),
    )


def _seconds(time: str, *, now: int) -> int:
    return min(int(datetime.fromisoformat(time).timestamp()), now) if time else 0
