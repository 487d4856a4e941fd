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
UNOWNED_FOR: Final = timedelta(hours=1)

_STAMP: Final = "%Y-%m-%dT%H:%M:%SZ"
_NAME: Final = re.compile(r"chart-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ChartSecret:
    """What the sweep must know of a Secret with an uploaded chart."""

    uid: str
    owners: frozenset[str]  # uids
    created: str  # RFC 3339
    released: str | None  # when the last owner let go of it


def is_chart_secret(name: str) -> bool:
    """Return whether `name` is that of a Secret made from an upload (`chart-<16 hex>`)."""
    return _NAME.fullmatch(name) is not None


async def claim(kube: KubeClient, xapp: XApp, secret: JsonObject) -> None:
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
    await _set_owners(kube, metadata, [*owners, owner], released=None)


async def let_go(
    kube: KubeClient, xapp: XApp, *, keep: str | None, secrets: Iterable[tuple[str, str, ChartSecret]]
) -> None:
    """Take `xapp` out of the owners of every chart Secret in its namespace but `keep`."""
    for namespace, name, facts in secrets:
        if namespace != xapp.metadata.namespace or name == keep or xapp.metadata.uid not in facts.owners:
            continue
        try:
            secret = await kube.get(SECRETS, name, namespace=namespace, metadata_only=True)
            metadata = obj(secret, "metadata")
            owners = [each for each in items(metadata, "ownerReferences") if text(each, "uid") != xapp.metadata.uid]
            await _set_owners(kube, metadata, owners, released=_now() if not owners else None)
        except (NotFound, Conflict):
            continue  # its next event brings the XApp back


async def sweep(kube: KubeClient, secrets: Iterable[tuple[str, str, ChartSecret]]) -> int:
    """Delete chart Secrets that nobody has owned for an hour; return how many."""
    swept = 0
    for namespace, name, facts in list(secrets):
        if facts.owners or datetime.now(UTC) - _unowned_since(facts) < UNOWNED_FOR:
            continue
        try:
            found = await kube.get(SECRETS, name, namespace=namespace)
            if text(found, "type") != CHART_SECRET_TYPE or items(obj(found, "metadata"), "ownerReferences"):
                continue
            version = text(obj(found, "metadata"), "resourceVersion")
            await kube.delete(SECRETS, name, namespace=namespace, uid=facts.uid, resource_version=version)
        except (NotFound, Conflict):
            continue
        swept += 1
    return swept


async def _set_owners(
    kube: KubeClient, metadata: JsonObject, owners: list[JsonObject], *, released: str | None
) -> None:
    change: JsonObject = {
        "resourceVersion": text(metadata, "resourceVersion"),
        "ownerReferences": list[Json](owners),
        "annotations": {ANNOTATION_RELEASED_AT: released},
    }
    await kube.patch(SECRETS, text(metadata, "name"), {"metadata": change}, namespace=text(metadata, "namespace"))


def _unowned_since(facts: ChartSecret) -> datetime:
    for stamp in (facts.released, facts.created):
        try:
            return datetime.strptime(stamp or "", _STAMP).replace(tzinfo=UTC)
        except ValueError:  # anybody may write the annotation
            continue
    return datetime.now(UTC)


def _now() -> str:
    return datetime.now(UTC).strftime(_STAMP)
