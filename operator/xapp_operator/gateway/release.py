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
from xapp_operator.domain.redaction import secrets_of
from xapp_operator.domain.situation import DEPLOYED
from xapp_operator.domain.values import merge
from xapp_operator.errors import NotFound, NotFoundHere
from xapp_operator.gateway.query import shown
from xapp_operator.gateway.records import SOURCE_LABELS, Entry
from xapp_operator.helm.masking import masked_manifest, masked_text
from xapp_operator.helm.releases import RELEASE_SELECTOR, RevisionInfo, revision_of
from xapp_operator.helm.storage import Release, decode_release, secret_name
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS

_RELEASE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?")
REVISION_FIELDS: Final = (
    *("revision", "status", "chart", "chartVersion", "appVersion"),
    *("chartDigest", "valuesDigest", "action", "deployedAt", "description"),
)


async def release_in_force(client: KubeClient, entry: Entry) -> Release | None:
    """Return the revision that is in force, or None before the first one was deployed.

    Raises:
        AccessDenied: when the caller may not read the Secrets of the namespace.
        HelmError: for a record that cannot be read.
    """
    known = _known_revision(entry)
    if known is not None:
        try:
            return await _read(client, entry, known)
        except NotFound:
            pass  # another one is in force since
    revisions = await _recorded(client, entry)
    if not revisions or (known is None and entry.source != SOURCE_LABELS):
        return None
    newest = next((each for each, _ in revisions if each.status == DEPLOYED), revisions[0][0])
    try:
        return await _read(client, entry, newest.revision)
    except NotFound:
        return None


async def shown_manifest(client: KubeClient, entry: Entry) -> str:
    """Return the manifest in force, secrets masked.

    Raises:
        NotFoundHere: before the first revision was deployed; otherwise as `release_in_force`.
    """
    release = await _required(client, entry)
    return await asyncio.to_thread(lambda: masked_manifest(release.manifest, secrets=_secrets(release)))


async def shown_notes(client: KubeClient, entry: Entry) -> str:
    """Return the notes of the revision in force, known secrets masked. Raises as `shown_manifest`."""
    release = await _required(client, entry)
    return await asyncio.to_thread(lambda: masked_text(release.notes, secrets=_secrets(release)))


async def revisions_of(client: KubeClient, entry: Entry) -> list[JsonObject]:
    """Return the revisions of an xApp, newest first, as the API shows them.

    Those of an XApp come from its status; of one that is known by its labels, from the labels of Helm's Secrets, which
    tell number, status and time only.

    Raises:
        AccessDenied: when the caller may not list the Secrets of an xApp known by its labels.
    """
    if entry.source != SOURCE_LABELS:
        return items(orjson.loads(entry.details), "history")
    return [_by_labels(each, secret) for each, secret in await _recorded(client, entry)]


def known_revisions(entry: Entry) -> list[int]:
    """Return the numbers of the revisions that the status of an XApp tells of, newest first."""
    return [integer(each, "revision") for each in items(orjson.loads(entry.details), "history")]


async def _required(client: KubeClient, entry: Entry) -> Release:
    release = await release_in_force(client, entry)
    if release is None:
        raise NotFoundHere(
            f"no revision of the xApp {shown(entry.name)} is deployed yet: its conditions tell how far it is"
        )
    return release


def _secrets(release: Release) -> frozenset[str]:
    return secrets_of(merge(release.chart.values, release.config))


def _known_revision(entry: Entry) -> int | None:
    revision: Json = obj(orjson.loads(entry.record), "release").get("revision")
    return revision if isinstance(revision, int) else None


async def _read(client: KubeClient, entry: Entry, revision: int) -> Release:
    secret = await client.get(SECRETS, secret_name(entry.release, revision), namespace=entry.namespace)
    return await asyncio.to_thread(decode_release, secret)


async def _recorded(client: KubeClient, entry: Entry) -> list[tuple[RevisionInfo, JsonObject]]:
    if _RELEASE_NAME.fullmatch(entry.release) is None:
        return []  # what an annotation says is anybody's text
    found = await client.list(
        SECRETS,
        namespace=entry.namespace,
        label_selector=f"{RELEASE_SELECTOR},name={entry.release}",
        metadata_only=True,
    )
    read = ((revision_of(secret), secret) for secret in found.items)
    revisions = [(each[1], secret) for each, secret in read if each is not None and each[0][1] == entry.release]
    return sorted(revisions, key=lambda each: each[0].revision, reverse=True)


def _by_labels(info: RevisionInfo, secret: JsonObject) -> JsonObject:
    # Helm takes its label createdAt away with the first change of status; the Secret itself remembers.
    told: JsonObject = {
        "revision": info.revision,
        "status": info.status or None,
        "deployedAt": obj(secret, "metadata").get("creationTimestamp"),
    }
    return {name: told.get(name) for name in REVISION_FIELDS}
