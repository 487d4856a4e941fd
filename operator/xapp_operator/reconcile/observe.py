"""What there is for one XApp, gathered from caches: release, live objects, wishes of annotations, and what is desired.

Lives in `reconcile` in front of `plan`. In the settled case it makes no API call: releases, objects and digests are
known already. A release payload is read once per revision after a restart, to learn what the release consists of.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, ReleaseStatus, Revision
from xapp_operator.api.names import (
    ANNOTATION_FORCE_AT,
    ANNOTATION_RECONCILE_AT,
    ANNOTATION_RETRY_AT,
    ANNOTATION_ROLLBACK_TO,
)
from xapp_operator.domain.actions import Action, Install, Upgrade
from xapp_operator.domain.situation import DEPLOYED, Digests, Observed, Outcome, Release, Requests
from xapp_operator.errors import AccessDenied, KubeError, SourceUnavailable, XAppError
from xapp_operator.helm.storage import decode_release, inventory, secret_name
from xapp_operator.kube.resources import SECRETS
from xapp_operator.monitor.diagnosis import culprit
from xapp_operator.reconcile.adoption import agrees
from xapp_operator.reconcile.draft import moment, wish
from xapp_operator.reconcile.labels import label_objects, put_back
from xapp_operator.reconcile.report import Live
from xapp_operator.reconcile.tools import Tools, Work
from xapp_operator.reconcile.verbs.rollback import note_rollback
from xapp_operator.reconcile.verbs.uninstall import namespace_terminating

REVISION_DIGITS: Final = 10
GRACE_SECONDS: Final = 3.0
"""A step younger than this is given time before its pods are asked why they are not ready."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What `plan` decides on, and what `report` words."""

    observed: Observed
    desired: Digests | XAppError | None
    live: Live
    requests: Requests


