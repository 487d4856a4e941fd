"""What an xApp is configured with, and the change of it: an upgrade that touches `spec.values` and nothing else.

Services come from memory; values and what Helm has recorded are read request by request with the caller's own token, so
that nobody gets from here what the API server would not give them. Lives in the gateway, above the deployer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, encode_json, obj
from xapp_operator.domain.redaction import redact, secret_texts, unmask
from xapp_operator.domain.values import merge_values, values_digest
from xapp_operator.domain.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.errors import AccessDenied, Conflict, ContentTooLarge, FieldError, KubeError, NotFound, XAppError
from xapp_operator.gateway.catalog.records import SOURCE_LABELS
from xapp_operator.gateway.proxy.target_lookup import find_api_target
from xapp_operator.gateway.xapps.context import XAppContext, xapp_not_found
from xapp_operator.gateway.xapps.manifest_diff import manifest_diff
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.gateway.xapps.service_addresses import services_with_addresses
from xapp_operator.helm.manifest_masking import mask_manifest
from xapp_operator.helm.release_storage import ReleaseRecord
from xapp_operator.kube.resources import SERVICES, XAPPS

CHANGE_ATTEMPTS: Final = 5
METADATA_PATHS: Final = ("/metadata", "/config/metadata")
METADATA_SECONDS: Final = 1.5
METADATA_MAX_BYTES: Final = 64 * 1024
NO_DIFF_WARNING: Final = (
    "no diff: you may not read the release that is in force (get secrets), so nothing is compared with it"
)

ValuesChange = Callable[[JsonObject], JsonObject]
"""Makes the new values of the present ones; may return masks."""


async def get_configuration(context: XAppContext) -> bytes:
    """Return the JSON of an xApp's configuration.

    Raises:
        NotFoundHere: when the XApp has gone meanwhile.
        HelmError: for a record of Helm that cannot be read.
    """
    gateway, entry = context.gateway, context.entry
    release, values, advertise_address, metadata = await asyncio.gather(
        _readable_release(context), _user_values(context), _advertise_address(context), _fetch_metadata(context)
    )
    if entry.source == SOURCE_LABELS and release is not None:
        values = release.config
    services = services_with_addresses(
        gateway.registry.objects(entry.namespace, entry.release),
        namespace=entry.namespace,
        name=entry.name,
        advertise_address=advertise_address,
    )

    def encode_configuration() -> bytes:
        return encode_json(
            {
                "services": list[Json](services),
                "values": _redacted(values),
                "defaults": None if release is None else _redacted(release.chart.values),
                "schema": None if release is None else _values_schema(release),
                "metadata": _redacted(metadata),
            }
        )

    return await asyncio.to_thread(encode_configuration)


async def change_values(context: XAppContext, change: ValuesChange) -> JsonObject:
    """Have the values of an XApp changed; return it as stored, also when nothing changes.

    Somebody else's change at the same time is kept: `change` is made again on what they wrote.

    Raises:
        ValuesInvalid: when the chart's schema refuses them, or a mask has no value behind it.
        TooLarge: when they are larger than values may be.
        Conflict: when the XApp is being removed, or changes again and again.
        XAppError: as `Deployer.configure`.
    """
    for _ in range(CHANGE_ATTEMPTS):
        current = await _get_changeable_xapp(context)
        values = await _changed_values(context, current, change)
        if values is None:
            return current
        try:
            return await context.gateway.deployer.replace_values(context.caller, current, values)
        except Conflict:
            continue
    raise Conflict(f"the xApp {context.entry.name} is changed again and again by somebody else: send the request again")


async def preview_values_change(context: XAppContext, change: ValuesChange) -> JsonObject:
    """Return what `change_values` would do to the objects of the release. Raises as `change_values`."""
    current = await _get_changeable_xapp(context)
    current_values = obj(obj(current, "spec"), "values")
    new_values = await _changed_values(context, current, change)
    values = current_values if new_values is None else new_values
    preview = await context.gateway.deployer.preview_values(context.caller, current, values)
    release, readable = None, True
    try:
        release = await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        readable = False

    def compare() -> JsonObject:
        known = [values, current_values, *((release.chart.values, release.config) if release is not None else ())]
        secrets = frozenset[str]().union(*map(secret_texts, known))
        deployed_manifest = "" if release is None else release.manifest
        return {
            "diff": manifest_diff(deployed_manifest, preview.manifest, secrets=secrets) if readable else None,
            "manifest": mask_manifest(preview.manifest, secrets=secrets),
            "warnings": [*preview.warnings, *(() if readable else (NO_DIFF_WARNING,))],
        }

    return await asyncio.to_thread(compare)


async def _changed_values(context: XAppContext, current: JsonObject, change: ValuesChange) -> JsonObject | None:
    """Return the new values, or None when they mean the same to helm as the present ones."""
    current_values = obj(obj(current, "spec"), "values")
    max_bytes = context.gateway.settings.values_max_bytes

    def apply() -> JsonObject | None:
        # Merging refuses what is too deep for all that follows; kubectl may have written such values.
        known = merge_values(current_values)
        values = merge_values(unmask(change(known), known))
        if len(encode_json(values)) > max_bytes:
            message = f"would have more than {max_bytes:,} bytes, the most that values may have: take something out"
            raise ContentTooLarge(f"the values {message}", errors=(FieldError("values", message),))
        return None if values_digest(values) == values_digest(current_values) else values

    return await asyncio.to_thread(apply)


async def _get_changeable_xapp(context: XAppContext) -> JsonObject:
    current = await _get_xapp(context)
    if "deletionTimestamp" in obj(current, "metadata"):
        raise Conflict(f"the xApp {context.entry.name} is being removed: deploy it again when it is gone")
    return current


async def _get_xapp(context: XAppContext) -> JsonObject:
    entry = context.entry
    try:
        return await context.caller.client.get(XAPPS, entry.name, namespace=entry.namespace)
    except NotFound:
        raise xapp_not_found(
            context.gateway, namespace=entry.namespace, name=entry.name, hint="GET /api/xapps lists what there is"
        ) from None


async def _user_values(context: XAppContext) -> JsonObject | None:
    """Return the user's values in the XApp, or None where there is no XApp."""
    if context.entry.source == SOURCE_LABELS:
        return None
    return obj(obj(await _get_xapp(context), "spec"), "values")


async def _readable_release(context: XAppContext) -> ReleaseRecord | None:
    try:
        return await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        return None


async def _advertise_address(context: XAppContext) -> str | None:
    try:
        return await context.gateway.advertise.get()
    except KubeError:
        return None


async def _fetch_metadata(context: XAppContext) -> JsonObject | None:
    """Return what the xApp tells of itself, where the caller could ask it through the proxy too."""
    gateway, entry = context.gateway, context.entry
    try:
        target = find_api_target(gateway.registry, entry)
    except XAppError:
        return None
    if not await context.caller.is_allowed("get", namespace=entry.namespace, resource=SERVICES, subresource="proxy"):
        return None
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            for path in METADATA_PATHS:
                found = await gateway.proxy.fetch_json(
                    context.caller, target, path, seconds=METADATA_SECONDS, max_bytes=METADATA_MAX_BYTES
                )
                if found is not None:
                    return found
    except TimeoutError:
        pass
    return None


def _redacted(values: JsonObject | None) -> JsonObject | None:
    return None if values is None or deeper_than(values, MAX_DEPTH) else redact(values)


def _values_schema(release: ReleaseRecord) -> Json:
    try:
        found: Json = orjson.loads(release.chart.schema)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict | bool) and not deeper_than(found, MAX_DEPTH) else None
