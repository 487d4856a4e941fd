"""Uninstall: the XApp is being deleted, or an uninstall was left half done.

Works from Helm's storage alone: neither the chart nor the values are needed. Draft: attempt; release cleared.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from xapp_operator.api.json import obj
from xapp_operator.api.models import ReleaseStatus
from xapp_operator.domain.actions import Uninstall
from xapp_operator.domain.plan_input import Attempt, AttemptOutcome
from xapp_operator.errors import AccessDenied, KindNotServed, NotFound, XAppError
from xapp_operator.helm.release_storage import release_secret_name, remove_unserved_kinds
from xapp_operator.helm.requests import UninstallRequest, UninstallResult
from xapp_operator.kube.resources import NAMESPACES, SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.running import StepInterrupted
from xapp_operator.reconcile.verbs.deploy import failed_attempt


async def uninstall(action: Uninstall, work: ReconcileRequest, tools: ReconcilerContext, attempt: Attempt) -> None:
    """Run `helm uninstall`; a release that is not found is done."""
    request = UninstallRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        user=tools.impersonation.user_for(work.xapp),
        timeout=work.xapp.spec.timeout_seconds,
        no_hooks=not action.hooks,
    )
    try:
        result = await tools.running_steps.run(work.key, _uninstall_served_kinds(work, tools, request))
    except StepInterrupted:
        work.draft.attempt = replace(attempt, outcome=AttemptOutcome.INTERRUPTED, last_at=time.time())
    except XAppError as error:
        work.draft.attempt = failed_attempt(attempt, error)
        tools.events.record(work.raw, event_type="Warning", reason=work.draft.attempt.reason, message=error.message)
        if isinstance(error, AccessDenied) and await _is_namespace_terminating(work, tools):
            tools.release_watch.forget(work.namespace, work.xapp.release_name)
            return
    else:
        work.draft.attempt = replace(attempt, outcome=AttemptOutcome.SUCCEEDED, last_at=time.time())
        work.draft.release = ReleaseStatus()
        if result.unverified:
            left = ", ".join(result.unverified)
            message = f"helm could not tell whether these objects are gone, look after them yourself: {left}"
            tools.events.record(work.raw, event_type="Warning", reason="LeftBehind", message=message)
    await tools.release_watch.refresh(work.namespace, work.xapp.release_name)


async def _uninstall_served_kinds(
    work: ReconcileRequest, tools: ReconcilerContext, request: UninstallRequest
) -> UninstallResult:
    try:
        return await tools.helm.uninstall(request)
    except KindNotServed:
        # Helm stops at a kind whose definition was removed, and with it all its objects: take it out of the record.
        kube, name = tools.impersonation.client_for(work.xapp), work.xapp.release_name
        newest = tools.release_watch.revisions(work.namespace, name)[-1]
        secret = await kube.get(SECRETS, release_secret_name(name, newest.revision), namespace=work.namespace)
        served = await tools.kube.discovery.served_kinds()
        changed = await asyncio.to_thread(remove_unserved_kinds, secret, served=served)
        if changed is None:
            raise
        await kube.replace(SECRETS, changed, namespace=work.namespace)
        return await tools.helm.uninstall(request)


async def _is_namespace_terminating(work: ReconcileRequest, tools: ReconcilerContext) -> bool:
    """Return whether a deletion must pass because its namespace, and with it the right to uninstall, goes away."""
    deleting = work.xapp.metadata.deletion_timestamp is not None
    return deleting and await namespace_terminating(tools, work.namespace)


async def namespace_terminating(tools: ReconcilerContext, name: str) -> bool:
    """Return whether the namespace is being deleted, or gone."""
    try:
        namespace = await tools.kube.get(NAMESPACES, name)
    except NotFound:
        return True
    return "deletionTimestamp" in obj(namespace, "metadata")
