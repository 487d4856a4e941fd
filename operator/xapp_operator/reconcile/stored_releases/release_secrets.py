"""The texts that errors of helm rollback, uninstall and test must not contain.

These steps take no values. What an admission webhook, the API server or a hook quotes comes from the revisions of the
release, so their records are read, but only when helm has failed. A record does not tell which of its values came from
a Secret. Therefore each longer text counts as one, unless spec.values has it, which everybody sees who sees the status,
or it is the name of the namespace, the release or the chart.
"""

from __future__ import annotations

import asyncio
import functools
from itertools import chain, islice
from typing import Final

from xapp_operator.api.models import XApp
from xapp_operator.domain.masking.redaction import long_texts, secret_texts
from xapp_operator.errors import ApiUnavailable, HelmError, NotFound, ReleaseRecordDamaged, ReleaseRecordTooLarge
from xapp_operator.helm.releases.release_storage import ReleaseRecord
from xapp_operator.helm.requests import SecretsReader
from xapp_operator.helm.results.stderr import SECRETS_MAX
from xapp_operator.kube.reader import KubeReader
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.work.work_queue import NamespacedName

RECORDS_MAX: Final = 20
"""Newest revisions whose values are looked for: the objects of a release come from those since the last good one."""
READ_SECONDS: Final = 10.0


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
        ApiUnavailable: when it takes longer than READ_SECONDS, for which a place of helm is held.
        XAppError: when a record cannot be read, is too large or has too many texts, or when no record is left, as after
            a failed post-delete hook, and the values of the spec are not known.
    """
    numbers = {info.revision for info in context.release_watch.revisions(key[0], release)[-RECORDS_MAX:]}
    if rollback_to is not None:
        numbers.add(rollback_to)
    cached = context.xapps.get(key)
    xapp = None if cached is None else cached.parse()[1]
    try:
        async with asyncio.timeout(READ_SECONDS):
            found = await _read_records(key[0], release, sorted(numbers), context, xapp)
            if found is not None:
                return found
            if xapp is None:
                raise NotFound(f"neither the XApp {key[1]} nor a record of release {release} exists any more")
            return await context.inputs.load_secrets(xapp)
    except TimeoutError as error:
        raise ApiUnavailable(f"reading them took more than {READ_SECONDS:g} s") from error


async def _read_records(
    namespace: str, release: str, numbers: list[int], context: ReconcilerContext, xapp: XApp | None
) -> frozenset[str] | None:
    """Return the texts of the revisions, or None if there is no record."""
    public = frozenset({namespace, release, *(() if xapp is None else long_texts(xapp.spec.user_values))})
    found: set[str] = set()
    any_record = False
    for number in numbers:
        texts = await _read_texts(context.kube, namespace, release, number, public)
        any_record = any_record or texts is not None
        found.update(texts or ())
        if len(found) > SECRETS_MAX:
            raise HelmError(f"the revisions have more than {SECRETS_MAX:,} texts that may be secrets")
    return frozenset(found) if any_record else None


async def _read_texts(
    kube: KubeReader, namespace: str, release: str, number: int, public: frozenset[str]
) -> frozenset[str] | None:
    """Return the texts of one revision, so that only one decoded record is in memory; None if helm cannot read it."""
    try:
        record = await read_release_record(kube, namespace, release, number)
    except ReleaseRecordTooLarge:
        raise
    except (NotFound, ReleaseRecordDamaged):
        return None
    return await asyncio.to_thread(_texts_of, record, public)


def _texts_of(record: ReleaseRecord, public: frozenset[str]) -> frozenset[str]:
    known = public | {record.chart.name}
    found = {each for each in long_texts(record.config) if each not in known}
    return frozenset(islice(chain(secret_texts(record.config), found), SECRETS_MAX + 1))
