"""Reads the record of the deployed revision of an XApp: its status, and which objects it consists of. It only reads.

helm accepts some manifests that this package does not read, such as YAML of which the parsers disagree, and more than
10,000 objects. Their inventory stays unknown, and they are not read again.
"""

from __future__ import annotations

import contextlib

from xapp_operator.api.models import ReleaseStatus, XApp
from xapp_operator.common.off_loop import run_sized
from xapp_operator.domain.planning.plan_input import DEPLOYED, PENDING, AttemptOutcome, ObservedRelease
from xapp_operator.errors import ChartInvalid, HelmError, NotFound, ReleaseRecordDamaged
from xapp_operator.helm.manifest import ObjectRef, manifest_inventory
from xapp_operator.helm.releases.release_storage import public_description
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.status.revision_history import (
    find_digests,
    find_undescribed,
    label_digests,
    release_digests,
)
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.work.work_queue import NamespacedName


async def load_deployed_release(
    xapp: XApp, draft: StatusDraft, revision: int, context: ObserverContext
) -> ReleaseStatus:
    """Return the status of the deployed revision, and make sure that the monitor knows its inventory.

    If the manifest cannot be read, `context.unreadable_manifests` says why.

    Raises:
        KubeError: when the record cannot be read, or is gone meanwhile.
        ReleaseRecordDamaged: when the record cannot be decoded.
    """
    key, namespace = xapp.key, xapp.metadata.namespace
    is_known = context.monitor.has_inventory(key) or key in context.unreadable_manifests
    newest = context.release_watch.get_revision(namespace, xapp.release_name, revision)
    if newest is None:
        raise NotFound(f"revision {revision} of {xapp.release_name} went away while the release was looked at")
    was_found = release_digests(draft.release) in (None, label_digests(newest))  # else its number was used again
    if draft.release.revision == revision and is_known and was_found:
        return draft.release
    record = await read_release_record(context.kube, namespace, xapp.release_name, revision)
    with contextlib.suppress(ChartInvalid):  # the plan tells it
        await read_inventory(key, revision, record.manifest, context)
    found = ReleaseStatus(
        name=xapp.release_name,
        namespace=namespace,
        revision=revision,
        chart=record.chart.name,
        chart_version=record.chart.version,
        app_version=record.chart.app_version or None,
        first_deployed=record.first_deployed or None,
        last_deployed=record.last_deployed or None,
        description=public_description(record.description),
    )
    first = context.release_watch.first_revision(namespace, xapp.release_name)
    undescribed = find_undescribed(xapp.status.history or ())
    digests = find_digests(found, newest, draft.history, first=first, undescribed=undescribed - {revision})
    if digests is None:
        return found
    return found.model_copy(update={"chart_digest": digests.chart, "values_digest": digests.values})


async def is_same_release(xapp: XApp, draft: StatusDraft, revision: int, context: ObserverContext) -> bool:
    """Return whether `revision` belongs to the release that the XApp has had, as the time of the first install tells.

    Raises:
        KubeError: when the record cannot be read.
    """
    if draft.release.first_deployed is None:
        return False  # it has had none
    try:
        record = await read_release_record(context.kube, xapp.metadata.namespace, xapp.release_name, revision)
    except NotFound:
        return True  # the watch will tell that it is gone
    except ReleaseRecordDamaged:
        return False
    first = ReleaseStatus.model_validate({"firstDeployed": record.first_deployed or None}).first_deployed
    return first is not None and int(first.timestamp()) == int(draft.release.first_deployed.timestamp())


async def is_label_outdated(
    xapp: XApp, draft: StatusDraft, release: ObservedRelease | None, context: ObserverContext
) -> bool:
    """Return whether the label of the newest record has another status than the record, which is the one helm reads.

    The record is read only when it is not deployed, or the last step failed, as it does if helm finds it pending; and
    once for each version of its Secret.

    Raises:
        KubeError: when the record cannot be read.
        ReleaseRecordDamaged: when the record cannot be decoded.
    """
    failed = draft.attempt is not None and draft.attempt.outcome is AttemptOutcome.FAILED
    if release is None or release.owner != xapp.metadata.name or release.status in PENDING:
        return False  # Unlock reads one that is pending
    if release.status == DEPLOYED and not failed:
        return False
    namespace, name, revision = xapp.metadata.namespace, xapp.release_name, release.revision
    info = context.release_watch.get_revision(namespace, name, revision)
    if info is None or context.correct_labels.get(xapp.key) == info.resource_version:
        return False
    try:
        record = await read_release_record(context.kube, namespace, name, revision)
    except NotFound:
        return False  # the watch will tell that it is gone
    if record.status_label != record.status:
        return True
    context.correct_labels[xapp.key] = info.resource_version
    return False


async def read_inventory(
    key: NamespacedName, revision: int, manifest: str, context: ObserverContext
) -> tuple[ObjectRef, ...]:
    """Tell the monitor which objects a deployed revision consists of, and return them.

    Raises:
        ChartInvalid: when the manifest cannot be read; then nothing is known about them.
    """
    context.unreadable_manifests.pop(key, None)
    try:
        references = await run_sized(len(manifest), manifest_inventory, manifest)
    except HelmError as error:
        problem = f"{error.message}. So the objects of the release are not known: change the chart or its values"
        context.monitor.forget_inventory(key)
        context.unreadable_manifests[key] = problem
        raise ChartInvalid(problem) from error
    context.monitor.set_inventory(key, references)
    context.drift.keep_manifest(key, revision, manifest)
    return references
