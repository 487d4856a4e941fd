"""The releases in the namespaces of XApps, from the metadata of Helm's Secrets; reads a record where it is needed.

Records are never cached. After a helm step the watch is waited for, or the revisions are listed once, so that the next
decision does not depend on the state before the step. If that fails, they are listed before the next decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.common.clock import Clock
from xapp_operator.common.waiting import wait_for_state
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    PENDING,
    ROLLBACK,
    SUPERSEDED,
    Attempt,
    AttemptOutcome,
    ObservedRelease,
    PastRevision,
    PendingRevision,
)
from xapp_operator.errors import AccessDenied, KubeError, ReleaseRecordDamaged
from xapp_operator.helm.releases.release_index import (
    RELEASE_SELECTOR,
    ReleaseIndex,
    RevisionInfo,
    parse_revision,
)
from xapp_operator.helm.releases.release_storage import (
    ReleaseRecord,
    decode_release,
    parse_release_secret_name,
    release_secret_name,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import SECRETS
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey
from xapp_operator.reconcile.status.revision_history import label_digests
from xapp_operator.reconcile.watching.secret_watch import OtherSecret, SecretEntry, SecretWatch

WATCH_SECONDS: Final = 1.0
LATE_SECONDS: Final = 10.0
"""For this long after a helm step, a watch may show what was before; it is hardly later."""


class ReleaseWatch:
    """Every release in the namespaces of XApps; `on_change` gets (namespace, name of the release)."""

    def __init__(
        self, kube: KubeClient, secrets: SecretWatch, *, on_change: Callable[[tuple[str, str]], None], clock: Clock
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._secrets = secrets
        self._on_change = on_change
        self._index = ReleaseIndex()
        self._changed: dict[tuple[str, str], asyncio.Event] = {}
        self._changed_at: dict[tuple[str, str], float] = {}  # of releases that have not been looked at since then
        secrets.subscribe(self._on_event)
        secrets.subscribe_ended(self._index.remove_namespace)

    def is_starting(self, namespace: str) -> bool:
        """Return whether the releases of a namespace have not been listed yet."""
        return self._secrets.is_starting(namespace)

    def unavailable(self, namespace: str) -> KubeError | None:
        """Return why the releases of a namespace are not known; None when they are."""
        return self._secrets.unavailable(namespace)

    def revisions(self, namespace: str, name: str) -> tuple[RevisionInfo, ...]:
        """Return the revisions of a release, oldest first."""
        return self._index.revisions((namespace, name))

    def get_revision(self, namespace: str, name: str, number: int) -> RevisionInfo | None:
        return self._index.get_revision((namespace, name), number)

    def first_revision(self, namespace: str, name: str) -> int:
        """Return the revision from which helm has copied the labels of the newest one; 0 if there is no release."""
        newest = self.revisions(namespace, name)[-1:]
        return self._index.first_revision((namespace, name), newest[0]) if newest else 0

    def get_release(self, namespace: str, name: str, *, attempt: Attempt | None) -> ObservedRelease | None:
        """Return the release as input of `plan`, or None when there is none.

        `attempt` is the last one of its XApp. A rollback copies the labels of the revision that it returns to, so only
        the recorded attempt shows that the operator started it.
        """
        revisions = self.revisions(namespace, name)
        if not revisions:
            return None
        latest = revisions[-1]
        is_first = latest.attempt != "" and self._index.first_revision((namespace, name), latest) == latest.revision
        inherited = len(revisions) > 1 and _inherits_labels(latest, revisions[-2])
        rolling_back = latest.status == "pending-rollback" and _is_rolling_back(attempt, latest)
        overtaking = _overtaking_revisions(latest, revisions[:-1])
        return ObservedRelease(
            revision=latest.revision,
            status=latest.status,
            owner=_owner(revisions),
            digests=None if inherited or overtaking else label_digests(latest),
            has_own_attempt=rolling_back or is_first,
            modified_at=float(latest.modified),
            past_revisions=tuple(
                PastRevision(info.revision, info.status, label_digests(info), secret_uid=info.secret_uid)
                for info in revisions[:-1]
            ),
            overtaken_by=frozenset(info.revision for info in overtaking),
            late_pending=next((_pending(info) for info in revisions[:-1] if info.status in PENDING), None),
            secret_uid=latest.secret_uid,
        )

    def is_newest(self, namespace: str, name: str, planned: ObservedRelease | None) -> bool:
        """Return whether the newest revision still is the one that was planned for, in the same status."""
        newest = self.revisions(namespace, name)[-1:]
        known = [(each.revision, each.status) for each in newest]
        return known == ([] if planned is None else [(planned.revision, planned.status)])

    def note_change(self, namespace: str, name: str) -> None:
        """Note that helm may have changed a release now: what is known of it is outdated until it is looked at."""
        self._changed_at[namespace, name] = self._clock.monotonic()

    async def ensure_current(self, namespace: str, name: str) -> None:
        """List the revisions of a release if what is known of it is outdated.

        If they may not be listed, what the watch shows counts after LATE_SECONDS.

        Raises:
            KubeError: as `refresh`.
        """
        changed_at = self._changed_at.get((namespace, name))
        if changed_at is None:
            return
        try:
            await self.refresh(namespace, name)
        except AccessDenied:
            if self._clock.monotonic() - changed_at < LATE_SECONDS:
                raise
            self._changed_at.pop((namespace, name), None)

    async def wait_deployed(self, namespace: str, name: str, revision: int, *, attempt: str) -> None:
        """Wait until the watch shows that a helm step of `attempt` has deployed `revision`; if it does not, list.

        That is the last thing that helm writes, so all other revisions are then known as they are too.

        Raises:
            KubeError: as `refresh`.
        """

        def is_shown() -> bool:
            info = self.get_revision(namespace, name, revision)
            return info is not None and (info.status, info.attempt) == (DEPLOYED, attempt)

        changed = self._changed[namespace, name] = asyncio.Event()
        try:
            if await wait_for_state(changed, is_shown, seconds=WATCH_SECONDS):
                self._changed_at.pop((namespace, name), None)
            else:
                await self.refresh(namespace, name)
        finally:
            self._changed.pop((namespace, name), None)

    async def refresh(self, namespace: str, name: str) -> list[JsonObject]:
        """List the revisions of a release now.

        In a namespace that is not watched, as after its last XApp, nothing is kept: nobody would tell what goes away.

        Returns:
            The metadata of the Secrets that helm takes for records of the release, also of those with another name;
            none in a namespace that is not watched.

        Raises:
            KubeError: when they cannot be listed.
        """
        listed = await self._kube.list(
            SECRETS, namespace=namespace, label_selector=f"{RELEASE_SELECTOR},name={name}", metadata_only=True
        )
        self._changed_at.pop((namespace, name), None)
        if not self._secrets.is_listed(namespace):
            return []
        now = self._clock.now()
        parsed = (parse_revision(secret, now=now) for secret in listed.items)
        found = [each for each in parsed if each is not None]
        numbers = {info.revision for _, info in found}
        for info in self.revisions(namespace, name):
            if info.revision not in numbers:
                self._index.remove_revision((namespace, name), info.revision)
        for key, info in found:
            self._index.put_revision(key, info)
        return [obj(secret, "metadata") for secret in listed.items]

    def forget(self, namespace: str, name: str) -> None:
        """Forget a release that cannot be uninstalled any more, because its namespace is being deleted."""
        self._changed_at.pop((namespace, name), None)
        for info in self.revisions(namespace, name):
            self._index.remove_revision((namespace, name), info.revision)

    def _on_event(self, change: ChangeType, name: ObjectKey, found: SecretEntry) -> None:
        if isinstance(found, OtherSecret):
            self._remove_unlabelled(name)
            return
        key, info = found
        known = self.get_revision(*key, info.revision)
        if change == "DELETED":
            self._index.remove_revision(key, info.revision, uid=info.secret_uid)
        else:
            self._index.put_revision(key, info)
        if (changed := self._changed.get(key)) is not None:
            changed.set()
        if change == "DELETED" or known != info:
            self._on_change(key)

    def _remove_unlabelled(self, secret: ObjectKey) -> None:
        """Remove a revision whose Secret lost the label by which Helm finds it."""
        parsed = parse_release_secret_name(secret.name)
        if parsed is None:
            return
        name, revision = parsed
        if self.get_revision(secret.namespace, name, revision) is not None:
            self._index.remove_revision((secret.namespace, name), revision)
            self._on_change((secret.namespace, name))


async def read_release_record(kube: KubeReader, namespace: str, name: str, revision: int) -> ReleaseRecord:
    """Return the chart, values and manifest of one revision.

    Raises:
        KubeError: when the record cannot be read.
        ReleaseRecordDamaged: when it cannot be decoded, naming the Secret.
    """
    secret_name = release_secret_name(name, revision)
    secret = await kube.get(SECRETS, secret_name, namespace=namespace)
    try:
        return await asyncio.to_thread(decode_release, secret)  # a large record must not delay leases and probes
    except ReleaseRecordDamaged as error:
        raise type(error)(f"Secret {secret_name}: {error.message}") from error


def _owner(revisions: tuple[RevisionInfo, ...]) -> str | None:
    """Return the XApp that has installed, upgraded or adopted a release last, or None if no XApp has.

    Revisions that helm deploys for a person have labels of earlier ones, also of those from before an adoption.
    """
    owners = [xapp for xapp, _ in dict.fromkeys((info.xapp, info.attempt) for info in revisions) if xapp]
    return owners[-1] if owners else None


def _inherits_labels(info: RevisionInfo, previous: RevisionInfo) -> bool:
    """Return whether a person's upgrade has made a revision: its digests are those of the one before, and wrong.

    Where revisions between may have been deleted, `find_digests` tells it from a rollback, once the record is read.
    """
    return info.attempt != "" and info.attempt == previous.attempt and info.revision == previous.revision + 1


def _overtaking_revisions(latest: RevisionInfo, earlier: tuple[RevisionInfo, ...]) -> tuple[RevisionInfo, ...]:
    """Return the revisions before the newest one that another helm has made after it.

    A helm that has read the history before takes the number of a revision that was deleted since. Times alone do not
    tell that, because clocks may be set back; the order of writes does not, because others may write all Secrets.
    """
    return tuple(info for info in earlier if info.status != SUPERSEDED and _is_made_after(info, latest))


def _is_made_after(info: RevisionInfo, latest: RevisionInfo) -> bool:
    if info.late_version > latest.first_version:
        return True  # it was seen to end after that
    if info.created < latest.created:
        return False
    if info.status in PENDING or info.first_version > latest.first_version:
        return True
    # Where its creation was not seen, its last write tells. Not within a second: quick steps share it.
    return info.created > latest.created and info.version > latest.version


def _pending(info: RevisionInfo) -> PendingRevision:
    return PendingRevision(info.revision, info.status, float(info.modified))


def _is_rolling_back(attempt: Attempt | None, latest: RevisionInfo) -> bool:
    """Return whether `attempt` is a rollback that may have left `latest`; one that is over left nothing later."""
    if attempt is None or attempt.action != ROLLBACK:
        return attempt is not None and attempt.rollback_was_ended
    is_over = attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.INTERRUPTED)
    return attempt.outcome is AttemptOutcome.RUNNING or (is_over and latest.modified <= attempt.last_at)
