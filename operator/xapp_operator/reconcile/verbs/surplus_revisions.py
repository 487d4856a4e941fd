"""Deletes revisions beyond spec.maxHistory after a step: helm is told to delete none."""

from __future__ import annotations

from xapp_operator.api.conditions import Reason
from xapp_operator.domain.planning.plan_input import SUPERSEDED, TestOutcome
from xapp_operator.errors import KubeError, NotFound
from xapp_operator.helm.releases.release_index import RevisionInfo, revisions_to_prune
from xapp_operator.helm.releases.release_storage import release_secret_name
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.status.revision_history import find_never_healthy
from xapp_operator.reconcile.verbs.leftovers import prunable
from xapp_operator.reconcile.verbs.run_tests import delete_test_objects


def find_previous_good(request: ReconcileRequest, context: ReconcilerContext) -> int | None:
    """Return the newest revision before the one in force that may have been healthy: it must be there to return to.

    The history of the status does not tell it with a `maxHistory` of 1.
    """
    older = context.release_watch.revisions(request.namespace, request.xapp.release_name)[:-1]
    unhealthy = find_never_healthy((each.revision for each in older), request.draft.history)
    good = (each for each in reversed(older) if each.status == SUPERSEDED and each.revision not in unhealthy)
    return next((each.revision for each in good), None)


async def delete_surplus(
    request: ReconcileRequest, context: ReconcilerContext, *, rollback_target: int | None = None
) -> tuple[RevisionInfo, ...]:
    """Delete revisions beyond spec.maxHistory, because helm deletes none: see `revisions_to_prune`; return the others.

    Those whose records tell what helm has left stay until that is deleted: see `prunable`. Those that cannot be deleted
    become one event: the step is done, and the next one tries again. For that of the last tests, see `_without_tested`.
    """
    client = context.impersonation.client_for(request.xapp)
    namespace, name = request.namespace, request.xapp.release_name
    stored = context.release_watch.revisions(namespace, name)
    keep = request.xapp.spec.max_history
    in_force = request.draft.release.revision
    failed: dict[int, str] = {}
    never_healthy = find_never_healthy((each.revision for each in stored), request.draft.history)
    surplus = revisions_to_prune(
        stored, keep=keep, rollback_target=rollback_target, in_force=in_force, never_healthy=never_healthy
    )
    surplus = await _without_tested(request, context, await prunable(request, context, surplus))
    for info in surplus:
        secret = release_secret_name(name, info.revision)
        try:
            await client.delete(SECRETS, secret, namespace=namespace, uid=info.secret_uid)
        except NotFound:
            continue
        except KubeError as error:
            failed[info.revision] = error.message
    if failed:
        revisions, cause = ", ".join(map(str, failed)), next(iter(failed.values()))
        message = f"not deleted, though beyond maxHistory: revisions {revisions}: {cause}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
    deleted = {each.revision for each in surplus}
    return tuple(each for each in stored if each.revision not in deleted)


async def _without_tested(
    request: ReconcileRequest, context: ReconcilerContext, surplus: tuple[RevisionInfo, ...]
) -> tuple[RevisionInfo, ...]:
    """Return the revisions that can be deleted: the objects of the last tests go first, which only their record names.

    If the tests failed and the upgrade was rolled back, their revision stays until the next step: their log tells why.
    """
    test, attempt = request.draft.test, request.draft.attempt
    if test is None or all(each.revision != test.revision for each in surplus):
        return surplus
    is_cause = attempt is not None and (attempt.reason == Reason.TEST_FAILED or attempt.rollback_cause is not None)
    if test.outcome is TestOutcome.FAILED and is_cause:
        return tuple(each for each in surplus if each.revision != test.revision)
    await delete_test_objects(request, context, test.revision)
    return surplus
