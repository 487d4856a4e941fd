"""Uploaded charts as immutable Secrets `chart-<first 16 hex digits of the sha256>`.

They are the only objects of users that the gateway writes with its own identity, after a dry run has shown that the
caller may write the XApp. The operator manages their owners and deletes those that nobody owns.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.names import ANNOTATION_RELEASED_AT, CHART_SECRET_KEY, CHART_SECRET_TYPE
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.common.text import rfc3339
from xapp_operator.domain.naming import chart_secret_name
from xapp_operator.errors import AlreadyExists, Conflict, IdentityConflict, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS, XAPPS

CREATE_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class UploadedChart:
    """A valid chart: its temporary file, its bytes and its content."""

    path: Path
    data: bytes
    info: ChartInfo

    @property
    def secret_name(self) -> str:
        return chart_secret_name(self.info.digest)

    @property
    def archive(self) -> JsonObject:
        """Return `spec.archive` of an XApp that uses it."""
        return {
            "secretRef": {"name": self.secret_name, "key": CHART_SECRET_KEY},
            "digest": f"sha256:{self.info.digest}",
        }


async def ensure_chart_secret(kube: KubeClient, chart: UploadedChart, *, namespace: str) -> JsonObject | None:
    """Ensure that `namespace` has a Secret with `chart`; return its metadata if this created it.

    An existing Secret is compared and reused. References to deleted owners are removed from it and its time without an
    owner starts again, so that neither the garbage collector nor the operator deletes it before the XApp owns it.

    Raises:
        IdentityConflict: when a Secret of that name has other content.
        KubeError: when it cannot be written.
    """
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": chart.secret_name, "namespace": namespace},
        "type": CHART_SECRET_TYPE,
        "immutable": True,
        "data": {CHART_SECRET_KEY: base64.b64encode(chart.data).decode()},
    }
    for _ in range(CREATE_ATTEMPTS):
        try:
            return obj(await kube.create(SECRETS, body), "metadata")
        except AlreadyExists:
            with suppress(NotFound, Conflict):
                await _reuse_chart_secret(kube, chart, namespace=namespace)
                return None
    raise Conflict(f"the Secret {chart.secret_name} keeps changing: send the request again")


async def _reuse_chart_secret(kube: KubeClient, chart: UploadedChart, *, namespace: str) -> None:
    secret = await kube.get(SECRETS, chart.secret_name, namespace=namespace)
    metadata = obj(secret, "metadata")
    stored = text(obj(secret, "data"), CHART_SECRET_KEY)
    if text(secret, "type") != CHART_SECRET_TYPE or stored != base64.b64encode(chart.data).decode():
        raise IdentityConflict(
            f"the Secret {chart.secret_name} in the namespace {namespace} has other content: delete it and send the "
            "request again"
        )
    if "deletionTimestamp" in metadata:
        raise Conflict(f"the Secret {chart.secret_name} is being deleted: send the request again in a moment")
    owners = items(metadata, "ownerReferences")
    alive = [owner for owner in owners if await _owner_exists(kube, owner, namespace=namespace)]
    if alive and len(alive) == len(owners):
        return
    change: JsonObject = {
        "resourceVersion": text(metadata, "resourceVersion"),
        "ownerReferences": list[Json](alive),
    }
    if not alive:
        change["annotations"] = {ANNOTATION_RELEASED_AT: rfc3339(datetime.now(UTC))}
    await kube.patch(SECRETS, chart.secret_name, {"metadata": change}, namespace=namespace)


async def _owner_exists(kube: KubeClient, owner: JsonObject, *, namespace: str) -> bool:
    try:
        xapp = await kube.get(XAPPS, text(owner, "name"), namespace=namespace, metadata_only=True)
    except NotFound:
        return False
    metadata = obj(xapp, "metadata")
    return text(metadata, "uid") == text(owner, "uid") and "deletionTimestamp" not in metadata
