"""The texts that errors of helm rollback, uninstall and test must not contain.

These steps take no values. What an admission webhook, the API server or a hook quotes comes from the revisions of the
release, so their records are read, but only when helm has failed. A record does not tell which of its values came from
a Secret. Therefore each longer text counts as one, unless spec.values has it, which everybody sees who sees the status.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Final

from xapp_operator.api.models import XApp
from xapp_operator.domain.masking.redaction import long_texts, secret_texts
from xapp_operator.errors import NotFound, ReleaseRecordDamaged
from xapp_operator.helm.releases.release_storage import ReleaseRecord
from xapp_operator.helm.requests import SecretsReader
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.work.work_queue import NamespacedName

RECORDS_MAX: Final = 20
"""Newest revisions whose values are looked for: the objects of a release come from those since the last good one."""


def secrets_reader(
    key: NamespacedName, release: str, context: ReconcilerContext, *, rollback_to: int | None = None
) -> SecretsReader:
    """Return what reads the texts of the release of the XApp `key`, also those of the revision `rollback_to`."""
    return functools.partial(_read_secrets, key, release, context, rollback_to=rollback_to)


async def _read_secrets(
    key: NamespacedName, release: str, context: ReconcilerContext, *, rollback_to: int | None
) -> frozenset[str]:
    """Return the texts.

    Raises:
        KubeError: when a record cannot be read.
        XAppError: when no record is left, as after a failed post-delete hook, and the values of the spec are not known.
    """
    numbers = {info.revision for info in context.release_watch.revisions(key[0], release)[-RECORDS_MAX:]}
    if rollback_to is not None:
        numbers.add(rollback_to)
    records: list[ReleaseRecord] = []
    for number in sorted(numbers):
        try:
            records.append(await read_release_record(context.kube, key[0], release, number))
        except (NotFound, ReleaseRecordDamaged):  # helm cannot read a damaged one either
            continue
    cached = context.xapps.get(key)
    xapp = None if cached is None else cached.parse()[1]
    if records:
        return await asyncio.to_thread(_texts_of, records, xapp)
    if xapp is None:
        raise NotFound(f"neither the XApp {key[1]} nor a record of release {release} exists any more")
    return await context.inputs.load_secrets(xapp)


def _texts_of(records: list[ReleaseRecord], xapp: XApp | None) -> frozenset[str]:
    public = frozenset(long_texts(xapp.spec.user_values)) if xapp is not None else frozenset[str]()
    found: set[str] = set()
    for record in records:
        found.update(each for each in long_texts(record.config) if each not in public)
        found.update(secret_texts(record.config))
    return frozenset(found)
