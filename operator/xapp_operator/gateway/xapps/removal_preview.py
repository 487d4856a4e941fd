"""What the removal of an xApp would delete, and what would stay, as far as the caller may see it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.errors import AccessDenied
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.xapps.pods import read_pods
from xapp_operator.gateway.xapps.release_records import get_newest_release
from xapp_operator.helm.manifest import OBJECTS_MAX, ObjectRef, object_reference, uninstalled_objects
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import PODS, PVCS
from xapp_operator.monitor.registry import XAppRegistry

CLAIMS_READ_MAX: Final = 5000
"""Volume claims of a namespace that are read."""
ORPHAN: Final = "Orphan"


@dataclass(frozen=True, slots=True)
class _ReleaseContent:
    """What a release has: its objects, and those that helm keeps.

    `claim_bases` are names of claims of its StatefulSets, without the number of the pod. `expiring_claim_bases` are
    those of claims that Kubernetes deletes with their StatefulSet.
    """

    removed: tuple[ObjectRef, ...] = ()
    kept: tuple[ObjectRef, ...] = ()
    claim_bases: frozenset[str] = frozenset()
    expiring_claim_bases: frozenset[str] = frozenset()


async def preview_removal(
    caller: Caller, xapp: JsonObject, *, registry: XAppRegistry, store: XAppRecordStore
) -> JsonObject:
    """Return what the removal of `xapp` would delete and keep; null for what the caller may not see.

    Raises:
        HelmError: for a Helm record that cannot be read.
        KubeError: when the API server does not respond.
    """
    entry = build_xapp_entry(xapp)
    is_orphan = obj(xapp, "spec").get("deletionPolicy") == ORPHAN
    content = await _read_content(caller.client, xapp)
    claims: list[str] | None = None
    cluster_kinds: frozenset[tuple[str, str]] = frozenset()
    if content is not None:
        if is_orphan:
            content = _ReleaseContent(
                kept=(*content.removed, *content.kept),
                claim_bases=content.claim_bases | content.expiring_claim_bases,
            )
        claims = await _kept_claims(caller.client, content, namespace=entry.namespace)
        resources = await caller.client.discovery.cluster_scoped_resources()
        cluster_kinds = frozenset((each.group, each.kind) for each in resources)
    pods: int | None = 0
    if not is_orphan:
        pods = None
        if await caller.is_allowed("list", namespace=entry.namespace, resource=PODS):
            objects = registry.objects(entry.namespace, entry.release)
            pods = len(await read_pods(caller.client, objects, namespace=entry.namespace))
    may_list = await caller.is_allowed("list", namespace=entry.namespace)

    def as_json(references: Iterable[ObjectRef]) -> list[Json]:
        return [_object_json(each, namespace=entry.namespace, cluster_kinds=cluster_kinds) for each in references]

    return {
        "objects": None if content is None else as_json(content.removed),
        "kept": None if content is None else as_json(content.kept),
        "pods": pods,
        "claimsKept": None if claims is None else list[Json](claims),
        "deletionPolicy": text(obj(xapp, "spec"), "deletionPolicy", "Uninstall"),
        "dependents": list[Json](store.dependents(*entry.key)) if may_list else None,
    }


async def _read_content(client: KubeClient, xapp: JsonObject) -> _ReleaseContent | None:
    """Return what the release has, or None if the caller may not read it."""
    try:
        release = await get_newest_release(client, build_xapp_entry(xapp))
    except AccessDenied:
        return None
    return _ReleaseContent() if release is None else await asyncio.to_thread(_parse_content, release.manifest)


def _parse_content(manifest: str) -> _ReleaseContent:
    removed: dict[ObjectRef, None] = {}
    kept: dict[ObjectRef, None] = {}
    bases: set[str] = set()
    expiring_bases: set[str] = set()
    for number, (one, is_kept) in enumerate(uninstalled_objects(manifest)):
        reference = object_reference(one)
        if reference is None or number >= OBJECTS_MAX:
            continue
        (kept if is_kept else removed).setdefault(reference)
        if reference.kind == "StatefulSet":
            policy = text(obj(obj(one, "spec"), "persistentVolumeClaimRetentionPolicy"), "whenDeleted")
            expires = policy == "Delete" and not is_kept
            templates = items(obj(one, "spec"), "volumeClaimTemplates")
            names = (text(obj(each, "metadata"), "name") for each in templates)
            (expiring_bases if expires else bases).update(f"{each}-{reference.name}" for each in names if each)
    return _ReleaseContent(tuple(removed), tuple(kept), frozenset(bases), frozenset(expiring_bases))


async def _kept_claims(client: KubeClient, content: _ReleaseContent, *, namespace: str) -> list[str] | None:
    """Return the names of the claims that stay, or None if the caller may not list claims."""
    kept = {each.name for each in content.kept if each.kind == PVCS.kind and each.namespace in {"", namespace}}
    if content.claim_bases:
        read = 0
        try:
            async with aclosing(client.list_pages(PVCS, namespace=namespace, metadata_only=True)) as pages:
                async for page in pages:
                    names = [text(obj(each, "metadata"), "name") for each in page.items]
                    kept.update(name for name in names if _claim_base(name) in content.claim_bases)
                    read += len(names)
                    if read >= CLAIMS_READ_MAX:
                        break
        except AccessDenied:
            return None
    return sorted(kept)


def _claim_base(name: str) -> str:
    base, _, ordinal = name.rpartition("-")
    return base if ordinal.isdecimal() else ""


def _object_json(reference: ObjectRef, *, namespace: str, cluster_kinds: frozenset[tuple[str, str]]) -> JsonObject:
    group = reference.api_version.rpartition("/")[0]
    is_cluster_wide = (group, reference.kind) in cluster_kinds
    return {
        "kind": reference.kind,
        "name": reference.name,
        "namespace": None if is_cluster_wide else reference.namespace or namespace,
    }
