"""The Helm release of an xApp, read from Helm's Secrets with the caller's token for each request.

Manifest, values and notes are never kept in memory: they may be large, and callers who may not read Secrets must not
get them.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, integer, items, obj
from xapp_operator.common.text import quote_input
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.masking.redaction import secret_texts
from xapp_operator.domain.planning.plan_input import DEPLOYED
from xapp_operator.errors import GatewayNotFound, NextRequest, NotFound
from xapp_operator.gateway.catalog.records import REVISION_FIELDS, SOURCE_LABELS, XAppEntry
from xapp_operator.gateway.xapps.context import xapp_path
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes
from xapp_operator.helm.releases.release_index import RELEASE_SELECTOR, RevisionInfo, parse_revision
from xapp_operator.helm.releases.release_storage import ReleaseRecord, decode_release, release_secret_name
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS

_RELEASE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?")


async def get_deployed_release(client: KubeClient, entry: XAppEntry) -> ReleaseRecord | None:
    """Return the deployed revision, or None before the first deployment.

    Raises:
        AccessDenied: when the caller may not read the Secrets of the namespace.
        HelmError: for a record that cannot be read.
    """
    status_revision = _revision_in_status(entry)
    if status_revision is not None:
        try:
            return await _read_release(client, entry.namespace, entry.release, status_revision)
        except NotFound:
            pass  # another revision was deployed since
    if status_revision is None and entry.source != SOURCE_LABELS:
        return None
    return await get_release_to_adopt(client, entry.namespace, entry.release)


async def get_release_to_adopt(client: KubeClient, namespace: str, release: str) -> ReleaseRecord | None:
    """Return the deployed revision of a release, whoever made it, else its newest; None if there is none.

    Raises:
        AccessDenied, HelmError: as `get_deployed_release`.
    """
    revisions = await _list_release_secrets(client, namespace, release)
    if not revisions:
        return None
    chosen = next((each for each, _ in revisions if each.status == DEPLOYED), revisions[0][0])
    try:
        return await _read_release(client, namespace, release, chosen.revision)
    except NotFound:
        return None


async def get_revision(client: KubeClient, entry: XAppEntry, revision: int) -> ReleaseRecord:
    """Return one revision that Helm keeps.

    Raises:
        GatewayNotFound: when it is not kept, or never was.
        AccessDenied, HelmError: as `get_deployed_release`.
    """
    try:
        if _RELEASE_NAME.fullmatch(entry.release) is not None:
            return await _read_release(client, entry.namespace, entry.release, revision)
    except NotFound:
        pass
    raise GatewayNotFound(
        f"revision {revision} of the xApp {quote_input(entry.name)} is not kept: choose one of the history"
    ).with_next(NextRequest("GET", xapp_path(entry.namespace, entry.name, "history")))


async def get_newest_release(client: KubeClient, entry: XAppEntry) -> ReleaseRecord | None:
    """Return the newest revision, which `helm uninstall` removes even if it failed; None if there is none.

    Raises:
        AccessDenied, HelmError: as `get_deployed_release`.
    """
    revisions = await _list_release_secrets(client, entry.namespace, entry.release)
    if not revisions:
        return None
    try:
        return await _read_release(client, entry.namespace, entry.release, revisions[0][0].revision)
    except NotFound:
        return None


async def get_masked_manifest(client: KubeClient, entry: XAppEntry) -> str:
    """Return the deployed manifest with masked secrets.

    Raises:
        GatewayNotFound: before the first deployment.
        AccessDenied, HelmError: as `get_deployed_release`.
    """
    release = await require_deployed_release(client, entry)
    return await asyncio.to_thread(lambda: mask_manifest(release.manifest, secrets=secret_values(release)))


async def get_masked_notes(client: KubeClient, entry: XAppEntry) -> str:
    """Return the notes of the deployed revision with masked secrets. Raises as `get_masked_manifest`."""
    release = await require_deployed_release(client, entry)
    return await asyncio.to_thread(lambda: mask_notes(release.notes, secrets=secret_values(release)))


async def list_revisions(client: KubeClient, entry: XAppEntry) -> list[JsonObject]:
    """Return the revisions of an xApp in the shape of the API, newest first.

    For an XApp they come from its status. For an xApp that is known by its labels only they come from the metadata of
    Helm's Secrets, which has number, status and time.

    Raises:
        AccessDenied: when the caller may not list the Secrets of an xApp known by its labels.
    """
    if entry.source != SOURCE_LABELS:
        return items(orjson.loads(entry.details_json), "history")
    found = await _list_release_secrets(client, entry.namespace, entry.release)
    return [_revision_from_labels(each, secret) for each, secret in found]


def revisions_in_status(entry: XAppEntry) -> list[int]:
    """Return the numbers of the revisions in the status of an XApp, newest first."""
    return [integer(each, "revision") for each in items(orjson.loads(entry.details_json), "history")]


async def require_deployed_release(client: KubeClient, entry: XAppEntry) -> ReleaseRecord:
    """Return the deployed revision.

    Raises:
        GatewayNotFound: before the first deployment.
        AccessDenied, HelmError: as `get_deployed_release`.
    """
    release = await get_deployed_release(client, entry)
    if release is None and entry.source == SOURCE_LABELS:
        raise GatewayNotFound(
            f"the xApp {quote_input(entry.name)} is known by its labels only, and has no Helm release: adopt it to get "
            "one"
        )
    if release is None:
        raise GatewayNotFound(
            f"no revision of the xApp {quote_input(entry.name)} is deployed yet: see its conditions for the progress"
        )
    return release


def secret_values(release: ReleaseRecord) -> frozenset[str]:
    """Return the secret texts among the values of a revision."""
    return secret_texts(merge_values(release.chart.values, release.config))


def _revision_in_status(entry: XAppEntry) -> int | None:
    revision: Json = obj(orjson.loads(entry.record_json), "release").get("revision")
    return revision if isinstance(revision, int) else None


async def _read_release(client: KubeClient, namespace: str, release: str, revision: int) -> ReleaseRecord:
    secret = await client.get(SECRETS, release_secret_name(release, revision), namespace=namespace)
    return await asyncio.to_thread(decode_release, secret)


async def _list_release_secrets(
    client: KubeClient, namespace: str, release: str
) -> list[tuple[RevisionInfo, JsonObject]]:
    """Return the revisions of a release with their Secrets, newest first."""
    if _RELEASE_NAME.fullmatch(release) is None:
        return []  # anybody can write the annotation that the name comes from
    found = await client.list(
        SECRETS,
        namespace=namespace,
        label_selector=f"{RELEASE_SELECTOR},name={release}",
        metadata_only=True,
    )
    read = ((parse_revision(secret, now=time.time()), secret) for secret in found.items)
    revisions = [(each[1], secret) for each, secret in read if each is not None and each[0][1] == release]
    return sorted(revisions, key=lambda each: each[0].revision, reverse=True)


def _revision_from_labels(info: RevisionInfo, secret: JsonObject) -> JsonObject:
    # Helm removes its label createdAt at the first change of status, so the Secret's own time is used.
    known: JsonObject = {
        "revision": info.revision,
        "status": info.status or None,
        "deployedAt": obj(secret, "metadata").get("creationTimestamp"),
    }
    return {name: known.get(name) for name in REVISION_FIELDS}
