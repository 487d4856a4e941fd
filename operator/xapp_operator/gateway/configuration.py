"""What an xApp is configured with, and the change of it: an upgrade that touches `spec.values` and nothing else.

Services come from memory; values and what Helm has recorded are read request by request with the caller's own token, so
that nobody gets from here what the API server would not give them. Lives in the gateway, above the deployer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, encode, obj
from xapp_operator.domain.redaction import redact, secrets_of, unmask
from xapp_operator.domain.values import digest, merge
from xapp_operator.domain.yamlvalues import MAX_DEPTH, deeper_than
from xapp_operator.errors import AccessDenied, Conflict, FieldError, KubeError, NotFound, TooLarge, XAppError
from xapp_operator.gateway.addresses import services_with_addresses
from xapp_operator.gateway.asked import Asked, not_there
from xapp_operator.gateway.manifest_diff import manifest_diff
from xapp_operator.gateway.proxy.lookup import api_of
from xapp_operator.gateway.records import SOURCE_LABELS
from xapp_operator.gateway.release import release_in_force
from xapp_operator.helm.masking import masked_manifest
from xapp_operator.helm.storage import Release
from xapp_operator.kube.resources import SERVICES, XAPPS

CHANGE_TRIES: Final = 5
METADATA_PATHS: Final = ("/metadata", "/config/metadata")
METADATA_SECONDS: Final = 1.5
METADATA_MAX_BYTES: Final = 64 * 1024
NO_SECRETS: Final = (
    "no diff: you may not read the release that is in force (get secrets), so nothing is compared with it"
)

Change = Callable[[JsonObject], JsonObject]
"""Makes the new values of the present ones; may return masks."""


async def configuration(asked: Asked) -> bytes:
    """Return the JSON of an xApp's configuration.

    Raises:
        NotFoundHere: when the XApp has gone meanwhile.
        HelmError: for a record of Helm that cannot be read.
    """
    gateway, entry = asked.gateway, asked.entry
    release, values, advertised, metadata = await asyncio.gather(
        _release(asked), _values(asked), _advertised(asked), _metadata(asked)
    )
    if entry.source == SOURCE_LABELS and release is not None:
        values = release.config
    services = services_with_addresses(
        gateway.registry.objects(entry.namespace, entry.release),
        namespace=entry.namespace,
        name=entry.name,
        advertised=advertised,
    )

    def packed() -> bytes:
        return encode(
            {
                "services": list[Json](services),
                "values": _shown(values),
                "defaults": None if release is None else _shown(release.chart.values),
                "schema": None if release is None else _schema(release),
                "metadata": _shown(metadata),
            }
        )

    return await asyncio.to_thread(packed)


async def change_values(asked: Asked, change: Change) -> JsonObject:
    """Have the values of an XApp changed; return it as stored, also when nothing changes.

    Somebody else's change at the same time is kept: `change` is made again on what they wrote.

    Raises:
        ValuesInvalid: when the chart's schema refuses them, or a mask has no value behind it.
        TooLarge: when they are larger than values may be.
        Conflict: when the XApp is being removed, or changes again and again.
        XAppError: as `Deployer.configure`.
    """
    for _ in range(CHANGE_TRIES):
        current = await _to_change(asked)
        values = await _changed(asked, current, change)
        if values is None:
            return current
        try:
            return await asked.gateway.deployer.configure(asked.caller, current, values)
        except Conflict:
            continue
    raise Conflict(f"the xApp {asked.entry.name} is changed again and again by somebody else: send the request again")


async def preview_change(asked: Asked, change: Change) -> JsonObject:
    """Return what `change_values` would do to the objects of the release. Raises as `change_values`."""
    current = await _to_change(asked)
    present = obj(obj(current, "spec"), "values")
    changed = await _changed(asked, current, change)
    values = present if changed is None else changed
    preview = await asked.gateway.deployer.preview_values(asked.caller, current, values)
    release, readable = None, True
    try:
        release = await release_in_force(asked.caller.client, asked.entry)
    except AccessDenied:
        readable = False

    def compared() -> JsonObject:
        known = [values, present, *((release.chart.values, release.config) if release is not None else ())]
        secrets = frozenset[str]().union(*map(secrets_of, known))
        in_force = "" if release is None else release.manifest
        return {
            "diff": manifest_diff(in_force, preview.manifest, secrets=secrets) if readable else None,
            "manifest": masked_manifest(preview.manifest, secrets=secrets),
            "warnings": [*preview.warnings, *(() if readable else (NO_SECRETS,))],
        }

    return await asyncio.to_thread(compared)


async def _changed(asked: Asked, current: JsonObject, change: Change) -> JsonObject | None:
    """Return the new values, or None when they mean the same to helm as the present ones."""
    present = obj(obj(current, "spec"), "values")
    most = asked.gateway.settings.values_max_bytes

    def changed() -> JsonObject | None:
        # Merging refuses what is too deep for all that follows; kubectl may have written such values.
        known = merge(present)
        values = merge(unmask(change(known), known))
        if len(encode(values)) > most:
            message = f"would have more than {most:,} bytes, the most that values may have: take something out"
            raise TooLarge(f"the values {message}", errors=(FieldError("values", message),))
        return None if digest(values) == digest(present) else values

    return await asyncio.to_thread(changed)


async def _to_change(asked: Asked) -> JsonObject:
    current = await _current(asked)
    if "deletionTimestamp" in obj(current, "metadata"):
        raise Conflict(f"the xApp {asked.entry.name} is being removed: deploy it again when it is gone")
    return current


async def _current(asked: Asked) -> JsonObject:
    entry = asked.entry
    try:
        return await asked.caller.client.get(XAPPS, entry.name, namespace=entry.namespace)
    except NotFound:
        raise not_there(
            asked.gateway, namespace=entry.namespace, name=entry.name, else_do="GET /api/xapps lists what there is"
        ) from None


async def _values(asked: Asked) -> JsonObject | None:
    """Return the user's values in the XApp, or None where there is no XApp."""
    if asked.entry.source == SOURCE_LABELS:
        return None
    return obj(obj(await _current(asked), "spec"), "values")


async def _release(asked: Asked) -> Release | None:
    try:
        return await release_in_force(asked.caller.client, asked.entry)
    except AccessDenied:
        return None


async def _advertised(asked: Asked) -> str | None:
    try:
        return await asked.gateway.advertise.get()
    except KubeError:
        return None


async def _metadata(asked: Asked) -> JsonObject | None:
    """Return what the xApp tells of itself, where the caller could ask it through the proxy too."""
    gateway, entry = asked.gateway, asked.entry
    try:
        target = api_of(gateway, entry)
    except XAppError:
        return None
    if not await asked.caller.may("get", namespace=entry.namespace, resource=SERVICES, subresource="proxy"):
        return None
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            for path in METADATA_PATHS:
                found = await gateway.proxy.fetch_json(
                    asked.caller, target, path, seconds=METADATA_SECONDS, max_bytes=METADATA_MAX_BYTES
                )
                if found is not None:
                    return found
    except TimeoutError:
        pass
    return None


def _shown(values: JsonObject | None) -> JsonObject | None:
    return None if values is None or deeper_than(values, MAX_DEPTH) else redact(values)


def _schema(release: Release) -> Json:
    try:
        found: Json = orjson.loads(release.chart.schema)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict | bool) and not deeper_than(found, MAX_DEPTH) else None
