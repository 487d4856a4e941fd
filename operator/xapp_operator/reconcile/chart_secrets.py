"""Secrets that hold uploaded charts: who owns them, and the sweep of those that nobody owns any more.

Lives in `reconcile`. The gateway makes them without an owner; the operator adds the XApp as owner when it first uses
one, takes it out when the XApp turns to another archive, and Kubernetes removes them with their last owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import API_VERSION, CHART_SECRET_TYPE, GROUP, XAPP_KIND
from xapp_operator.errors import Conflict, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS

ANNOTATION_RELEASED_AT: Final = f"{GROUP}/released-at"
UNOWNED_GRACE: Final = timedelta(hours=1)

_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_CHART_SECRET_NAME: Final = re.compile(r"chart-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ChartSecretInfo:
    """What the sweep must know of a Secret with an uploaded chart."""

    uid: str
    owner_uids: frozenset[str]  # uids
    created_at: str  # RFC 3339
    released_at: str | None  # when the last owner let go of it


def is_chart_secret(name: str) -> bool:
    """Return whether `name` is that of a Secret made from an upload (`chart-<16 hex>`)."""
    return _CHART_SECRET_NAME.fullmatch(name) is not None


async def add_owner(kube: KubeClient, xapp: XApp, secret: JsonObject) -> None:
    """Add `xapp` to the owners of `secret` (as just read), unless it is there or the Secret is not ours.

    Raises:
        Conflict: when the Secret changed meanwhile.
    """
    metadata = obj(secret, "metadata")
    owners = items(metadata, "ownerReferences")
    if text(secret, "type") != CHART_SECRET_TYPE or any(text(each, "uid") == xapp.metadata.uid for each in owners):
        return
    owner: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": XAPP_KIND,
        "name": xapp.metadata.name,
        "uid": xapp.metadata.uid,
    }
    await _set_owners(kube, metadata, [*owners, owner], released_at=None)


async def remove_owner(
    kube: KubeClient, xapp: XApp, *, keep: str | None, secrets: Iterable[tuple[str, str, ChartSecretInfo]]
) -> None:
    """Take `xapp` out of the owners of every chart Secret in its namespace but `keep`."""
    for namespace, name, info in secrets:
        if namespace != xapp.metadata.namespace or name == keep or xapp.metadata.uid not in info.owner_uids:
            continue
        try:
            secret = await kube.get(SECRETS, name, namespace=namespace, metadata_only=True)
            metadata = obj(secret, "metadata")
            owners = [each for each in items(metadata, "ownerReferences") if text(each, "uid") != xapp.metadata.uid]
            await _set_owners(kube, metadata, owners, released_at=_timestamp_now() if not owners else None)
        except (NotFound, Conflict):
            continue  # its next event brings the XApp back


async def delete_unowned(kube: KubeClient, secrets: Iterable[tuple[str, str, ChartSecretInfo]]) -> int:
    """Delete chart Secrets that nobody has owned for an hour; return how many."""
    deleted = 0
    for namespace, name, info in list(secrets):
        if info.owner_uids or datetime.now(UTC) - _unowned_since(info) < UNOWNED_GRACE:
            continue
        try:
            found = await kube.get(SECRETS, name, namespace=namespace)
            if text(found, "type") != CHART_SECRET_TYPE or items(obj(found, "metadata"), "ownerReferences"):
                continue
            version = text(obj(found, "metadata"), "resourceVersion")
            await kube.delete(SECRETS, name, namespace=namespace, uid=info.uid, resource_version=version)
        except (NotFound, Conflict):
            continue
        deleted += 1
    return deleted


async def _set_owners(
    kube: KubeClient, metadata: JsonObject, owners: list[JsonObject], *, released_at: str | None
) -> None:
    change: JsonObject = {
        "resourceVersion": text(metadata, "resourceVersion"),
        "ownerReferences": list[Json](owners),
        "annotations": {ANNOTATION_RELEASED_AT: released_at},
    }
    await kube.patch(SECRETS, text(metadata, "name"), {"metadata": change}, namespace=text(metadata, "namespace"))


def _unowned_since(info: ChartSecretInfo) -> datetime:
    for timestamp in (info.released_at, info.created_at):
        try:
            return datetime.strptime(timestamp or "", _TIME_FORMAT).replace(tzinfo=UTC)
        except ValueError:  # anybody may write the annotation
            continue
    return datetime.now(UTC)


def _timestamp_now() -> str:
    return datetime.now(UTC).strftime(_TIME_FORMAT)
