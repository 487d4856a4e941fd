"""Uploaded charts as immutable Secrets `chart-<first 16 hex digits of the sha256>`.

They are the only objects of users that the gateway writes with its own identity, after a dry run has shown that the
caller may write the XApp. The operator manages their owners and deletes those that nobody owns.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.models import ArchiveSource
from xapp_operator.api.names import CHART_SECRET_KEY, CHART_SECRET_TYPE
from xapp_operator.charts.chart_info import ChartInfo
from xapp_operator.errors import AlreadyExists, Conflict, IdentityConflict, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS, XAPPS
from xapp_operator.reconcile.chart_secrets import ANNOTATION_RELEASED_AT
from xapp_operator.telemetry.logs import get_logger

SECRET_NAME_DIGITS: Final = 16
CREATE_ATTEMPTS: Final = 5

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UploadedChart:
    """A valid chart: its temporary file, its bytes and its content."""

    path: Path
    data: bytes
    info: ChartInfo

    @property
    def secret_name(self) -> str:
        """Return the name of the chart's Secret."""
        return f"chart-{self.info.digest[:SECRET_NAME_DIGITS]}"

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
            try:
                if await _reuse_chart_secret(kube, chart, namespace=namespace):
                    return None
            except (NotFound, Conflict):
                continue
    raise Conflict(f"the Secret {chart.secret_name} keeps changing: send the request again")


async def delete_chart_secret(kube: KubeClient, created: JsonObject) -> None:
    """Delete the Secret that `ensure_chart_secret` created, unless it changed since, because then it is used.

    If that fails, the operator deletes it later.
    """
    name, namespace = text(created, "name"), text(created, "namespace")
    resource_version = text(created, "resourceVersion")
    try:
        await kube.delete(
            SECRETS, name, namespace=namespace, uid=text(created, "uid"), resource_version=resource_version
        )
    except KubeError as error:
        _log.warning("chart Secret not deleted", namespace=namespace, name=name, error=error.message)


async def read_uploaded_chart(kube: KubeClient, name: str, *, key: str, namespace: str) -> bytes | None:
    """Return the bytes of an uploaded chart, or None for a Secret that was not made from an upload.

    Raises:
        NotFound: when it is gone.
    """
    secret = await kube.get(SECRETS, name, namespace=namespace)
    if text(secret, "type") != CHART_SECRET_TYPE:
        return None
    try:
        return base64.b64decode(text(obj(secret, "data"), key), validate=True)
    except binascii.Error:
        return None


async def read_referenced_chart(client: KubeClient, archive: ArchiveSource, *, namespace: str) -> bytes | None:
    """Return the bytes of a chart that somebody keeps in a Secret or ConfigMap of their own, or None without it.

    Raises:
        KubeError: when it is not there, or the client may not read it.
    """
    reference = archive.secret_ref or archive.config_map_ref
    if reference is None:
        return None
    resource, field = (SECRETS, "data") if archive.secret_ref is not None else (CONFIGMAPS, "binaryData")
    source = await client.get(resource, reference.name, namespace=namespace)
    try:
        return base64.b64decode(text(obj(source, field), reference.key), validate=True)
    except binascii.Error:
        return None


async def _reuse_chart_secret(kube: KubeClient, chart: UploadedChart, *, namespace: str) -> bool:
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
        return True
    change: JsonObject = {
        "resourceVersion": text(metadata, "resourceVersion"),
        "ownerReferences": list[Json](alive),
    }
    if not alive:
        change["annotations"] = {ANNOTATION_RELEASED_AT: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    await kube.patch(SECRETS, chart.secret_name, {"metadata": change}, namespace=namespace)
    return True


async def _owner_exists(kube: KubeClient, owner: JsonObject, *, namespace: str) -> bool:
    try:
        xapp = await kube.get(XAPPS, text(owner, "name"), namespace=namespace, metadata_only=True)
    except NotFound:
        return False
    metadata = obj(xapp, "metadata")
    return text(metadata, "uid") == text(owner, "uid") and "deletionTimestamp" not in metadata
