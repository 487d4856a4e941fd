"""The records of saved repositories with the XApps that use them, as far as the caller may list these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.common.parallel import run_parallel
from xapp_operator.gateway.auth.access_reviews import REVIEW_CONCURRENCY
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.repository_store import RepositoryEntry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore

USER_NAMES_MAX: Final = 10


async def repository_records(store: XAppRecordStore, caller: Caller, entries: Sequence[RepositoryEntry]) -> list[bytes]:
    """Return the record of each repository as JSON; `usedBy` is null where the caller may not list XApps."""
    namespaces = sorted({entry.namespace for entry in entries})
    if len(namespaces) > 1 and await caller.is_allowed("list", namespace=None):
        visible = set(namespaces)
    else:
        allowed = await run_parallel(
            lambda each: caller.is_allowed("list", namespace=each), namespaces, at_once=REVIEW_CONCURRENCY
        )
        visible = {namespace for namespace, is_allowed in zip(namespaces, allowed, strict=True) if is_allowed}
    return [
        entry.record_json[:-1]
        + b',"usedBy":'
        + orjson.dumps(_usage(store, entry) if entry.namespace in visible else None)
        + b"}"
        for entry in entries
    ]


def _usage(store: XAppRecordStore, entry: RepositoryEntry) -> JsonObject:
    users = store.users_of_repository(entry.namespace, entry.name)
    return {"count": len(users), "names": [*users[:USER_NAMES_MAX]]}
