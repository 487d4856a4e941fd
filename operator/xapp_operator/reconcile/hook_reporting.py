"""Tells which hook of a chart a step of helm waits for, or failed at, and what is wrong with the pod of that hook.

helm waits for a hook as long as `spec.timeout`, and says nothing meanwhile. Its record names the hook that runs. What a
pod wrote is never part of a message.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from xapp_operator.api.conditions import READY, RECONCILING
from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.status_parts import HookReference
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.health.pod_health import pod_root_cause, workload_root_cause
from xapp_operator.domain.planning.plan_input import Attempt, AttemptOutcome
from xapp_operator.errors import HelmTimeout, HookFailed, KubeError, XAppError
from xapp_operator.helm.releases.release_storage import Hook
from xapp_operator.kube.reader import KubeReader, first_page
from xapp_operator.kube.resources import EVENTS
from xapp_operator.monitor.hook_pods import find_hook_pod
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.watching.xapp_cache import keep_written
from xapp_operator.telemetry.logs import get_logger

FIRST_SECONDS: Final = 5.0
"""A hook that ends earlier needs no word. Measured: helm needs less than a second for a release without hooks."""
MAX_SECONDS: Final = 60.0
NAME_MAX: Final = 253
EVENTS_MAX: Final = 50

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HookReport:
    """A hook, and why it has not ended or has failed; `cause` is empty where that is not known."""

    hook: HookReference
    cause: str
    namespace: str = ""
    """Of the hook, if it is not that of the release: then the status has no reference, as readers look for it here."""

    @property
    def reference(self) -> HookReference | None:
        return None if self.namespace else self.hook

    @property
    def description(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.hook.kind} {self.hook.name}{where}"


@dataclass(slots=True)
class HookReports:
    """What was found last."""

    last: HookReport | None = None


@asynccontextmanager
async def reporting_hooks(
    request: ReconcileRequest, context: ReconcilerContext, reports: HookReports
) -> AsyncIterator[None]:
    """While the body runs, write to the status and to `reports` which hook helm waits for."""
    task = asyncio.create_task(_report(request, context, reports), name=f"hooks {request.key}")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def explain_failure(
    request: ReconcileRequest, context: ReconcilerContext, attempt: Attempt, error: XAppError, reports: HookReports
) -> tuple[Attempt, str]:
    """Return the attempt with the hook that failed, if one did, and the message of `error` with the cause."""
    if not isinstance(error, HookFailed | HelmTimeout):
        return attempt, (await context.impersonation.explain(request.xapp, error)).message
    found = reports.last
    with contextlib.suppress(XAppError):
        await context.release_watch.refresh(request.namespace, request.xapp.release_name)
        found = _newest(await find_hook_report(request, context), reports.last)
    if found is None:
        return attempt, error.message
    message = f"{error.message}; last seen: {found.cause}" if found.cause else error.message
    return replace(attempt, hook=found.reference), message


async def find_hook_report(request: ReconcileRequest, context: ReconcilerContext) -> HookReport | None:
    """Return the hook that the newest revision waits for or failed at; None if there is none.

    Raises:
        KubeError: when record, pods or events cannot be read.
        ReleaseRecordDamaged: when the record cannot be decoded.
    """
    namespace, release = request.namespace, request.xapp.release_name
    revisions = context.release_watch.revisions(namespace, release)
    if not revisions:
        return None
    record = await read_release_record(context.kube, namespace, release, revisions[-1].revision)
    hook = record.current_hook
    if hook is None:
        return None
    reference = HookReference(kind=shorten_line(hook.kind, NAME_MAX), name=shorten_line(hook.name, NAME_MAX))
    if hook.namespace in ("", namespace):
        return HookReport(reference, await _find_cause(context.kube, hook, namespace=namespace))
    cause = ""
    client = context.impersonation.client_for(request.xapp)  # a record can name any namespace
    with contextlib.suppress(KubeError):
        cause = await _find_cause(client, hook, namespace=hook.namespace)
    return HookReport(reference, cause, shorten_line(hook.namespace, NAME_MAX))


async def _report(request: ReconcileRequest, context: ReconcilerContext, reports: HookReports) -> None:
    wait = FIRST_SECONDS
    while True:
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_SECONDS)
        try:
            found = await find_hook_report(request, context)
            if found is not None:
                reports.last = _newest(found, reports.last)
                await _write(request, context, found)
        except XAppError as error:
            _log.info("hook not reported", namespace=request.namespace, name=request.key[1], error=error.message)
        except Exception:  # the step of helm goes on
            _log.exception("reporting a hook failed unexpectedly", namespace=request.namespace, name=request.key[1])


def _newest(found: HookReport | None, last: HookReport | None) -> HookReport | None:
    """Return what is known of the hook: helm may have deleted its pod, or Kubernetes at the deadline of the Job."""
    if found is None or (last is not None and last.description == found.description and not found.cause):
        return last
    return found


async def _find_cause(kube: KubeReader, hook: Hook, *, namespace: str) -> str:
    pod = await find_hook_pod(kube, kind=hook.kind, name=hook.name, namespace=namespace)
    subject = ("Pod", text(obj(pod, "metadata"), "name")) if pod is not None else (hook.kind, hook.name)
    selector = f"involvedObject.kind={subject[0]},involvedObject.name={subject[1]}"
    events = await first_page(kube, EVENTS, namespace, limit=EVENTS_MAX, field_selector=selector)
    if pod is not None:
        return pod_root_cause(pod, events) or ""
    failure = workload_root_cause((), events)
    return failure.message if failure is not None else ""


async def _write(request: ReconcileRequest, context: ReconcilerContext, report: HookReport) -> None:
    """Write the hook to the status, as an addition to what the operator wrote about the step."""
    before = request.raw
    status = copy.deepcopy(obj(before, "status"))
    if text(obj(status, "lastAttempt"), "outcome") != AttemptOutcome.RUNNING:
        return  # the status does not tell of the step yet
    what = f"it waits for the hook {report.description}"
    addition = f"{what}: {report.cause}" if report.cause else what
    for condition in items(status, "conditions"):
        if condition.get("type") in (READY, RECONCILING):
            condition["message"] = f"{text(condition, 'message')}; {addition}"
    if (reference := report.reference) is not None:
        obj(status, "lastAttempt")["hook"] = {"kind": reference.kind, "name": reference.name}
    written: JsonObject | None = await context.status_writer.write(before, status)
    if written is not None:
        keep_written(context.xapps, context.queue, before, written)