class Observer:
    """Looks at one XApp at a time."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def now(self) -> datetime:
        """Return the present, to the second as Kubernetes keeps times."""
        return moment(time.time())

    async def look(self, work: Work) -> Observation:
        """Return what there is now.

        Raises:
            KubeError: when the cluster does not answer a question that cannot be left open.
        """
        tools, xapp = self._tools, work.xapp
        deleting = xapp.metadata.deletion_timestamp is not None
        requests = self._requests(work)
        if work.draft.attempt is not None and requests.forgive(work.draft.attempt):
            work.draft.attempt = None
        if requests.retry and deleting:
            work.draft.handled = work.draft.handled.model_copy(update={"retry_at": wish(xapp, ANNOTATION_RETRY_AT)})
        if xapp.status.observed_generation != xapp.metadata.generation:
            work.draft.held_revision = None
        desired = None if deleting or xapp.spec.suspend else await self._desired(work)
        release = tools.releases.observed(work.namespace, xapp.release_name, attempt=work.draft.attempt)
        if release is not None and isinstance(desired, Digests) and await agrees(work, tools, release, desired):
            release = replace(release, digests=desired)
        if release is None:
            work.draft.release = ReleaseStatus()
            work.draft.history = ()
        elif release.owner == xapp.metadata.name and release.status == DEPLOYED:
            await self._learn_release(work, release.revision)
            if not (deleting or tools.running.active(work.key)):
                await self._labelled(work, put_back(work, tools))
        if requests.rollback_to is not None and release is not None and requests.rollback_to not in release.revisions:
            self._refuse_rollback(work, requests.rollback_to, release)
            requests = replace(requests, rollback_to=None)
        observed = Observed(
            release=release,
            helm_running=tools.running.active(work.key),
            namespace_terminating=deleting and await namespace_terminating(tools, work.namespace),
            waiting_for=self._waiting_for(work),
        )
        return Observation(observed=observed, desired=desired, live=await self._live(work), requests=requests)

    def handled(self, work: Work, action: Action) -> None:
        """Note the wishes of annotations that `action` fulfils."""
        if isinstance(action, Install | Upgrade):
            forced = wish(work.xapp, ANNOTATION_FORCE_AT)
            work.draft.handled = work.draft.handled.model_copy(update={"force_at": forced})
            work.draft.held_revision = None

    def _refuse_rollback(self, work: Work, wanted: int, release: Release) -> None:
        there = ", ".join(map(str, sorted(release.revisions)))
        message = f"rollback-to names revision {wanted}, which is not kept: set it to one of {there}"
        self._tools.events.record(work.raw, kind="Warning", reason=Reason.ROLLBACK_FAILED, message=message)
        note_rollback(work)

    async def _desired(self, work: Work) -> Digests | XAppError:
        xapp, handled = work.xapp, work.draft.handled
        wishes = {"reconcile_at": wish(xapp, ANNOTATION_RECONCILE_AT), "retry_at": wish(xapp, ANNOTATION_RETRY_AT)}
        fresh = {name: value for name, value in wishes.items() if value and value != getattr(handled, name)}
        if fresh:
            work.draft.handled = handled.model_copy(update=fresh)
            self._tools.patience.forget(work.key)
        try:
            digests = await self._tools.patience.ask(
                work.key,
                lambda: self._tools.desired.digests(xapp, revalidate=bool(fresh)),
                about=(xapp.metadata.uid, xapp.metadata.generation),
            )
            return digests or SourceUnavailable("the chart's source has not answered yet; it is still being asked")
        except KubeError as error:
            if error.permanent:
                return error
            raise
        except XAppError as error:
            return error

    def _requests(self, work: Work) -> Requests:
        xapp, handled = work.xapp, work.draft.handled
        retry, force = wish(xapp, ANNOTATION_RETRY_AT), wish(xapp, ANNOTATION_FORCE_AT)
        back = wish(xapp, ANNOTATION_ROLLBACK_TO)
        number = (back or "").partition("@")[0]
        wants_back = back != handled.rollback_to and number.isdecimal() and len(number) <= REVISION_DIGITS
        return Requests(
            retry=retry is not None and retry != handled.retry_at,
            force=force is not None and force != handled.force_at,
            rollback_to=int(number) if wants_back else None,
        )

    def _waiting_for(self, work: Work) -> tuple[str, ...]:
        names = (dependency.name for dependency in work.xapp.spec.depends_on or ())
        return tuple(name for name in names if not self._ready(work.namespace, name))

    def _ready(self, namespace: str, name: str) -> bool:
        entry = self._tools.store.get((namespace, name))
        if entry is None:
            return False
        _, other = entry.parse()
        current = other.status.observed_generation == other.metadata.generation
        return current and other.status.ready

    async def _learn_release(self, work: Work, revision: int) -> None:
        """Make sure that inventory and chart of the deployed revision are known, and the history in step."""
        tools, draft, xapp = self._tools, work.draft, work.xapp
        relabel = work.key in tools.unlabelled or xapp.status.observed_generation not in (-1, xapp.metadata.generation)
        if draft.release.revision != revision or not tools.monitor.expects(work.key) or relabel:
            secret = await tools.kube.get(SECRETS, secret_name(xapp.release_name, revision), namespace=work.namespace)
            # Leases and probes must not wait for a large record.
            stored = await asyncio.to_thread(decode_release, secret)
            refs = await asyncio.to_thread(inventory, stored.manifest)
            tools.monitor.expect(work.key, refs)
            await tools.monitor.watch_kinds(refs)
            info = tools.releases.revision(work.namespace, xapp.release_name, revision)
            draft.release = ReleaseStatus(
                name=xapp.release_name,
                namespace=work.namespace,
                revision=revision,
                chart=stored.chart.name,
                chart_version=stored.chart.version,
                app_version=stored.chart.app_version or None,
                chart_digest=info.chart_digest if info else None,
                values_digest=info.values_digest if info else None,
                first_deployed=stored.first_deployed or None,
                last_deployed=stored.last_deployed or None,
            )
            known = xapp.status.release.revision if xapp.status.release else None
            if (relabel or draft.release.revision != known) and not xapp.spec.suspend:
                await self._labelled(work, label_objects(work, tools, stored.manifest))
        draft.history = self._history(work)

    async def _labelled(self, work: Work, labelling: Coroutine[object, object, None]) -> None:
        """Wait for the labelling; a missing right becomes an event, and is no reason not to go on."""
        try:
            await labelling
        except AccessDenied as error:
            self._tools.events.record(work.raw, kind="Warning", reason=Reason.ACCESS_DENIED, message=error.message)

    def _history(self, work: Work) -> tuple[Revision, ...]:
        known = {revision.revision: revision for revision in work.draft.history}
        release, entries = work.draft.release, []
        for info in self._tools.releases.revisions(work.namespace, work.xapp.release_name):
            before = known.get(info.revision)
            if before is None and info.revision == release.revision:
                before = Revision(
                    revision=info.revision,
                    status=info.status,
                    chart=release.chart,
                    chart_version=release.chart_version,
                    app_version=release.app_version,
                    action=work.draft.attempt.action if work.draft.attempt else None,
                    deployed_at=release.last_deployed,
                )
            if before is None:
                before = Revision(revision=info.revision, status=info.status)
            entries.append(
                before.model_copy(
                    update={
                        "status": info.status,
                        "chart_digest": info.chart_digest,
                        "values_digest": info.values_digest,
                    }
                )
            )
        return tuple(sorted(entries, key=lambda entry: -entry.revision))

    async def _live(self, work: Work) -> Live:
        tools = self._tools
        report = tools.monitor.report(work.key)
        health, message = report.status, report.message
        if health is not HealthStatus.HEALTHY and report.ailing and self._asks_pods(work, health):
            cause = await culprit(tools.kube, report.ailing)
            if cause is not None:
                # A rollout whose pods crash is on its way, by kstatus, until its deadline; to people it is broken.
                health = cause.status if health is HealthStatus.PROGRESSING else health
                message = cause.message
        return Live(health=health, message=message, total=report.total, ready=report.ready, services=report.services)

    def _asks_pods(self, work: Work, status: HealthStatus) -> bool:
        attempt = work.draft.attempt
        if attempt is None or status is HealthStatus.DEGRADED or attempt.outcome is not Outcome.RELEASED:
            return True
        return time.time() - attempt.last_at >= GRACE_SECONDS
