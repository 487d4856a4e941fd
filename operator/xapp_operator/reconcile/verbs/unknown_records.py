"""What is wrong if helm cannot read a record of the release, or meets one that it did not know: helm names none."""

from __future__ import annotations

from typing import Final

from xapp_operator.errors import HelmError, NotFound, ReleaseRecordDamaged, XAppError
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.watching.release_watch import read_release_record

MAX_RECORDS_READ: Final = 20
"""Newest records among which the damaged one is looked for."""


async def explain_unknown_record(
    request: ReconcileRequest, context: ReconcilerContext, error: ReleaseRecordDamaged
) -> HelmError:
    """Return the error that names the Secret that helm cannot read, or `error` if that is not found.

    If all can be read, a person's helm has made the same revision at the same time, and the next try finds it.
    """
    namespace, name = request.namespace, request.xapp.release_name
    all_read = True
    for info in reversed(context.release_watch.revisions(namespace, name)[-MAX_RECORDS_READ:]):
        try:
            await read_release_record(context.kube, namespace, name, info.revision)
        except ReleaseRecordDamaged as damaged:
            return ReleaseRecordDamaged(f"{damaged.message}. Then request a retry.")
        except NotFound:
            pass
        except XAppError:
            all_read = False  # it cannot be read now
    if not all_read:
        return error
    return HelmError(
        "helm met a revision of this release that it did not know: a person's helm may have made it at the same time. "
        "It is tried again. If that does not help, a Secret of this release has labels that do not suit its name: "
        "correct the labels owner, name and version, or remove it"
    )
