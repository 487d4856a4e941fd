"""Uninstall: the XApp is being deleted, or an uninstall was left half done.

Works from Helm's storage alone: neither the chart nor the values are needed. Draft: attempt; release cleared.
"""

from __future__ import annotations

import time
from dataclasses import replace

from xapp_operator.api.json import obj
from xapp_operator.api.models import ReleaseStatus
from xapp_operator.domain.actions import Uninstall
from xapp_operator.domain.situation import Attempt, Outcome
from xapp_operator.errors import AccessDenied, NotFound, XAppError
from xapp_operator.helm.requests import UninstallRequest
from xapp_operator.kube.resources import NAMESPACES
from xapp_operator.reconcile.running import Interrupted
from xapp_operator.reconcile.tools import Tools, Work
from xapp_operator.reconcile.verbs.deploy import failed


async def uninstall(action: Uninstall, work: Work, tools: Tools, attempt: Attempt) -> None:
    """Run `helm uninstall`; a release that is not found is done."""
    request = UninstallRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        user=tools.identities.user_of(work.xapp),
        timeout=work.xapp.spec.timeout_seconds,
        no_hooks=not action.hooks,
    )
    try:
        await tools.running.run(work.key, tools.helm.uninstall(request))
    except Interrupted:
        work.draft.attempt = replace(attempt, outcome=Outcome.INTERRUPTED, last_at=time.time())
    except AccessDenied as error:
        await _denied(work, tools, attempt, error)
    except XAppError as error:
        work.draft.attempt = failed(attempt, error)
        tools.events.record(work.raw, kind="Warning", reason=work.draft.attempt.reason, message=error.message)
    else:
        work.draft.attempt = replace(attempt, outcome=Outcome.SUCCEEDED, last_at=time.time())
        work.draft.release = ReleaseStatus()
    await tools.releases.refresh(work.namespace, work.xapp.release_name)


async def _denied(work: Work, tools: Tools, attempt: Attempt, error: AccessDenied) -> None:
    """Let a deletion pass whose namespace, and with it the right to uninstall, is going away."""
    work.draft.attempt = failed(attempt, error)
    tools.events.record(work.raw, kind="Warning", reason=work.draft.attempt.reason, message=error.message)
    if work.xapp.metadata.deletion_timestamp is not None and await namespace_terminating(tools, work.namespace):
        tools.releases.forget(work.namespace, work.xapp.release_name)


async def namespace_terminating(tools: Tools, name: str) -> bool:
    """Return whether the namespace is being deleted, or gone."""
    try:
        namespace = await tools.kube.get(NAMESPACES, name)
    except NotFound:
        return True
    return "deletionTimestamp" in obj(namespace, "metadata")
