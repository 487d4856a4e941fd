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
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus
from xapp_operator.api.names import (
    ANNOTATION_FORCE_AT,
    ANNOTATION_RECONCILE_AT,
    ANNOTATION_RETRY_AT,
    ANNOTATION_ROLLBACK_TO,
)
from xapp_operator.domain.actions import Action, Install, Upgrade
from xapp_operator.domain.plan_input import (
    DEPLOYED,
    AnnotationRequests,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    ObservedState,
)
from xapp_operator.errors import AccessDenied, KubeError, SourceUnavailable, XAppError
from xapp_operator.helm.inventory import manifest_inventory
from xapp_operator.helm.release_storage import decode_release, release_secret_name
from xapp_operator.kube.resources import SECRETS
from xapp_operator.monitor.root_cause import find_root_cause
from xapp_operator.reconcile.adoption import matches_desired_state
from xapp_operator.reconcile.labels import label_objects, repair_labels
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status_draft import requested_value, utc
from xapp_operator.reconcile.status_rendering import LiveState
from xapp_operator.reconcile.verbs.rollback import mark_rollback_handled
from xapp_operator.reconcile.verbs.uninstall import namespace_terminating

MAX_REVISION_DIGITS: Final = 10
POD_GRACE_SECONDS: Final = 3.0
"""A step younger than this is given time before its pods are asked why they are not ready."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What `plan` decides on, and what `report` words."""

    observed: ObservedState
    desired: Digests | XAppError | None
    live: LiveState
    requests: AnnotationRequests


