"""The Helm release behind an xApp, read from Helm's own records with the caller's token, request by request.

What a record holds (manifest, values, notes) is never kept here: it may be a megabyte, and whoever may not read Secrets
in that namespace must not get it from memory. Lives in the gateway, above Helm's records.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, integer, items, obj
from xapp_operator.common.text import quote_input
from xapp_operator.domain.plan_input import DEPLOYED
from xapp_operator.domain.redaction import secret_texts
from xapp_operator.domain.values import merge_values
from xapp_operator.errors import GatewayNotFound, NotFound
from xapp_operator.gateway.catalog.records import SOURCE_LABELS, XAppEntry
from xapp_operator.helm.manifest_masking import mask_manifest, mask_text
from xapp_operator.helm.release_index import RELEASE_SELECTOR, RevisionInfo, parse_revision
from xapp_operator.helm.release_storage import ReleaseRecord, decode_release, release_secret_name
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS

_RELEASE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?")
REVISION_FIELDS: Final = (
    *("revision", "status", "chart", "chartVersion", "appVersion"),
    *("chartDigest", "valuesDigest", "action", "deployedAt", "description"),
)


async def get_deployed_release(client: KubeClient, entry: XAppEntry) -> ReleaseRecord | None:
    """Return the revision that is in force, or None before the first one was deployed.

    Raises:
        AccessDenied: when the caller may not read the Secrets of the namespace.
        HelmError: for a record that cannot be read.
    """
    status_revision = _revision_in_status(entry)
    if status_revision is not None:
        try:
            return await _read_release(client, entry, status_revision)
        except NotFound:
            pass  # another one is in force since
    revisions = await _list_release_secrets(client, entry)
    if not revisions or (status_revision is None and entry.source != SOURCE_LABELS):
        return None
    newest = next((each for each, _ in revisions if each.status == DEPLOYED), revisions[0][0])
    try:
        return await _read_release(client, entry, newest.revision)
    except NotFound:
        return None


async def get_masked_manifest(client: KubeClient, entry: XAppEntry) -> str:
    """Return the manifest in force, secrets masked.

    Raises:
        NotFoundHere: before the first revision was deployed; otherwise as `release_in_force`.
    """
    release = await _require_deployed_release(client, entry)
    return await asyncio.to_thread(lambda: mask_manifest(release.manifest, secrets=_secret_values(release)))


async def get_masked_notes(client: KubeClient, entry: XAppEntry) -> str:
    """Return the notes of the revision in force, known secrets masked. Raises as `shown_manifest`."""
    release = await _require_deployed_release(client, entry)
    return await asyncio.to_thread(lambda: mask_text(release.notes, secrets=_secret_values(release)))


async def list_revisions(client: KubeClient, entry: XAppEntry) -> list[JsonObject]:
    """Return the revisions of an xApp, newest first, as the API shows them.

    Those of an XApp come from its status; of one that is known by its labels, from the labels of Helm's Secrets, which
    tell number, status and time only.

    Raises:
        AccessDenied: when the caller may not list the Secrets of an xApp known by its labels.
    """
    if entry.source != SOURCE_LABELS:
        return items(orjson.loads(entry.details_json), "history")
    return [_revision_from_labels(each, secret) for each, secret in await _list_release_secrets(client, entry)]


def revisions_in_status(entry: XAppEntry) -> list[int]:
    """Return the numbers of the revisions that the status of an XApp tells of, newest first."""
    return [integer(each, "revision") for each in items(orjson.loads(entry.details_json), "history")]


async def _require_deployed_release(client: KubeClient, entry: XAppEntry) -> ReleaseRecord:
    release = await get_deployed_release(client, entry)
    if release is None:
        raise GatewayNotFound(
            f"no revision of the xApp {quote_input(entry.name)} is deployed yet: its conditions tell how far it is"
        )
    return release


def _secret_values(release: ReleaseRecord) -> frozenset[str]:
    return secret_texts(merge_values(release.chart.values, release.config))


def _revision_in_status(entry: XAppEntry) -> int | None:
    revision: Json = obj(orjson.loads(entry.record_json), "release").get("revision")
    return revision if isinstance(revision, int) else None


async def _read_release(client: KubeClient, entry: XAppEntry, revision: int) -> ReleaseRecord:
    secret = await client.get(SECRETS, release_secret_name(entry.release, revision), namespace=entry.namespace)
    return await asyncio.to_thread(decode_release, secret)


async def _list_release_secrets(client: KubeClient, entry: XAppEntry) -> list[tuple[RevisionInfo, JsonObject]]:
    if _RELEASE_NAME.fullmatch(entry.release) is None:
        return []  # what an annotation says is anybody's text
    found = await client.list(
        SECRETS,
        namespace=entry.namespace,
        label_selector=f"{RELEASE_SELECTOR},name={entry.release}",
        metadata_only=True,
    )
    read = ((parse_revision(secret), secret) for secret in found.items)
    revisions = [(each[1], secret) for each, secret in read if each is not None and each[0][1] == entry.release]
    return sorted(revisions, key=lambda each: each[0].revision, reverse=True)


def _revision_from_labels(info: RevisionInfo, secret: JsonObject) -> JsonObject:
    # Helm takes its label createdAt away with the first change of status; the Secret itself remembers.
    known: JsonObject = {
        "revision": info.revision,
        "status": info.status or None,
        "deployedAt": obj(secret, "metadata").get("creationTimestamp"),
    }
    return {name: known.get(name) for name in REVISION_FIELDS}
