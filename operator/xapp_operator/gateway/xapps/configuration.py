"""The configuration of an xApp, and changes of its values: upgrades that touch `spec.values` only.

Services come from the watches. Values and Helm's records are read with the caller's token for each request, so the
gateway shows nothing that the API server would not show the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from xapp_operator.api.json import Json, JsonObject, encode_json, obj
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.domain.redaction import redact, secret_texts, unmask
from xapp_operator.domain.values import merge_values, values_digest
from xapp_operator.domain.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.errors import AccessDenied, Conflict, ContentTooLarge, KubeError, XAppError
from xapp_operator.gateway.catalog.records import SOURCE_LABELS
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.deploy.preconditions import ExpectedGeneration
from xapp_operator.gateway.proxy.targets import select_api_target
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.xapps.chart import values_schema
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.manifest_diff import manifest_diff
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.gateway.xapps.service_addresses import services_with_addresses
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes
from xapp_operator.helm.release_storage import ReleaseRecord
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.resources import SERVICES

CHANGE_ATTEMPTS: Final = 5
METADATA_PATHS: Final = ("/metadata", "/config/metadata")
METADATA_SECONDS: Final = 1.5
METADATA_MAX_BYTES: Final = 64 * 1024
NO_DIFF_WARNING: Final = "there is no diff, because you may not read the deployed release (get secrets)"

ValuesChange = Callable[[JsonObject], JsonObject]
"""Returns the new values for the current ones; masks in them stand for the values that they hide."""


async def get_configuration(context: XAppContext, *, advertise: AdvertiseAddress, proxy: XAppProxy) -> bytes:
    """Return the JSON of an xApp's configuration.

    Raises:
        GatewayNotFound: when the XApp was deleted meanwhile.
        HelmError: for a Helm record that cannot be read.
    """
    entry = context.entry
    release, values, advertise_address, metadata = await asyncio.gather(
        _readable_release(context), _user_values(context), _optional_address(advertise), _fetch_metadata(context, proxy)
    )
    if entry.source == SOURCE_LABELS and release is not None:
        values = release.config
    services = services_with_addresses(
        context.live_objects,
        namespace=entry.namespace,
        name=entry.name,
        advertise_address=advertise_address,
        gateway_host=context.host,
    )

    def encode_configuration() -> bytes:
        return encode_json(
            {
                "services": list[Json](services),
                "values": _redacted(values),
                "defaults": None if release is None else _redacted(release.chart.values),
                "schema": None if release is None else values_schema(release.chart),
                "metadata": _redacted(metadata),
            }
        )

    return await asyncio.to_thread(encode_configuration)


async def change_values(
    context: XAppContext,
    change: ValuesChange,
    *,
    deployer: Deployer,
    max_bytes: int,
    expected: ExpectedGeneration,
) -> JsonObject:
    """Write the changed values of an XApp; return it as stored, also when the values stay the same.

    When another client changes the XApp at the same time, `change` is applied again to the new version.

    Raises:
        ValuesInvalid: when the chart's schema refuses the values, or a mask hides no value.
        ContentTooLarge: when the values have more than `max_bytes`.
        PreconditionFailed: when the XApp has not the generation `expected`.
        Conflict: when the XApp is being deleted, or changes again and again.
        XAppError: as `Deployer.replace_values`.
    """
    for _ in range(CHANGE_ATTEMPTS):
        current = await _get_changeable_xapp(context, expected)
        values = await _changed_values(current, change, max_bytes=max_bytes)
        if values is None:
            return current
        try:
            return await deployer.replace_values(context.caller, current, values)
        except Conflict:
            continue
    raise Conflict(f"other clients keep changing the xApp {context.entry.name}: send the request again")


async def preview_values_change(
    context: XAppContext,
    change: ValuesChange,
    *,
    deployer: Deployer,
    max_bytes: int,
    expected: ExpectedGeneration,
) -> JsonObject:
    """Return what `change_values` would do to the objects of the release. Raises as `change_values`."""
    current = await _get_changeable_xapp(context, expected)
    current_values = obj(obj(current, "spec"), "values")
    new_values = await _changed_values(current, change, max_bytes=max_bytes)
    values = current_values if new_values is None else new_values
    rendered = await deployer.preview_values(context.caller, current, values)
    release, readable = None, True
    try:
        release = await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        readable = False

    def compare() -> JsonObject:
        known = [
            values,
            current_values,
            rendered.values,
            *((release.chart.values, release.config) if release is not None else ()),
        ]
        secrets = frozenset[str]().union(*map(secret_texts, known))
        deployed_manifest = "" if release is None else release.manifest
        return {
            "diff": manifest_diff(deployed_manifest, rendered.manifest, secrets=secrets) if readable else None,
            "manifest": mask_manifest(rendered.manifest, secrets=secrets),
            "warnings": [
                *(mask_notes(warning, secrets=secrets) for warning in rendered.warnings),
                *(() if readable else (NO_DIFF_WARNING,)),
            ],
        }

    return await asyncio.to_thread(compare)


async def _changed_values(current: JsonObject, change: ValuesChange, *, max_bytes: int) -> JsonObject | None:
    """Return the new values, or None when they mean the same to helm as the current ones."""
    current_values = obj(obj(current, "spec"), "values")

    def apply() -> JsonObject | None:
        # The merge refuses values that are nested too deeply for the steps below; kubectl may have written such values.
        known = merge_values(current_values)
        values = merge_values(unmask(change(known), known))
        require_plain_values(values)
        if len(encode_json(values)) > max_bytes:
            message = f"would have more than {max_bytes:,} bytes, the limit for values: remove some of them"
            raise ContentTooLarge.for_field("values", message, subject="the values")
        return None if values_digest(values) == values_digest(current_values) else values

    return await asyncio.to_thread(apply)


async def _get_changeable_xapp(context: XAppContext, expected: ExpectedGeneration) -> JsonObject:
    current = await context.get_xapp()
    expected.require(current)
    if "deletionTimestamp" in obj(current, "metadata"):
        raise Conflict(f"the xApp {context.entry.name} is being deleted: deploy it again when it is gone")
    return current


async def _user_values(context: XAppContext) -> JsonObject | None:
    """Return `spec.values` of the XApp, or None for an xApp without one."""
    if context.entry.source == SOURCE_LABELS:
        return None
    return obj(obj(await context.get_xapp(), "spec"), "values")


async def _readable_release(context: XAppContext) -> ReleaseRecord | None:
    try:
        return await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        return None


async def _optional_address(advertise: AdvertiseAddress) -> str | None:
    try:
        return await advertise.get()
    except KubeError:
        return None


async def _fetch_metadata(context: XAppContext, proxy: XAppProxy) -> JsonObject | None:
    """Return what the xApp's own API answers about itself, for callers who may use the proxy."""
    entry = context.entry
    try:
        target = select_api_target(context.live_objects, namespace=entry.namespace, names=(entry.name, entry.release))
    except XAppError:
        return None
    if not await context.caller.is_allowed("get", namespace=entry.namespace, resource=SERVICES, subresource="proxy"):
        return None
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            for path in METADATA_PATHS:
                found = await proxy.fetch_json(
                    context.caller, target, path, seconds=METADATA_SECONDS, max_bytes=METADATA_MAX_BYTES
                )
                if found is not None:
                    return found
    except TimeoutError:
        pass
    return None


def _redacted(values: JsonObject | None) -> JsonObject | None:
    return None if values is None or deeper_than(values, MAX_DEPTH) else redact(values)