class Observer:
    """Looks at one XApp at a time."""

    def __init__(self, tools: ReconcilerContext) -> None:
        self._tools = tools

    def now(self) -> datetime:
        """Return the present, to the second as Kubernetes keeps times."""
        return utc(time.time())

    async def observe(self, work: ReconcileRequest) -> Observation:
        """Return what there is now.

        Raises:
            KubeError: when the cluster does not answer a question that cannot be left open.
        """
        tools, xapp = self._tools, work.xapp
        deleting = xapp.metadata.deletion_timestamp is not None
        requests = self._requests(work)
        if work.draft.attempt is not None and requests.clears_attempt(work.draft.attempt):
            work.draft.attempt = None
        if requests.retry and deleting:
            work.draft.handled = work.draft.handled.model_copy(
                update={"retry_at": requested_value(xapp, ANNOTATION_RETRY_AT)}
            )
        if xapp.status.observed_generation != xapp.metadata.generation:
            work.draft.held_revision = None
        desired = None if deleting or xapp.spec.suspend else await self._resolve_desired(work)
        release = tools.release_watch.get_release(work.namespace, xapp.release_name, attempt=work.draft.attempt)
        if (
            release is not None
            and isinstance(desired, Digests)
            and await matches_desired_state(work, tools, release, desired)
        ):
            release = replace(release, digests=desired)
        if release is None:
            work.draft.release = ReleaseStatus()
            work.draft.history = ()
        elif release.owner == xapp.metadata.name and release.status == DEPLOYED:
            await self._load_release(work, release.revision)
            if not (deleting or tools.running_steps.is_running(work.key)):
                await self._record_access_denied(work, repair_labels(work, tools))
        if requests.rollback_to is not None and release is not None and requests.rollback_to not in release.revisions:
            self._reject_rollback(work, requests.rollback_to, release)
            requests = replace(requests, rollback_to=None)
        observed = ObservedState(
            release=release,
            helm_running=tools.running_steps.is_running(work.key),
            namespace_terminating=deleting and await namespace_terminating(tools, work.namespace),
            unready_dependencies=self._unready_dependencies(work),
        )
        return Observation(
            observed=observed, desired=desired, live=await self._observe_live_state(work), requests=requests
        )

    def mark_force_handled(self, work: ReconcileRequest, action: Action) -> None:
        """Note the wishes of annotations that `action` fulfils."""
        if isinstance(action, Install | Upgrade):
            forced = requested_value(work.xapp, ANNOTATION_FORCE_AT)
            work.draft.handled = work.draft.handled.model_copy(update={"force_at": forced})
            work.draft.held_revision = None

    def _reject_rollback(self, work: ReconcileRequest, wanted: int, release: ObservedRelease) -> None:
        there = ", ".join(map(str, sorted(release.revisions)))
        message = f"rollback-to names revision {wanted}, which is not kept: set it to one of {there}"
        self._tools.events.record(work.raw, event_type="Warning", reason=Reason.ROLLBACK_FAILED, message=message)
        mark_rollback_handled(work)

    async def _resolve_desired(self, work: ReconcileRequest) -> Digests | XAppError:
        xapp, handled = work.xapp, work.draft.handled
        requested = {
            "reconcile_at": requested_value(xapp, ANNOTATION_RECONCILE_AT),
            "retry_at": requested_value(xapp, ANNOTATION_RETRY_AT),
        }
        unhandled = {name: value for name, value in requested.items() if value and value != getattr(handled, name)}
        if unhandled:
            work.draft.handled = handled.model_copy(update=unhandled)
            self._tools.resolver.cancel(work.key)
        try:
            digests = await self._tools.resolver.resolve(
                work.key,
                lambda: self._tools.inputs.resolve_digests(xapp, revalidate=bool(unhandled)),
                version=(xapp.metadata.uid, xapp.metadata.generation),
            )
            return digests or SourceUnavailable("the chart's source has not answered yet; it is still being asked")
        except KubeError as error:
            if error.permanent:
                return error
            raise
        except XAppError as error:
            return error

    def _requests(self, work: ReconcileRequest) -> AnnotationRequests:
        xapp, handled = work.xapp, work.draft.handled
        retry, force = requested_value(xapp, ANNOTATION_RETRY_AT), requested_value(xapp, ANNOTATION_FORCE_AT)
        back = requested_value(xapp, ANNOTATION_ROLLBACK_TO)
        number = (back or "").partition("@")[0]
        wants_back = back != handled.rollback_to and number.isdecimal() and len(number) <= MAX_REVISION_DIGITS
        return AnnotationRequests(
            retry=retry is not None and retry != handled.retry_at,
            force=force is not None and force != handled.force_at,
            rollback_to=int(number) if wants_back else None,
        )

    def _unready_dependencies(self, work: ReconcileRequest) -> tuple[str, ...]:
        names = (dependency.name for dependency in work.xapp.spec.depends_on or ())
        return tuple(name for name in names if not self._is_dependency_ready(work.namespace, name))

    def _is_dependency_ready(self, namespace: str, name: str) -> bool:
        entry = self._tools.xapps.get((namespace, name))
        if entry is None:
            return False
        _, other = entry.parse()
        current = other.status.observed_generation == other.metadata.generation
        return current and other.status.ready

    async def _load_release(self, work: ReconcileRequest, revision: int) -> None:
        """Make sure that inventory and chart of the deployed revision are known, and the history in step."""
        tools, draft, xapp = self._tools, work.draft, work.xapp
        relabel = work.key in tools.unlabelled or xapp.status.observed_generation not in (-1, xapp.metadata.generation)
        if draft.release.revision != revision or not tools.monitor.has_inventory(work.key) or relabel:
            secret = await tools.kube.get(
                SECRETS, release_secret_name(xapp.release_name, revision), namespace=work.namespace
            )
            # Leases and probes must not wait for a large record.
            stored = await asyncio.to_thread(decode_release, secret)
            refs = await asyncio.to_thread(manifest_inventory, stored.manifest)
            tools.monitor.set_inventory(work.key, refs)
            await tools.monitor.watch_custom_kinds(refs)
            info = tools.release_watch.get_revision(work.namespace, xapp.release_name, revision)
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
                await self._record_access_denied(work, label_objects(work, tools, stored.manifest))
        draft.history = self._history(work)

    async def _record_access_denied(self, work: ReconcileRequest, labelling: Coroutine[object, object, None]) -> None:
        """Wait for the labelling; a missing right becomes an event, and is no reason not to go on."""
        try:
            await labelling
        except AccessDenied as error:
            self._tools.events.record(
                work.raw, event_type="Warning", reason=Reason.ACCESS_DENIED, message=error.message
            )

    def _history(self, work: ReconcileRequest) -> tuple[RevisionStatus, ...]:
        known = {revision.revision: revision for revision in work.draft.history}
        release, entries = work.draft.release, []
        for info in self._tools.release_watch.revisions(work.namespace, work.xapp.release_name):
            before = known.get(info.revision)
            if before is None and info.revision == release.revision:
                before = RevisionStatus(
                    revision=info.revision,
                    status=info.status,
                    chart=release.chart,
                    chart_version=release.chart_version,
                    app_version=release.app_version,
                    action=work.draft.attempt.action if work.draft.attempt else None,
                    deployed_at=release.last_deployed,
                )
            if before is None:
                before = RevisionStatus(revision=info.revision, status=info.status)
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

    async def _observe_live_state(self, work: ReconcileRequest) -> LiveState:
        tools = self._tools
        report = tools.monitor.report(work.key)
        health, message = report.status, report.message
        if health is not HealthStatus.HEALTHY and report.unhealthy and self._should_inspect_pods(work, health):
            cause = await find_root_cause(tools.kube, report.unhealthy)
            if cause is not None:
                # A rollout whose pods crash is on its way, by kstatus, until its deadline; to people it is broken.
                health = cause.status if health is HealthStatus.PROGRESSING else health
                message = cause.message
        return LiveState(
            health=health, message=message, total=report.total, ready=report.ready, services=report.services
        )

    def _should_inspect_pods(self, work: ReconcileRequest, status: HealthStatus) -> bool:
        attempt = work.draft.attempt
        if attempt is None or status is HealthStatus.DEGRADED or attempt.outcome is not AttemptOutcome.RELEASED:
            return True
        return time.time() - attempt.last_at >= POD_GRACE_SECONDS
